package library

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

const skillsPath = "/api/v1/skills"

func skillPath(id string) string { return skillsPath + "/" + url.PathEscape(id) }

// Skills is the command of skills.
func Skills() *cobra.Command {
	return group(
		"skills",
		"Skills of a server: know-how that agents load when they need it",
		"A skill is a folder with a file SKILL.md, in the open format of other agents.",
		listSkills(),
		simple(
			"show SKILL_ID",
			"Show a skill with its instructions",
			"skills show vedette-tls-review",
			http.MethodGet,
			skillPath,
			func(a answer) []string {
				lines := []string{skillLine(a.item), a.Description, indent(a.Instructions)}
				for _, f := range a.Files {
					lines = append(lines, fmt.Sprintf("%8d  %s", f.Size, f.Path))
				}
				return lines
			},
		),
		importSkills(),
		turnSkill(true),
		turnSkill(false),
		simple("delete SKILL_ID", "Delete a skill", "skills delete SKILL_ID", http.MethodDelete, skillPath, message),
	)
}

func skillLine(i item) string {
	state := "off"
	if i.Enabled {
		state = "on"
	}
	return fmt.Sprintf("%-7s  %-3s  v%-3d  %3d uses  %s  %s", i.Type, state, i.Version, i.Uses, i.ID, i.Name)
}

func listSkills() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the skills that your tasks may load", Args: cobra.NoArgs,
		Example: "  vedette skills list --type shipped"}
	c := flags(cmd)
	kind := cmd.Flags().String("type", "", "only those of user, team or shipped")
	search := cmd.Flags().String("search", "", "only those with this text")
	cli.Values(cmd, "type", "user", "team", "shipped")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := url.Values{}
		for name, value := range map[string]string{"type": *kind, "search": *search} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return c.run(cmd, http.MethodGet, skillsPath+"?"+query.Encode(), nil, func(a answer) []string {
			return append(each(a.Skills, skillLine), cli.Counted(a.Total, "skill")+".")
		})
	}
	return cmd
}

func importSkills() *cobra.Command {
	cmd := &cobra.Command{Use: "import FROM", Short: "Import skills from a SKILL.md, an archive, a URL or a git remote",
		Args: cobra.ExactArgs(1), Example: `  vedette skills import SKILL.md
  vedette skills import skills.zip --shared
  vedette skills import https://git.example.com/security/skills.git --ref main`}
	c := flags(cmd)
	ref := cmd.Flags().String("ref", "", "a branch, tag or commit of a git remote")
	shared := cmd.Flags().Bool("shared", false, "for all tasks of the team (team admins only)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from := args[0]
		isURL := strings.HasPrefix(from, "https://") || strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "git+")
		switch {
		case isURL:
			return c.run(
				cmd,
				http.MethodPost,
				skillsPath+"/import-url",
				map[string]any{"url": from, "ref": *ref, "shared": *shared},
				importedLines,
			)
		case *ref != "":
			return cli.Usagef("--ref is for git remotes")
		case strings.HasSuffix(strings.ToLower(from), ".md"):
			text, err := readText(cmd, from)
			if err != nil {
				return err
			}
			return c.run(cmd, http.MethodPost, skillsPath, map[string]any{"skill_md": text, "shared": *shared},
				func(a answer) []string { return []string{skillLine(a.item)} })
		}
		file, err := os.Open(from)
		if err != nil {
			return cli.Usage(err)
		}
		defer file.Close()
		return c.run(
			cmd,
			http.MethodPost,
			skillsPath+"/import?shared="+strconv.FormatBool(*shared),
			io.Reader(file),
			importedLines,
		)
	}
	return cmd
}

func importedLines(a answer) (lines []string) {
	for _, i := range a.Skills {
		lines = append(lines, fmt.Sprintf("%-9s  v%-3d  %s  %s", i.Result, i.Version, i.ID, i.Name))
	}
	for _, why := range a.Left {
		lines = append(lines, "left out: "+why)
	}
	return append(lines, cli.Counted(a.Total, "skill")+".")
}

// turnSkill is the command that turns a skill on or off.
func turnSkill(on bool) *cobra.Command {
	use, short := "enable", "Let tasks load a skill again"
	if !on {
		use, short = "disable", "Keep tasks from loading a skill"
	}
	cmd := &cobra.Command{Use: use + " SKILL_ID", Short: short, Args: cobra.ExactArgs(1),
		Example: "  vedette skills " + use + " vedette-wordpress-review"}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd, http.MethodPatch, skillPath(args[0]), map[string]any{"enabled": on},
			func(a answer) []string { return []string{skillLine(a.item)} })
	}
	return cmd
}
