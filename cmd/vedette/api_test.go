package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// The command sends what it was told, prints the answer as it comes, and what is wrong with its arguments is sent nowhere.
func TestAPI(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("X-Api-Key"), string(body)}, "|"))
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"code": "project_not_found", "message": "There is no such project."}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(server.Close)
	t.Setenv("VEDETTE_API_KEY", "k")
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		sent string // empty: nothing
		says string
	}{
		{[]string{"/v1/x?limit=1"}, 0, "GET|/v1/x?limit=1||k|", "{\"ok\":true}\n"},
		{[]string{"/v1/x", "--data", `{"b": 2}`}, 0, `POST|/v1/x|application/json|k|{"b": 2}`, "ok"},
		{[]string{"patch", "/v1/x", "--data", "@" + file}, 0, `PATCH|/v1/x|application/json|k|{"a": 1}`, "ok"},
		{[]string{"PUT", "/v1/x", "--data", "-"}, 0, `PUT|/v1/x|application/json|k|[1]`, "ok"},
		{[]string{"POST", "/v1/x", "--data", "no JSON", "--raw"}, 0, `POST|/v1/x|application/octet-stream|k|no JSON`, "ok"},
		{[]string{"DELETE", "/none"}, cli.ExitNotFound, "DELETE|/none||k|", "no such project"},
		{[]string{"v1/x"}, cli.ExitUsage, "", "must begin with /"},
		{[]string{"FETCH", "/v1/x"}, cli.ExitUsage, "", `METHOD "FETCH"`},
		{[]string{"POST", "/v1/x", "--data", "{"}, cli.ExitUsage, "", "--data is no JSON"},
		{[]string{"POST", "/v1/x", "--data", "@" + file + "x"}, cli.ExitUsage, "", "--data"},
		{[]string{"POST", "/v1/x", "--raw"}, cli.ExitUsage, "", "--raw needs --data"},
	} {
		seen = nil
		var out, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"api", "--server", server.URL}, c.args...), strings.NewReader("[1]"), &out, &stderr)
		if sent := strings.Join(seen, "\n"); code != c.code || sent != c.sent || !strings.Contains(out.String()+stderr.String(), c.says) {
			t.Errorf("%q: exit %d, sent %q, says %q %q", c.args, code, sent, &out, &stderr)
		}
	}
}
