package library

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

const agentsPath = "/api/v1/agents/user"

func agentPath(id string) string { return agentsPath + "/" + url.PathEscape(id) }

// Agents is the command of custom agents.
func Agents() *cobra.Command {
	return group(
		"agents",
		"Custom agents of a server, and its directory of them",
		"An agent is a description of how to work and a choice of tools and skills, for tasks.",
		listAgents(),
		showAgent(),
		createAgent(),
		forkAgent(),
		simple("versions AGENT_ID", "List what an agent was", "agents versions AGENT_ID", http.MethodGet,
			func(id string) string { return agentPath(id) + "/versions" }, func(a answer) []string {
				return each(a.Versions, func(i item) string { return fmt.Sprintf("%4d  %s  %s", i.Config, i.Name, i.Description) })
			}),
		simple(
			"publish AGENT_ID",
			"Put an agent into the directory of the server",
			"agents publish AGENT_ID",
			http.MethodPost,
			func(id string) string { return agentPath(id) + "/publish" },
			func(a answer) []string {
				return []string{fmt.Sprintf("%s  %s  version %d is in the directory", a.ID, a.Name, a.Published)}
			},
		),
		simple("unpublish AGENT_ID", "Take an agent out of the directory", "agents unpublish AGENT_ID", http.MethodDelete,
			func(id string) string { return agentPath(id) + "/publish" }, message),
		simple("delete AGENT_ID", "Delete an agent", "agents delete AGENT_ID", http.MethodDelete, agentPath, message),
	)
}

func agentLine(i item) string {
	return fmt.Sprintf("%-9s  v%-3d  %3d uses  %2d forks  %s  %s", i.Type, i.Config, i.Uses, i.Forks, i.ID, i.Name)
}

func listAgents() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List your agents, or those of the directory", Args: cobra.NoArgs,
		Example: "  vedette agents list\n  vedette agents list --directory --search web"}
	c := flags(cmd)
	directory := cmd.Flags().Bool("directory", false, "list the agents that everybody on the server may copy")
	search := cmd.Flags().String("search", "", "of the directory, only those with this text")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path := agentsPath
		if *directory {
			path = "/api/v1/agents/directory?" + url.Values{"search": {*search}, "limit": {"200"}}.Encode()
		} else if *search != "" {
			return cli.Usagef("--search is for --directory")
		}
		return c.run(cmd, http.MethodGet, path, nil, func(a answer) []string {
			return append(each(a.Agents, agentLine), cli.Counted(a.Total, "agent")+".")
		})
	}
	return cmd
}

func showAgent() *cobra.Command {
	cmd := &cobra.Command{Use: "show AGENT_ID", Short: "Show an agent with its instructions", Args: cobra.ExactArgs(1),
		Example: "  vedette agents show AGENT_ID"}
	c := flags(cmd)
	directory := cmd.Flags().Bool("directory", false, "one of the directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := agentPath(args[0])
		if *directory {
			path = "/api/v1/agents/directory/" + url.PathEscape(args[0])
		}
		return c.run(cmd, http.MethodGet, path, nil, func(a answer) []string {
			return []string{
				agentLine(a.item),
				a.Description,
				"Tools: " + cmp.Or(strings.Join(a.Tools, ", "), "all"),
				indent(a.Context),
			}
		})
	}
	return cmd
}

func createAgent() *cobra.Command {
	cmd := &cobra.Command{Use: "create NAME", Short: "Create an agent", Args: cobra.ExactArgs(1),
		Example: `  vedette agents create Scout --instructions scout.md --tool crawl --tool run_templates`}
	c := flags(cmd)
	body := map[string]*string{
		"description": cmd.Flags().String("description", "", "what it is, for people"),
		"when_to_use": cmd.Flags().String("when-to-use", "", "when another agent should delegate to it"),
	}
	file := cmd.Flags().String("instructions", "", "a file with what it is told; - is the standard input")
	tools := cmd.Flags().StringSlice("tool", nil, "a tool that it may use; default: all")
	skills := cmd.Flags().StringSlice("skill", nil, "a skill that it may load; default: all")
	shared := cmd.Flags().Bool("shared", false, "share it with the team")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sent := map[string]any{"name": args[0], "shared": *shared}
		for field, list := range map[string][]string{"native_tools": *tools, "skills": *skills} {
			if len(list) > 0 {
				sent[field] = list
			}
		}
		for field, text := range body {
			sent[field] = *text
		}
		if *file != "" {
			text, err := readText(cmd, *file)
			if err != nil {
				return err
			}
			sent["system_context"] = text
		}
		return c.run(cmd, http.MethodPost, agentsPath, sent, func(a answer) []string { return []string{agentLine(a.item)} })
	}
	return cmd
}

func forkAgent() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fork AGENT_ID",
		Short:   "Copy an agent of the directory, or of your team",
		Args:    cobra.ExactArgs(1),
		Example: "  vedette agents fork vedette-web-tester --name \"Our web tester\"",
	}
	c := flags(cmd)
	name := cmd.Flags().String("name", "", "the name of the copy; default: the same")
	team := cmd.Flags().Bool("team", false, "one of yours or your team's, and not of the directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := "/api/v1/agents/directory/" + url.PathEscape(args[0]) + "/fork"
		if *team {
			path = agentPath(args[0]) + "/fork"
		}
		return c.run(cmd, http.MethodPost, path, map[string]any{"name": *name},
			func(a answer) []string { return []string{agentLine(a.item)} })
	}
	return cmd
}
