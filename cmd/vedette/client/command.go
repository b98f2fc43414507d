package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// Flags are those of commands that ask a server once and show the answer: as JSON, or in words.
type Flags struct {
	Server, Output *string
}

// AddFlags adds the flags to a command.
func AddFlags(cmd *cobra.Command) Flags { return Flags{ServerFlag(cmd), cli.OutputFlag(cmd)} }

// ServerFlag adds the flag that names a server to a command.
func ServerFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("server", cmp.Or(os.Getenv("VEDETTE_SERVER"), "http://127.0.0.1:8080"),
		"the server (VEDETTE_SERVER)")
}

// Connect is FromEnvironment, and fails where the environment has no credentials.
func Connect(server string) (Client, error) {
	to := FromEnvironment(server)
	if to.Key == "" && to.JWT == "" {
		return to, cli.Exit{Code: cli.ExitAuth, Err: errors.New("put your API key into VEDETTE_API_KEY")}
	}
	return to, nil
}

// Client is a client of the server that the flags name. It fails where the environment has no credentials.
func (f Flags) Client() (Client, error) { return Connect(*f.Server) }

// Show sends a request and shows the answer; words gives lines for people, which may hold text of others. A body that
// is an io.Reader is sent as it is, everything else as JSON.
func Show[A any](f Flags, cmd *cobra.Command, method, path string, body any, words func(A) []string) error {
	to, err := f.Client()
	if err != nil {
		return err
	}
	var resp *http.Response
	if raw, ok := body.(io.Reader); ok {
		resp, err = to.Send(cmd.Context(), method, path, "application/octet-stream", raw)
	} else {
		resp, err = to.Request(cmd.Context(), method, path, "application/json", body)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if *f.Output == "json" {
		var out bytes.Buffer
		if err := json.Indent(&out, text, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), out.String())
		return err
	}
	var a A
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	for _, line := range words(a) {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}
