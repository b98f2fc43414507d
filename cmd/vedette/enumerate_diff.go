package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
)

const maxAssetLine = 64 << 20

func newEnumerateDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff BEFORE AFTER", Short: "Say what changed between two enumerations", Args: cobra.ExactArgs(2),
		Long: `Compares the assets that two runs of 'vedette enumerate' wrote and says which hosts
and ports are new, gone or changed: addresses, services and versions, statuses, titles,
technologies, certificates. Like diff, it exits with 0 when nothing changed; with
--fail-on-change it exits with 6 when something did.`,
		Example: `  vedette enumerate diff yesterday.jsonl today.jsonl
  vedette enumerate diff yesterday.jsonl today.jsonl -o json
  vedette enumerate diff baseline.jsonl today.jsonl --fail-on-change`,
	}
	output := cli.OutputFlag(cmd)
	fail := cmd.Flags().Bool("fail-on-change", false, "exit with 6 when something changed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		before, err := readAssets(args[0])
		if err != nil {
			return cli.Usage(err)
		}
		after, err := readAssets(args[1])
		if err != nil {
			return cli.Usage(err)
		}
		changes := pipeline.Diff(before, after)
		if err := printChanges(cmd.OutOrStdout(), changes, *output == "json"); err != nil {
			return err
		}
		if *fail && len(changes) > 0 {
			return cli.Silent(cli.ExitFindings)
		}
		return nil
	}
	return cmd
}

// readAssets reads the output of a run: one JSON object a line, or one list.
func readAssets(name string) (pipeline.Observations, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	observations := pipeline.Observations{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxAssetLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.Trim(lines.Bytes(), "[], \t\r")
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' { // a list's brackets are of no object
			return nil, fmt.Errorf("%s, line %d: it is not an asset", name, n)
		}
		var a discover.Asset
		if err := json.Unmarshal(line, &a); err != nil || a.Host == "" {
			return nil, fmt.Errorf("%s, line %d: it is not an asset", name, n)
		}
		observations.Add(a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return observations, nil
}

// printChanges prints one line for each change, with the different fields below.
func printChanges(w io.Writer, changes []pipeline.Change, asJSON bool) error {
	if asJSON {
		if changes == nil {
			changes = []pipeline.Change{}
		}
		return json.NewEncoder(w).Encode(changes)
	}
	signs := map[string]string{"new": "+", "gone": "-", "changed": "~"}
	for _, c := range changes {
		place := c.Host
		if c.Port > 0 {
			place = fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Protocol)
		}
		fmt.Fprintf(w, "%s %s\n", signs[c.Type], cli.Printable(place))
		for _, f := range c.Fields {
			fmt.Fprintf(w, "    %s: %s → %s\n", f.Name, quoted(f.From), quoted(f.To))
		}
	}
	return nil
}

func quoted(s string) string {
	if s == "" {
		return "nothing"
	}
	return cli.Printable(strings.Join(strings.Fields(s), " "))
}
