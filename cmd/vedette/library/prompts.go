package library

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

const promptsPath = "/api/v1/prompts"

func promptPath(id string) string { return promptsPath + "/" + url.PathEscape(id) }

// Prompts is the command of prompts.
func Prompts() *cobra.Command {
	return group(
		"prompts",
		"Prompts of a server: instructions of tasks with variables",
		"{{name}} in a prompt is a variable, which is filled in when a task or a schedule is made from it.",
		listPrompts(),
		simple(
			"show PROMPT_ID",
			"Show a prompt with its variables",
			"prompts show vedette-web-check",
			http.MethodGet,
			promptPath,
			func(a answer) []string {
				lines := []string{promptLine(a.item), a.Description, indent(a.Text)}
				for _, v := range a.Variables {
					line := fmt.Sprintf("  {{%s}}  %s", v.Name, v.Description)
					if v.Default != "" {
						line += " (default " + v.Default + ")"
					}
					lines = append(lines, line)
				}
				return lines
			},
		),
		createPrompt(),
		fillPrompt(false),
		fillPrompt(true),
		simple("delete PROMPT_ID", "Delete a prompt", "prompts delete PROMPT_ID", http.MethodDelete, promptPath, message),
	)
}

func promptLine(i item) string {
	return fmt.Sprintf("%-7s  v%-3d  %3d uses  %s  %s", i.Type, i.Version, i.Uses, i.ID, i.Name)
}

func listPrompts() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the prompts that you may use", Args: cobra.NoArgs,
		Example: "  vedette prompts list --tag web"}
	c := flags(cmd)
	query := map[string]*string{
		"type":   cmd.Flags().String("type", "", "only those of user, team or shipped"),
		"tag":    cmd.Flags().String("tag", "", "only those with this tag"),
		"search": cmd.Flags().String("search", "", "only those with this text"),
	}
	cli.Values(cmd, "type", "user", "team", "shipped")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		values := url.Values{}
		for name, value := range query {
			if *value != "" {
				values.Set(name, *value)
			}
		}
		return c.run(cmd, http.MethodGet, promptsPath+"?"+values.Encode(), nil, func(a answer) []string {
			return append(each(a.Prompts, promptLine), cli.Counted(a.Total, "prompt")+".")
		})
	}
	return cmd
}

func createPrompt() *cobra.Command {
	cmd := &cobra.Command{Use: "create NAME", Short: "Create a prompt from a text", Args: cobra.ExactArgs(1),
		Example: `  vedette prompts create Backups --text backups.md`}
	c := flags(cmd)
	file := cmd.Flags().String("text", "", "a file with the text; - is the standard input")
	description := cmd.Flags().String("description", "", "what it is for")
	tags := cmd.Flags().StringSlice("tag", nil, "a keyword")
	shared := cmd.Flags().Bool("shared", false, "share it with the team")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return cli.Usagef("say --text")
		}
		text, err := readText(cmd, *file)
		if err != nil {
			return err
		}
		body := map[string]any{"name": args[0], "text": text, "description": *description, "shared": *shared}
		if len(*tags) > 0 {
			body["tags"] = *tags
		}
		return c.run(cmd, http.MethodPost, promptsPath, body, func(a answer) []string { return []string{promptLine(a.item)} })
	}
	return cmd
}

// fillPrompt is the command that fills in a prompt and shows the text, or makes a task from it.
func fillPrompt(run bool) *cobra.Command {
	cmd := &cobra.Command{Use: "render PROMPT_ID", Short: "Fill in a prompt and print the text", Args: cobra.ExactArgs(1),
		Example: "  vedette prompts render vedette-web-check --value url=https://www.example.com"}
	if run {
		cmd.Use, cmd.Short = "run PROMPT_ID", "Make a task from a prompt"
		cmd.Example = "  vedette prompts run vedette-web-check --value url=https://www.example.com"
	}
	c := flags(cmd)
	given := cmd.Flags().StringArray("value", nil, "a value, as name=value")
	version := cmd.Flags().Int("version", 0, "the version of the prompt; default: the present one")
	agent := new(string)
	if run {
		agent = cmd.Flags().String("agent", "", "the id of the agent that works on the task")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		values := map[string]string{}
		for _, one := range *given {
			name, value, ok := strings.Cut(one, "=")
			if !ok {
				return cli.Usagef("--value is name=value, and %q is not", one)
			}
			values[name] = value
		}
		if !run {
			body := map[string]any{"values": values}
			if *version > 0 {
				body["version"] = *version
			}
			return c.run(
				cmd,
				http.MethodPost,
				promptPath(args[0])+"/render",
				body,
				func(a answer) []string { return []string{a.Text} },
			)
		}
		body := map[string]any{"prompt_id": args[0], "prompt_values": values, "response_format": "json"}
		if *version > 0 {
			body["prompt_version"] = *version
		}
		if *agent != "" {
			body["agent_id"] = *agent
		}
		return c.run(cmd, http.MethodPost, "/api/v1/tasks", body, func(a answer) []string { return []string{a.TaskID} })
	}
	return cmd
}
