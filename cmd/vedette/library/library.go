// Package library has the commands of what agents work with on a server: agents, skills and prompts.
package library

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

// call is a command that asks a server once and shows the answer.
type call struct{ client.Flags }

func flags(cmd *cobra.Command) call { return call{client.AddFlags(cmd)} }

func (c call) run(cmd *cobra.Command, method, path string, body any, words func(answer) []string) error {
	return client.Show(c.Flags, cmd, method, path, body, words)
}

// answer has what the commands show of the server's answers.
type answer struct {
	item
	Total                     int
	Agents, Prompts, Versions []item
	Skills                    items
	Left                      []string `json:"left_out"`
}

// items are things of a list; an agent's skills are names alone, which are left out.
type items []item

// UnmarshalJSON implements json.Unmarshaler.
func (l *items) UnmarshalJSON(text []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, raw := range all {
		if !bytes.HasPrefix(raw, []byte("{")) {
			continue
		}
		var one item
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		*l = append(*l, one)
	}
	return nil
}

// item is one thing, alone or in a list.
type item struct {
	ID, Name, Description, Type, Text, Instructions, Result, Message, Source string
	TaskID                                                                   string `json:"task_id"`
	When                                                                     string `json:"when_to_use"`
	Context                                                                  string `json:"system_context"`
	Version                                                                  int
	Config                                                                   int  `json:"config_version"`
	Uses                                                                     int  `json:"use_count"`
	Forks                                                                    int  `json:"fork_count"`
	Published                                                                int  `json:"published_version"`
	Enabled                                                                  bool `json:"enabled"`
	Shared                                                                   bool
	Tools                                                                    []string `json:"native_tools"`
	Variables                                                                []struct {
		Name, Description, Default string
		Choices                    []string
	}
	Files []struct {
		Path string
		Size int
	}
}

func each(items []item, line func(item) string) (out []string) {
	for _, i := range items {
		out = append(out, line(i))
	}
	return out
}

func message(a answer) []string { return []string{a.Message} }

// group is a command that only has commands below it.
func group(use, short, long string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long + "\nThe API key is in VEDETTE_API_KEY.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(below...)
	return cmd
}

// simple is a command that sends one request without a body about the thing that its argument names.
func simple(
	use, short, example, method string,
	path func(id string) string,
	words func(answer) []string,
) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), Example: "  vedette " + example}
	c := flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd, method, path(args[0]), nil, words)
	}
	return cmd
}

// readText reads a file, or the standard input for "-".
func readText(cmd *cobra.Command, name string) (string, error) {
	if name == "-" {
		text, err := io.ReadAll(cmd.InOrStdin())
		return string(text), err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", cli.Usage(err)
	}
	return string(text), nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
