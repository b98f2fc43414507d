package network

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	var asked []string
	state := "queued"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked = append(asked, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.String(), path)+" "+body.String()))
		if strings.Contains(r.URL.Path, "/replays/") {
			state = "sent"
		}
		if strings.HasSuffix(r.URL.Path, "/stats") {
			fmt.Fprint(w, `{"events": 5, "captured": 7, "hosts": [{"value": "a:80", "count": 3}]}`)
			return
		}
		fmt.Fprintf(w, `{"id": "i", "state": %q, "result_event_id": "r", "events": [{"id": "e", "method": "GET", "url": "http://a/\u001b[31m"}],
			"method": "POST", "url": "http://a/", "request": "POST / HTTP/1.1\r\n\r\n", "response": "HTTP/1.1 200 OK\r\n\r\nhi", 
			"deleted": 4, "retention_days": 1, "max_megabytes": 2, "scans": "on"}`, state)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "k")
	har := filepath.Join(t.TempDir(), "x.har")
	for command, want := range map[string][]string{
		"list --task t --status 500 --host a:80": {"GET /events?host=a%3A80&limit=50&status=500&task_id=t", "GET http://a/"},
		"show e --unmasked":                      {"GET /events/e?unmasked=true", "HTTP/1.1 200 OK"},
		"stats --scan s":                         {"GET /stats?scan_id=s", "7 were captured"},
		"har --scan s":                           {"GET /har?scan_id=s&unmasked=false", `"deleted"`},
		"har --task t --out " + har:              {"GET /har?task_id=t&unmasked=false", ""},
		"policy":                                 {"GET /policy", "kept for 1 day,"},
		"policy --scans on --tasks=false":        {`PATCH /policy {"scans":"on","tasks":false}`, "scans: on"},
		"delete --task t":                        {"DELETE /events?task_id=t", "4 deleted"},
		"replay e --json /a=1 --json /b=x --header X:": {
			`POST /events/e/replay {"headers":{"X":null},"json":[{"path":"/a","value":1},{"path":"/b","value":"x"}]}`,
			"GET /replays/i", "GET /events/r", "hi"},
		"replay e --method PUT --path /x --body= --header X:y": {
			`POST /events/e/replay {"body":"","headers":{"X":"y"},"method":"PUT","path":"/x"}`, "GET /replays/i", "GET /events/r", "hi"},
	} {
		cmd := New()
		var out bytes.Buffer
		asked, state = nil, "queued"
		cmd.SetOut(&out)
		cmd.SetContext(t.Context())
		cmd.SetArgs(append(strings.Fields(command), "--server="+server.URL))
		last := len(want) - 1
		if err := cmd.Execute(); err != nil || !slices.Equal(asked, want[:last]) || !strings.Contains(out.String(), want[last]) ||
			strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: asked %q, shows %q, %v", command, asked, out.String(), err)
		}
	}
	if text, err := os.ReadFile(har); err != nil || !strings.Contains(string(text), "deleted") {
		t.Errorf("the file: %q, %v", text, err)
	}
	for _, wrong := range []string{"replay e --json a=1", "replay e --header X", "har", "list --task a --scan b"} {
		cmd := New()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(wrong), "--server="+server.URL))
		if err := cmd.Execute(); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
