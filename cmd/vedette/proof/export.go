package proof

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

type exportFlags struct {
	server, scan, out, mask, output string
	all                             bool
}

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export [VULN_ID]", Short: "Write evidence to a file that can be verified", Args: cobra.MaximumNArgs(1),
		Long: `Writes the evidence of a finding, of the findings of a scan, or of all of the team to a
file for an auditor. The file is read back: it verifies, or is removed. Passwords, sessions,
tokens and keys in it are masked; --mask none shows them, to whom the team's policy allows
that, and the team's audit log says who asked for it.`,
		Example: `  export VEDETTE_API_KEY=svc_sk_…
  vedette evidence export VULN_ID --out finding.jsonl
  vedette evidence export --scan SCAN_ID
  vedette evidence export --all -o json`,
	}
	var f exportFlags
	serverFlag(cmd, &f.server)
	cmd.Flags().StringVar(&f.scan, "scan", "", "the findings of this scan")
	cmd.Flags().BoolVar(&f.all, "all", false, "all evidence of the team, with its whole chain")
	cmd.Flags().StringVar(&f.out, "out", "", "the file; default: evidence-ID.jsonl")
	cmd.Flags().StringVar(&f.mask, "mask", "secrets", "secrets: they are masked; none: they are shown")
	cli.Values(cmd, "mask", "secrets", "none")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.output = *output
		return f.run(cmd, args)
	}
	return cmd
}

// path is where the server has the file, and what it is called.
func (f exportFlags) path(args []string) (path, name string, err error) {
	named := len(args)
	if f.scan != "" {
		named++
	}
	if f.all {
		named++
	}
	if named != 1 {
		return "", "", cli.Usage(errs.Field("vuln_id", "Name a finding, or --scan SCAN_ID, or --all."))
	}
	switch {
	case f.all:
		path, name = "/v1/evidence/export", "team"
	case f.scan != "":
		path, name = "/v1/scans/"+url.PathEscape(f.scan)+"/evidence/export", f.scan
	default:
		path, name = "/v1/scans/vuln/"+url.PathEscape(args[0])+"/evidence/export", args[0]
	}
	return path + "?" + url.Values{"mask": {f.mask}}.Encode(), "evidence-" + filepath.Base(name) + ".jsonl", nil
}

func (f exportFlags) run(cmd *cobra.Command, args []string) error {
	path, name, err := f.path(args)
	if err != nil {
		return err
	}
	if f.out != "" {
		name = f.out
	}
	c, err := client.Connect(f.server)
	if err != nil {
		return err
	}
	resp, err := c.Request(cmd.Context(), http.MethodGet, path, "*/*", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	report, size, err := save(name, resp.Body)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
			"file": name, "bytes": size, "records": report.Records, "masked": f.mask != "none", "key": report.Header.Key,
		})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%s, %d bytes)\n", cli.Printable(name),
		cli.Counted(report.Records, "record"), size)
	return err
}

// save writes a file under its name once it is complete and verifies.
func save(name string, content io.Reader) (report *evidence.Report, size int64, err error) {
	part, err := os.CreateTemp(filepath.Dir(name), ".evidence-*")
	if err != nil {
		return nil, 0, err
	}
	defer os.Remove(part.Name())
	size, err = io.Copy(part, content)
	if err == nil {
		if _, err = part.Seek(0, io.SeekStart); err == nil {
			report, err = evidence.Verify(part, "", evidence.Visitor{})
		}
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, size, fmt.Errorf("the file is not complete, and was removed: %w", err)
	}
	for _, p := range report.Problems {
		// What the database has lost is worth a file all the same: it says so.
		if p.Finding == "" {
			return nil, size, fmt.Errorf("the file is not complete, and was removed: line %d: %s", p.Line, p.What)
		}
	}
	return report, size, os.Rename(part.Name(), name)
}
