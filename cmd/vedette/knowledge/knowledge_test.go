package knowledge

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Method + " " + r.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"message": "Gone.", "sources": [{"id": "i", "name": "n", "kind": "text", "status": "ready", "chunks": 2}],
			"results": [{"source": "n", "place": "p\u001b[2J", "line": 3, "text": "found"}]}`)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "key")
	for _, one := range []struct{ args, sent, shown string }{
		{"add -", `POST /api/v1/knowledge/index {"content":"text","name":"","shared":false}`, "ready"},
		{"add https://h.example.com/x --shared", `POST /api/v1/knowledge/index {"name":"","shared":true,"urls":["https://h.example.com/x"]}`, "ready"},
		{"add --git https://h.example.com/x --ref v1", `"git_url":"https://h.example.com/x"`, "ready"},
		{"list", "GET /api/v1/knowledge/sources ", "i  yours"},
		{"search word", `POST /api/v1/knowledge/search {"limit":5,"query":"word"}`, "found"},
		{"remove a/b", "DELETE /api/v1/knowledge/sources/a/b", "Gone."},
	} {
		cmd := New()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetIn(strings.NewReader("text"))
		cmd.SetArgs(append(strings.Fields(one.args), "--server", server.URL))
		if err := cmd.Execute(); err != nil {
			t.Errorf("%s: %v", one.args, err)
			continue
		}
		if got := <-asked; !strings.Contains(got, one.sent) || !strings.Contains(out.String(), one.shown) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: sent %s, shown %q", one.args, got, out.String())
		}
	}
	for _, args := range []string{"add x --ref v1", "add x --git", "add /nonexistent"} {
		cmd := New()
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append(strings.Fields(args), "--server", server.URL))
		if err := cmd.Execute(); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}
