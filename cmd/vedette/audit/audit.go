// Package audit is the command about a team's audit log: reading it from a server (list.go), writing it to a file, and
// verifying the log or such a file.
package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/infra/auditfile"
)

const path = "/api/v1/audit-logs"

// New makes the command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Read, export and verify the audit log of a team",
		Long: `The audit log says who asked for which change. The hash of each entry covers the one before,
so that an entry that was changed, removed, added or moved is found. The API key is in
VEDETTE_API_KEY.`,
		Example: `  vedette audit list
  vedette audit export
  vedette audit verify audit-log.jsonl`,
	}
	cmd.AddCommand(newList(), newExport(), newVerify())
	return cmd
}

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export", Short: "Write the audit log to a file that can be verified", Args: cobra.NoArgs,
		Long: `Writes the log of your team, the oldest entries first. The file is read back: it verifies, or
the command says what does not. Keep it elsewhere: it shows later whether the log of the
server is still the same.`,
		Example: `  vedette audit export --out audit-log.jsonl
  vedette audit export --format csv --out audit-log.csv -o json`,
	}
	server, output := client.ServerFlag(cmd), cli.OutputFlag(cmd)
	format := cmd.Flags().String("format", auditfile.JSONL, "jsonl or csv")
	out := cmd.Flags().String("out", "", "the file; default: audit-log.FORMAT")
	after := cmd.Flags().Int64("after", 0, "only entries after the one with this number")
	cli.Values(cmd, "format", auditfile.JSONL, auditfile.CSV)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := client.Connect(*server)
		if err != nil {
			return err
		}
		query := url.Values{"format": {*format}, "starting_after": {strconv.FormatInt(*after, 10)}}
		resp, err := c.Request(cmd.Context(), http.MethodGet, path+"/export?"+query.Encode(), "*/*", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		name := cmp.Or(*out, "audit-log."+*format)
		report, err := save(name, resp.Body)
		if err != nil {
			return err
		}
		return tell(cmd.OutOrStdout(), *output, name, report)
	}
	return cmd
}

// save writes a file under its name once it is complete, and verifies it.
func save(name string, content io.Reader) (*auditfile.Report, error) {
	var report *auditfile.Report
	err := cli.SaveFile(name, content, func(part string) (err error) {
		report, err = verifyFile(part, nil)
		return err
	})
	return report, err
}

// verifyFile verifies a file; - is in.
func verifyFile(name string, in io.Reader) (*auditfile.Report, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, cli.Usage(err)
		}
		defer file.Close()
		in = file
	}
	report, err := auditfile.Verify(in)
	if errors.Is(err, auditfile.ErrFile) {
		err = cli.Usage(err)
	}
	return report, err
}

func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Say whether the audit log, or a file of it, is as it was written",
		Args: cobra.MaximumNArgs(1),
		Long: `With a FILE of 'vedette audit export' (- for standard input), it needs no server, and names each
entry that was changed, removed, added or moved. Without one, it has the server read the
log. It exits with 1 when something was changed.

--seq and --hash compare with what an earlier export or verification printed: a log that
was written anew as a whole fits in itself, but has other hashes.`,
		Example: `  vedette audit verify audit-log.jsonl
  vedette audit verify -o json
  vedette audit verify --seq 812 --hash 9d4f…`,
	}
	server, output := client.ServerFlag(cmd), cli.OutputFlag(cmd)
	seq := cmd.Flags().Int64("seq", 0, "the number of an entry that was noted earlier")
	hash := cmd.Flags().String("hash", "", "its hash, as it was then")
	cmd.MarkFlagsRequiredTogether("seq", "hash")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var report *auditfile.Report
		var err error
		var name string
		if len(args) == 0 {
			name, report, err = remote(cmd, *server, *seq, *hash)
		} else {
			if report, err = verifyFile(args[0], cmd.InOrStdin()); err == nil && *seq > 0 &&
				(report.LastSeq != *seq || report.LastHash != *hash) {
				report.Add(auditfile.Problem{Seq: *seq, What: "The file does not end with the entry that was noted."})
			}
			name = args[0]
		}
		if err != nil {
			return err
		}
		return tell(cmd.OutOrStdout(), *output, name, report)
	}
	return cmd
}

// remote has the server verify its log, in as many parts as it takes.
func remote(cmd *cobra.Command, server string, seq int64, hash string) (name string, _ *auditfile.Report, _ error) {
	c, err := client.Connect(server)
	if err != nil {
		return "", nil, err
	}
	all := &auditfile.Report{Problems: []auditfile.Problem{}}
	query := url.Values{}
	if seq > 0 {
		query = url.Values{"sequence": {strconv.FormatInt(seq, 10)}, "hash": {hash}}
	}
	for {
		var part struct {
			Entries  int
			First    int64  `json:"first_sequence"`
			Last     int64  `json:"last_sequence"`
			Hash     string `json:"last_hash"`
			Next     *int64 `json:"next_starting_after"`
			Count    int    `json:"problem_count"`
			Problems []auditfile.Problem
		}
		if err := c.Call(cmd.Context(), http.MethodGet, path+"/verify?"+query.Encode(), nil, &part); err != nil {
			return "", nil, err
		}
		all.Entries += part.Entries
		all.FirstSeq = cmp.Or(all.FirstSeq, part.First)
		all.LastSeq, all.LastHash = part.Last, part.Hash
		all.Problems = append(all.Problems, part.Problems...)
		all.Count += part.Count
		if part.Next == nil {
			return "The audit log", all, nil
		}
		query = url.Values{"starting_after": {strconv.FormatInt(*part.Next, 10)}}
	}
}

// tell shows a report, and makes a changed log an error.
func tell(w io.Writer, output, name string, r *auditfile.Report) error {
	var err error
	if output == "json" {
		err = json.NewEncoder(w).Encode(struct {
			Of     string `json:"of"`
			Intact bool   `json:"intact"`
			*auditfile.Report
		}{name, r.IsIntact(), r})
	} else {
		err = tellPeople(w, name, r)
	}
	if err == nil && !r.IsIntact() {
		err = cli.Silent(cli.ExitError)
	}
	return err
}

func tellPeople(w io.Writer, name string, r *auditfile.Report) error {
	what := "is as it was written"
	if !r.IsIntact() {
		what = "WAS CHANGED"
	}
	_, err := fmt.Fprintf(w, "%s %s.\n", cli.Printable(name), what)
	for _, p := range r.Problems {
		at := ""
		if p.Line > 0 {
			at = fmt.Sprintf("line %d, ", p.Line)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "  %sentry %d %s: %s\n", at, p.Seq, cli.Printable(p.ID), cli.Printable(p.What))
		}
	}
	if more := r.Count - len(r.Problems); more > 0 && err == nil {
		_, err = fmt.Fprintf(w, "  and %d more\n", more)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Entries:  %d, from %d to %d\nEnds in:  %s\n", r.Entries, r.FirstSeq, r.LastSeq, cli.Printable(r.LastHash))
	return err
}
