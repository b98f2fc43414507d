package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxShown is how many rejected items --check prints.
const maxShown = 1000

type importFlags struct {
	format              string
	columns             []string
	check, list, record bool
	server, name        string
	output              *string
}

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Read the report of another tool", Args: cobra.MaximumNArgs(1),
		Long: `Reads the report of another scanner: --list-formats names the kinds that are known.
A report is read item by item, however large it is; it may be compressed with gzip, or
be a zip file with several. FILE may be - for standard input.

The findings are stored by a server (--server, with your API key in VEDETTE_API_KEY), as
sightings of what is known there already, or as new findings. The same report again
changes nothing. With --check, nothing is stored. Either way it says how many items are
findings, how many are rejected, where and why, and what the report holds that is no
finding. It exits with 3 when an item was rejected.`,
		Example: `  vedette import report.nessus
  vedette import report.xml --check
  vedette import report.json --check --format trivy -o json
  vedette import findings.csv --check --format csv --column title=Name --column severity=Risk
  vedette import --list-formats`,
	}
	f := importFlags{output: cli.OutputFlag(cmd)}
	cmd.Flags().StringVar(&f.format, "format", "auto", "the kind of report; auto: recognise it")
	cmd.Flags().StringArrayVar(&f.columns, "column", nil, "for --format csv: FIELD=NAME, the name of a field's column")
	cmd.Flags().BoolVar(&f.check, "check", false, "read the report and store nothing")
	cmd.Flags().StringVar(&f.server, "server", cmp.Or(os.Getenv("VEDETTE_SERVER"), "http://127.0.0.1:8080"),
		"the server that stores the findings (VEDETTE_SERVER)")
	cmd.Flags().StringVar(&f.name, "name", "", "the name of the scan that the findings go into; default: the file's and the time")
	cmd.Flags().BoolVar(&f.record, "records", false, "with --check: print each finding as a line of JSON, too")
	cmd.Flags().BoolVar(&f.list, "list-formats", false, "print the kinds of reports that can be read")
	var names []string
	for _, format := range importer.Formats() {
		names = append(names, format.Name)
	}
	cli.Values(cmd, "format", append(names, "auto")...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.list:
			return listFormats(cmd.OutOrStdout(), *f.output == "json")
		case len(args) == 0:
			return cli.Usagef("name the report, or - for standard input")
		case f.record && !f.check:
			return cli.Usagef("--records needs --check")
		}
		report, err := openReport(cmd, args[0])
		if err != nil {
			return err
		}
		defer report.Close()
		if f.check {
			return checkImport(cmd, f, args[0], report)
		}
		return storeImport(cmd, f, args[0], report)
	}
	return cmd
}

// listFormats prints the formats: a table, or a list of objects.
func listFormats(w io.Writer, asJSON bool) error {
	type format struct {
		Name     string   `json:"name"`
		Families []string `json:"families"`
		Title    string   `json:"title"`
		Tool     string   `json:"tool"`
		Kinds    []string `json:"kinds"`
		Example  string   `json:"example"`
	}
	all := []format{}
	for _, f := range importer.Formats() {
		families := append([]string{}, f.Families...)
		all = append(all, format{f.Name, families, f.Title, f.Tool, f.Kinds, f.Example})
	}
	if asJSON {
		return json.NewEncoder(w).Encode(all)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, strings.Join(f.Kinds, ", "), f.Title)
	}
	return table.Flush()
}

func openReport(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return file, nil
}

