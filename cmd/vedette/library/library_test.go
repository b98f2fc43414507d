package library

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each command sends one request with what its flags say, and shows the answer in words or as JSON. Text of others
// reaches no terminal as control characters.
func TestCommands(t *testing.T) {
	var got, answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "svc_sk_x")
	dir := t.TempDir()
	for name, text := range map[string]string{"a.md": "Be kind.", "s.zip": "PK-archive"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		cmd            *cobra.Command
		args           string
		answer         string
		request, shown string
	}{
		{Agents(), "list", `{"agents":[{"id":"1","name":"A\u001b[2J","type":"user","config_version":3}],"total":1}`,
			"GET /api/v1/agents/user ", "1 agent."},
		{Agents(), "list --directory --search web", `{"agents":[],"total":0}`, "GET /api/v1/agents/directory?limit=200&search=web ", "0 agents."},
		{Agents(), "show 1", `{"id":"1","name":"A","skills":["tls-review"],"system_context":"Be\nkind."}`, "GET /api/v1/agents/user/1 ", "  Be\n  kind."},
		{Agents(), "create A --instructions " + dir + "/a.md --tool crawl", `{"id":"1","name":"A"}`,
			`POST /api/v1/agents/user {"description":"","name":"A","native_tools":["crawl"],"shared":false,"system_context":"Be kind.","when_to_use":""}`, "1  A"},
		{Agents(), "fork vedette-x --name B", `{"id":"2","name":"B"}`, `POST /api/v1/agents/directory/vedette-x/fork {"name":"B"}`, "2  B"},
		{Agents(), "fork 1 --team", `{"id":"2"}`, `POST /api/v1/agents/user/1/fork {"name":""}`, "2"},
		{Agents(), "versions 1", `{"versions":[{"config_version":2,"name":"A"}]}`, "GET /api/v1/agents/user/1/versions ", "2  A"},
		{Agents(), "publish 1", `{"id":"1","name":"A","published_version":4}`, "POST /api/v1/agents/user/1/publish ", "version 4 is in the directory"},
		{Agents(), "unpublish 1", `{"message":"Gone."}`, "DELETE /api/v1/agents/user/1/publish ", "Gone."},
		{Skills(), "list --type shipped", `{"skills":[{"id":"s","name":"n","enabled":true}],"total":1}`, "GET /api/v1/skills?type=shipped ", "on "},
		{Skills(), "show s", `{"id":"s","instructions":"Do.","files":[{"path":"a.md","size":7}]}`, "GET /api/v1/skills/s ", "7  a.md"},
		{Skills(), "import " + dir + "/s.zip --shared", `{"skills":[{"result":"created","id":"s","name":"n"}],"left_out":["x: y"],"total":1}`,
			"POST /api/v1/skills/import?shared=true PK-archive", "left out: x: y"},
		{Skills(), "import " + dir + "/a.md", `{"id":"s"}`, `POST /api/v1/skills {"shared":false,"skill_md":"Be kind."}`, "s"},
		{Skills(), "import https://git.example.com/x.git --ref v1", `{"total":0}`,
			`POST /api/v1/skills/import-url {"ref":"v1","shared":false,"url":"https://git.example.com/x.git"}`, "0 skills."},
		{Skills(), "disable s -o json", `{"enabled":false}`, `PATCH /api/v1/skills/s {"enabled":false}`, `"enabled": false`},
		{Prompts(), "list --tag web", `{"prompts":[{"id":"p","name":"n"}],"total":1}`, "GET /api/v1/prompts?tag=web ", "1 prompt."},
		{Prompts(), "show p", `{"id":"p","text":"t","variables":[{"name":"url","default":"d"}]}`, "GET /api/v1/prompts/p ", "{{url}}   (default d)"},
		{Prompts(), "create n --text " + dir + "/a.md", `{"id":"p"}`,
			`POST /api/v1/prompts {"description":"","name":"n","shared":false,"text":"Be kind."}`, "p"},
		{Prompts(), "render p --value a=b=c", `{"text":"filled"}`, `POST /api/v1/prompts/p/render {"values":{"a":"b=c"}}`, "filled"},
		{Prompts(), "run p --value a=b --version 2 --agent 1", `{"task_id":"t1"}`,
			`POST /api/v1/tasks {"agent_id":"1","prompt_id":"p","prompt_values":{"a":"b"},"prompt_version":2,"response_format":"json"}`, "t1"},
	} {
		answer = c.answer
		var out strings.Builder
		c.cmd.SetOut(&out)
		c.cmd.SetArgs(append(strings.Fields(c.args), "--server", server.URL))
		if err := c.cmd.Execute(); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if got != c.request || !strings.Contains(out.String(), c.shown) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: sent %s, shown %q", c.args, got, out.String())
		}
	}
	t.Setenv("VEDETTE_API_KEY", "")
	for _, args := range [][]string{{"list"}, {"import", "/none.zip"}, {"import", "x.zip", "--ref", "v1"}} {
		cmd := Skills()
		cmd.SetArgs(append(args, "--server", server.URL))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
