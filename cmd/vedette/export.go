package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// exportFormats are the kinds of file of findings.
var exportFormats = []string{
	"json",
	"csv",
	"pdf",
	"docx",
	"html",
	"sarif",
	"cyclonedx",
	"csaf",
	"openvex",
	"defectdojo",
	"ocsf",
}

// exportFlags are the flags of export.
type exportFlags struct {
	server, format, scan, task, out, mask, style, output string
	severity                                             []string
}

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export", Short: "Write findings of a server as a report, or for another program", Args: cobra.NoArgs,
		Long: `Writes the findings of a scan, of a task or of the whole team to a file: as a report (pdf,
docx, html), as data (json, csv), or for another program (sarif, cyclonedx, csaf and openvex
VEX, defectdojo, ocsf). Passwords, sessions, tokens and keys in it are masked; --mask none
shows them, and the team's audit log says who asked for that.`,
		Example: `  export VEDETTE_API_KEY=svc_sk_…
  vedette export --format pdf --scan SCAN_ID
  vedette export --format docx --task TASK_ID --report style.json --out report.docx
  vedette export --format cyclonedx --severity critical,high --out findings.cdx.json
  vedette export --format csv -o json`,
	}
	var f exportFlags
	cmd.Flags().StringVar(&f.server, "server", cmp.Or(os.Getenv("VEDETTE_SERVER"), "http://127.0.0.1:8080"),
		"the server (VEDETTE_SERVER)")
	cmd.Flags().StringVar(&f.format, "format", "", "the kind of file: "+strings.Join(exportFormats, ", "))
	cmd.Flags().StringVar(&f.scan, "scan", "", "only the findings of this scan")
	cmd.Flags().StringVar(&f.task, "task", "", "only the findings of this task")
	cmd.Flags().StringSliceVar(&f.severity, "severity", nil, "only findings of these severities")
	cmd.Flags().StringVar(&f.out, "out", "", "the file; - is standard output; default: as the server names it")
	cmd.Flags().StringVar(&f.mask, "mask", "secrets", "secrets: they are masked; none: they are shown")
	cmd.Flags().StringVar(
		&f.style,
		"report",
		"",
		"a JSON file with the look of a report: title, company, logo, sections …",
	)
	cli.Values(cmd, "format", exportFormats...)
	cli.Values(cmd, "mask", "secrets", "none")
	cli.Values(cmd, "severity", cli.Severities...)
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f.output = *output
		return f.run(cmd)
	}
	return cmd
}

// request is the method, the path with its query, and the body.
func (f exportFlags) request() (path string, body map[string]any, err error) {
	switch {
	case f.format == "":
		return "", nil, cli.Usage(errs.Field("format", "--format must be one of %s.", strings.Join(exportFormats, ", ")))
	case f.scan != "" && f.task != "":
		return "", nil, cli.Usage(errs.Field("task", "Name a scan or a task, not both."))
	case f.task != "" && len(f.severity) > 0:
		return "", nil, cli.Usage(
			errs.Field("severity", "--severity is for findings of scans: a task is exported as a whole."),
		)
	case f.out == "-" && f.output == "json":
		return "", nil, cli.Usage(errs.Field("out", "--out - and -o json would both write to standard output."))
	}
	body = map[string]any{}
	if f.style != "" {
		text, err := os.ReadFile(f.style)
		if err != nil {
			return "", nil, cli.Usage(err)
		}
		var style map[string]any
		if err := json.Unmarshal(text, &style); err != nil {
			return "", nil, cli.Usage(fmt.Errorf("%s is no JSON object: %w", f.style, err))
		}
		body["report"] = style
	}
	if len(f.severity) > 0 {
		body["severity"] = f.severity
	}
	path = "/v1/scans/results/export"
	if f.scan != "" {
		path = "/v1/scans/" + url.PathEscape(f.scan) + "/export"
	}
	if f.task != "" {
		path = "/api/v1/tasks/" + url.PathEscape(f.task) + "/export"
	}
	return path + "?" + url.Values{"type": {f.format}, "mask": {f.mask}}.Encode(), body, nil
}

func (f exportFlags) run(cmd *cobra.Command) error {
	path, body, err := f.request()
	if err != nil {
		return err
	}
	// Flags would show the key to every process.
	c := client.FromEnvironment(f.server)
	if c.Key == "" && c.JWT == "" {
		return cli.Exit{Code: cli.ExitAuth, Err: errors.New("put your API key into VEDETTE_API_KEY")}
	}
	resp, err := c.Request(cmd.Context(), http.MethodPost, path, "*/*", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if f.out == "-" {
		_, err := io.Copy(cmd.OutOrStdout(), resp.Body)
		return err
	}
	name := cmp.Or(f.out, fileNameOf(resp, f.format))
	size, err := save(name, resp.Body)
	if err != nil {
		return fmt.Errorf("the file is not complete, and was removed: %w", err)
	}
	if f.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"file": name, "format": f.format, "bytes": size,
			"masked": f.mask != "none"})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%d bytes)\n", cli.Printable(name), size)
	return err
}

// fileNameOf is the name that the server gives the file, without folders.
func fileNameOf(resp *http.Response, format string) string {
	_, parameters, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
	if name := filepath.Base(
		parameters["filename"],
	); err == nil && name != "." && name != "/" &&
		!strings.HasPrefix(name, ".") {
		return name
	}
	return "findings." + format
}

// save writes a file under its name once it is complete.
func save(name string, content io.Reader) (size int64, err error) {
	part, err := os.CreateTemp(filepath.Dir(name), ".export-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(part.Name())
	size, err = io.Copy(part, content)
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return size, err
	}
	return size, os.Rename(part.Name(), name)
}
