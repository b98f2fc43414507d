// Package proof is the command about evidence: files of it from a server (export.go), their verification without one,
// and proofs that are sent again (replay.go), by a server or from a file.
package proof

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/evidence"
)

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "evidence", Short: "Export, verify and replay the evidence of findings",
		Long: `What a finding is proven by is sealed when it is stored: its request, its answer, what
matched, the template and the time are hashed, and each hash is part of the next. These
commands write it to a file, check such a file without a server, and send a proof again.`,
		Example: `  vedette evidence export VULN_ID
  vedette evidence verify evidence.jsonl
  vedette evidence replay VULN_ID`,
	}
	cmd.AddCommand(newExport(), newVerify(), newReplay())
	return cmd
}

// serverFlag adds the flag that names a server.
func serverFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "server", cmp.Or(os.Getenv("VEDETTE_SERVER"), "http://127.0.0.1:8080"),
		"the server (VEDETTE_SERVER)")
}

func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Say whether a file of evidence is as it was written", Args: cobra.ExactArgs(1),
		Long: `Reads a file of 'vedette evidence export' without a server, and names each line that was
changed, is missing or does not fit. Masked secrets do not matter: a masked file verifies
like any other. It exits with 1 when something was changed.

Without --key, the file is checked against the key that it names itself. That shows that
nothing was changed since it was signed, but not who signed it: compare the printed key
with the server's (GET /v1/evidence/key).`,
		Example: `  vedette evidence verify evidence.jsonl
  vedette evidence verify evidence.jsonl --key 4f2a… -o json`,
	}
	key := cmd.Flags().String("key", "", "the public key of the server that must have signed it")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		report, err := verify(args[0], *key, evidence.Visitor{}, cmd.InOrStdin())
		if err != nil {
			return err
		}
		if *output == "json" {
			err = json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
				Intact bool `json:"intact"`
				*evidence.Report
			}{report.IsIntact(), report})
		} else {
			err = tell(cmd.OutOrStdout(), report)
		}
		if err == nil && !report.IsIntact() {
			err = cli.Silent(cli.ExitError)
		}
		return err
	}
	return cmd
}

// verify reads a file; - is in.
func verify(name, key string, visit evidence.Visitor, in io.Reader) (*evidence.Report, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, cli.Usage(err)
		}
		defer file.Close()
		in = file
	}
	return evidence.Verify(in, key, visit)
}

// tell writes a report for people.
func tell(w io.Writer, r *evidence.Report) error {
	h := r.Header
	what := "is as it was written"
	if !r.IsIntact() {
		what = "WAS CHANGED"
	}
	_, err := fmt.Fprintf(w, "The file %s.\n", what)
	for _, p := range r.Problems {
		of := ""
		if p.Finding != "" {
			of = ", finding " + p.Finding
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "  line %d%s: %s\n", p.Line, cli.Printable(of), cli.Printable(p.What))
		}
	}
	if err != nil {
		return err
	}
	trusted := "not compared: name the server's with --key"
	if r.Trusted {
		trusted = "the expected one"
	}
	_, err = fmt.Fprintf(w, "About:    %s %s of team %s, %s, by %s\n"+
		"Records:  %d as they were sealed (%d of them masked in part), %d deleted since\n"+
		"Chain:    %s from %d to %d, %s\nKey:      %s (%s)\n",
		cli.Printable(h.Scope.Kind), cli.Printable(h.Scope.ID), cli.Printable(h.TeamID), cli.Printable(h.MadeAt),
		cli.Printable(h.MadeBy), r.Records, r.Masked, r.Pruned, cli.Counted(r.Entries, "link"), r.First, r.Last,
		cli.Counted(r.Heads, "signed head"), cli.Printable(h.Key), trusted)
	return err
}
