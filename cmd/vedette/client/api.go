package client

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

var apiMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// NewAPI is the command for operations that have none of their own.
func NewAPI() *cobra.Command {
	cmd := &cobra.Command{
		Use: "api [METHOD] PATH", Short: "Send a request to the APIs of a server", Args: cobra.RangeArgs(1, 2),
		Long: `Sends a request to an operation of the APIs and prints the answer as it comes. Without METHOD it is
GET, or POST with --data. What the server refuses is an error, with the exit code of its kind. The
operations are at /docs of the server; the API key is in VEDETTE_API_KEY.`,
		Example: `  vedette api /api/v1/projects
  vedette api POST /api/v1/projects --data '{"name": "Shop"}'
  vedette api POST /api/v1/schedules --data @schedule.json
  vedette api POST "/api/v1/files?key=api.yaml" --data @api.yaml --raw`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return apiMethods, cobra.ShellCompDirectiveNoFileComp
		},
	}
	server := ServerFlag(cmd)
	data := cmd.Flags().String("data", "", "the body: JSON, @FILE, or - for standard input")
	raw := cmd.Flags().Bool("raw", false, "the body is no JSON: it is sent as bytes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		method, path := http.MethodGet, args[len(args)-1]
		if *data != "" {
			method = http.MethodPost
		}
		if len(args) == 2 {
			method = strings.ToUpper(args[0])
		}
		switch {
		case !slices.Contains(apiMethods, method):
			return cli.Usagef("METHOD %q: must be one of %s", args[0], strings.Join(apiMethods, ", "))
		case !strings.HasPrefix(path, "/"):
			return cli.Usagef("PATH %q: must begin with /, such as /api/v1/projects", path)
		case *raw && *data == "":
			return cli.Usagef("--raw needs --data")
		}
		body, kind, err := apiBody(cmd.InOrStdin(), *data, *raw)
		if err != nil {
			return err
		}
		return sendAPI(cmd, *server, method, path, kind, body)
	}
	return cmd
}

// apiBody is the body that --data names; nil: none.
func apiBody(in io.Reader, data string, raw bool) (body io.Reader, kind string, err error) {
	text := []byte(data)
	name, isFile := strings.CutPrefix(data, "@")
	switch {
	case data == "":
		return nil, "", nil
	case data == "-":
		text, err = io.ReadAll(in)
	case isFile:
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, "", cli.Usagef("--data: %w", err)
	}
	if raw {
		return strings.NewReader(string(text)), "application/octet-stream", nil
	}
	if !json.Valid(text) {
		return nil, "", cli.Usagef("--data is no JSON; --raw sends other bytes")
	}
	return strings.NewReader(string(text)), "application/json", nil
}

// sendAPI prints the answer while it comes: a stream is shown event by event.
func sendAPI(cmd *cobra.Command, server, method, path, kind string, body io.Reader) error {
	to, err := Connect(server)
	if err != nil {
		return err
	}
	resp, err := to.Send(cmd.Context(), method, path, kind, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	last := &lastByte{w: cmd.OutOrStdout()}
	if _, err := io.Copy(last, resp.Body); err != nil {
		return err
	}
	if last.b != '\n' && last.b != 0 && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		_, err = io.WriteString(cmd.OutOrStdout(), "\n")
	}
	return err
}

// lastByte remembers the last byte that was written.
type lastByte struct {
	w io.Writer
	b byte
}

// Write implements io.Writer.
func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.w.Write(p)
}