// storeImport has a server store what is in a report, and prints what came of it.
func storeImport(cmd *cobra.Command, f importFlags, name string, report io.Reader) error {
	c := client.FromEnvironment(f.server)
	if c.Key == "" {
		return cli.Exit{Code: cli.ExitAuth, Err: errors.New("put your API key into VEDETTE_API_KEY, or give --check to store nothing")}
	}
	query := url.Values{"format": {f.format}, "file_name": {filepath.Base(name)}, "column": f.columns}
	if f.name != "" {
		query.Set("name", f.name)
	}
	resp, err := c.Send(cmd.Context(), http.MethodPost, "/v1/scans/import?"+query.Encode(), "application/octet-stream",
		report)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		ID     string `json:"id"`
		Report struct {
			importer.Summary
			New        int                  `json:"new"`
			Merged     int                  `json:"merged"`
			Known      int                  `json:"known"`
			Rejections []importer.Rejection `json:"rejections"`
			Reasons    map[string]int       `json:"ignored_reasons"`
		} `json:"report"`
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return err
	}
	r, out := answer.Report, cmd.OutOrStdout()
	if *f.output == "json" {
		_, err = fmt.Fprintln(out, strings.TrimSpace(string(text)))
	} else {
		fmt.Fprintf(out, "scan %s: %d new, %d merged with known findings, %d stored before\n", answer.ID, r.New, r.Merged, r.Known)
		r.Ignores = r.Reasons
		err = printImport(out, r.Summary, r.Rejections, false)
	}
	if err == nil && r.Rejected > 0 {
		err = cli.Silent(cli.ExitPartial)
	}
	return err
}

// checkImport reads a report and prints what is in it.
func checkImport(cmd *cobra.Command, f importFlags, name string, report io.Reader) error {
	columns := map[string]string{}
	for _, c := range f.columns {
		field, column, ok := strings.Cut(c, "=")
		if !ok {
			return cli.Usagef("--column wants FIELD=NAME, not %q", c)
		}
		columns[field] = column
	}
	out := cmd.OutOrStdout()
	records := json.NewEncoder(out)
	records.SetEscapeHTML(false)
	rejected := []importer.Rejection{}
	opts := importer.Options{Format: f.format, FileName: filepath.Base(name), Columns: columns}
	sum, err := importer.Read(cmd.Context(), report, opts, func(item importer.Item) error {
		if item.Rejected != nil && len(rejected) < maxShown {
			rejected = append(rejected, *item.Rejected)
		}
		if item.Record != nil && f.record {
			return records.Encode(item.Record)
		}
		return nil
	})
	if err != nil {
		known := errs.From(err)
		switch {
		case known.Param == "format" || known.Param == "columns":
			return cli.Usage(err)
		case known.Kind != errs.Internal: // a fault of the report, not of the call
			return cli.Exit{Code: cli.ExitError, Err: fmt.Errorf("%s: after %s: %s", name,
				cli.Counted(sum.Accepted+sum.Rejected, "item"), known.Message)}
		}
		return err
	}
	if err := printImport(out, sum, rejected, *f.output == "json"); err != nil {
		return err
	}
	if sum.Rejected > 0 {
		return cli.Silent(cli.ExitPartial)
	}
	return nil
}

func printImport(w io.Writer, sum importer.Summary, rejected []importer.Rejection, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"summary": sum, "rejected": rejected})
	}
	fmt.Fprintf(w, "%s: %s, %d rejected, %d ignored\n", sum.Format, cli.Counted(sum.Accepted, "finding"), sum.Rejected,
		sum.Ignored)
	for _, severity := range cli.Severities {
		for s, n := range sum.Severities {
			if string(s) == severity {
				fmt.Fprintf(w, "  %-8s %d\n", severity, n)
			}
		}
	}
	for _, part := range []struct {
		name    string
		reasons map[string]int
	}{{"rejected", sum.Rejections}, {"ignored", sum.Ignores}} {
		for _, reason := range slices.SortedFunc(maps.Keys(part.reasons), func(a, b string) int {
			return cmp.Or(cmp.Compare(part.reasons[b], part.reasons[a]), cmp.Compare(a, b))
		}) {
			fmt.Fprintf(w, "%s: %d × %s\n", part.name, part.reasons[reason], cli.Printable(reason))
		}
	}
	for _, r := range rejected {
		place := r.Position
		if r.Line > 0 {
			place = strings.TrimSpace(fmt.Sprintf("line %d %s", r.Line, r.Position))
		}
		if r.File != "" {
			place = r.File + ", " + place
		}
		fmt.Fprintf(w, "  %s: %s\n", cli.Printable(place), cli.Printable(r.Reason))
	}
	if sum.Rejected > len(rejected) {
		fmt.Fprintf(w, "  … and %d more\n", sum.Rejected-len(rejected))
	}
	return nil
}
