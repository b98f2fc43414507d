package credits

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked = r.Method + " " + r.URL.String() + " " + body.String()
		fmt.Fprint(w, `{"message": "done", "available_credits": 2, "issued_credits": 3, "used_credits": 1, "grant": {"id": "g", "credits": 5},
			"grants": [{"id": "g", "note": "n\u001b[31m", "expires_at": "2099"}], "data": [{"id": "t", "name": "task", "calls": 2, "credits": 0.5}]}`)
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "k")
	for command, want := range map[string][2]string{
		"show":                               {"GET /api/v1/billing/credits ", "2.00 of 3.00"},
		"used --by model":                    {"GET /api/v1/billing/consumption?group_by=model ", "0.5000"},
		"statement --format csv":             {"GET /api/v1/billing/statement?format=csv ", `"message"`},
		"grant blue 5 --note x":              {`POST /api/v1/operator/credits {"credits":5,"note":"x","team":"blue"}`, "never expires"},
		"grant blue 5 --expires 2099":        {`POST /api/v1/operator/credits {"credits":5,"expires_at":"2099","team":"blue"}`, "g "},
		"list":                               {"GET /api/v1/billing/grants ", "expires 2099"},
		"list --team red -o json":            {"GET /api/v1/operator/credits?team=red ", `"grants"`},
		"revoke g":                           {"DELETE /api/v1/operator/credits?grant_id=g ", "done"},
		"used --from 2026 --to 2027 -o json": {"GET /api/v1/billing/consumption?from=2026&group_by=task&to=2027 ", `"calls": 2`},
	} {
		cmd := New()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs(append(strings.Fields(command), "--server="+server.URL))
		if err := cmd.Execute(); err != nil || asked != want[0] || !strings.Contains(out.String(), want[1]) ||
			strings.Contains(out.String(), "\x1b") && !strings.Contains(command, "statement") {
			t.Errorf("%s: asked %q, shows %q, %v", command, asked, out.String(), err)
		}
	}
}
