package triage

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each command sends one request with what its flags say, and shows the answer in words or as JSON. Text of targets
// reaches no terminal as control characters.
func TestCommands(t *testing.T) {
	var got string
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "svc_sk_x")
	for _, c := range []struct {
		cmd            *cobra.Command
		args           string
		answer         string
		request, shown string
	}{
		{Issues(), "list --severity high --limit 5", `{"issues":[{"id":"1","title":"A\u001b[2J","severity":"high","status":"open"}],"total":1}`,
			"GET /api/v1/issues?per_page=5&severity=high ", "1 issue."},
		{Issues(), "report Title --target h", `{"id":"1","title":"Title"}`,
			`POST /api/v1/issues {"target":"h","title":"Title"}`, "1  Title"},
		{Issues(), "set 1 --status triaged -o json", `{"id":"1"}`, `PATCH /api/v1/issues/1 {"status":"triaged"}`, `"id": "1"`},
		{New(), "queues", `{"queues":[{"id":"q","name":"Worst","count":3,"claimed":[{}]}]}`, "GET /api/v1/triage/queues ", "1 claimed  q  Worst"},
		{New(), "rules", `{"rules":[{"id":"r","name":"R","enabled":true,"applied_count":2}]}`, "GET /api/v1/triage/rules ", "applied 2  r  R"},
		{New(), "dry-run --rule-id r", `{"changed":1,"looked_at":2,"next_before":7,"decisions":[{"vuln_id":"v","rule_name":"R","effects":[{"field":"severity","old_value":"low","new_value":"high"},{"field":"vuln_status","kept":"a person decided"}]}]}`,
			`POST /api/v1/triage/dry-run {"before":0,"limit":100,"rule_ids":["r"]}`, "severity low -> high, vuln_status stays: a person decided"},
		{New(), "run", `{"changed":0,"looked_at":0}`, `POST /api/v1/triage/run {"before":0,"limit":100}`, "0 of 0 findings change."},
		{New(), "suggest v --model", `{"suggestions":[{"id":"s","vuln_id":"v","field":"severity","value":"low","confidence":0.9,"source":"model","reason":"Why."}]}`,
			`POST /api/v1/triage/suggestions {"model":true,"vuln_ids":["v"]}`, "90 %, model) Why."},
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
	cmd := New()
	cmd.SetArgs([]string{"queues", "--server", server.URL})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil {
		t.Error("without a key")
	}
}
