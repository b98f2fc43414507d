package signers

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCommands(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked = strings.TrimSpace(r.Method + " " + r.URL.String() + " " + body.String())
		fmt.Fprint(w, `{"message": "done", "allowed": false, "key": {"id": "k", "name": "n", "owner": "o", "fragment": "f"},
			"results": [{"id": "k", "name": "n\u001b[31m", "owner": "o", "fragment": "f"}]}`)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "k")
	folder := t.TempDir()
	certificate, long := filepath.Join(folder, "c.pem"), filepath.Join(folder, "long.pem")
	for name, text := range map[string]string{certificate: "PEM", long: strings.Repeat("x", maxFile+1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string][2]string{
		"list":                                {"GET /v1/template-keys", "lets this server run no programs"},
		"list -o json":                        {"GET /v1/template-keys", `"allowed"`},
		"add " + certificate:                  {`POST /v1/template-keys {"certificate":"PEM"}`, "k  f  n (o)"},
		"add " + certificate + " --name blue": {`POST /v1/template-keys {"certificate":"PEM","name":"blue"}`, "done"},
		"delete a/b":                          {"DELETE /v1/template-keys/a%2Fb", "done"},
	} {
		out, err := run(t, command+" --server="+server.URL)
		if err != nil || asked != want[0] || !strings.Contains(out, want[1]) || strings.Contains(out, "\x1b") {
			t.Errorf("%s: asked %q, shows %q, %v", command, asked, out, err)
		}
	}
	asked = ""
	for _, name := range []string{long, filepath.Join(folder, "absent.pem")} {
		if _, err := run(t, "add "+name+" --server="+server.URL); err == nil || !strings.Contains(err.Error(), name) || asked != "" {
			t.Errorf("%s: asked %q, %v", name, asked, err)
		}
	}
}

// run runs a command of the group and returns what it writes.
func run(t *testing.T, command string) (string, error) {
	t.Helper()
	group := &cobra.Command{Use: "keys", SilenceUsage: true, SilenceErrors: true}
	group.AddCommand(Commands()...)
	var out bytes.Buffer
	group.SetOut(&out)
	group.SetContext(t.Context())
	group.SetArgs(strings.Fields(command))
	err := group.Execute()
	return out.String(), err
}
