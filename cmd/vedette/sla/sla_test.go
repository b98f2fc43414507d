package sla

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const kept = `{"count_from": "reopened", "warn_days": 2, "days": {"high": 30, "low": 1},
	"labels": [{"label": "Production", "days": {"high": 14}}]}`

func TestCommands(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked = r.Method + " " + r.URL.String() + " " + body.String()
		switch r.Method {
		case http.MethodPut:
			_, _ = w.Write(body.Bytes())
		case http.MethodDelete:
			fmt.Fprint(w, `{"message": "Findings are not due any more."}`)
		default:
			fmt.Fprint(w, kept)
		}
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "k")
	const put = "PUT /v1/team/sla "
	for command, want := range map[string][2]string{
		"show":         {"GET /v1/team/sla ", "high 30 days, low 1 day\nat assets with the label Production: high 14 days\ncounted from"},
		"show -o json": {"GET /v1/team/sla ", `"count_from": "reopened"`},
		"clear":        {"DELETE /v1/team/sla ", "not due any more"},
		"set --days critical=7,low=0": {put + `{"count_from":"reopened","warn_days":2,"days":{"critical":7,"high":30,"low":0},` +
			`"labels":[{"label":"Production","days":{"high":14}}]}`, "critical 7 days, high 30 days\n"},
		"set --label production:high=3,critical=1 --warn-days 0": {put + `{"count_from":"reopened","warn_days":0,` +
			`"days":{"high":30,"low":1},"labels":[{"label":"Production","days":{"critical":1,"high":3}}]}`, "critical 1 day, high 3 days"},
		"set --label a:b:low=9 --remove-label PRODUCTION --count-from first_seen": {put + `{"count_from":"first_seen","warn_days":2,` +
			`"days":{"high":30,"low":1},"labels":[{"label":"a:b","days":{"low":9}}]}`, "label a:b: low 9 days"},
	} {
		cmd := New()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs(append(strings.Fields(command), "--server="+server.URL))
		if err := cmd.Execute(); err != nil || strings.TrimSpace(asked) != strings.TrimSpace(want[0]) ||
			!strings.Contains(out.String(), want[1]) {
			t.Errorf("%s: asked %s, shows %q, %v", command, asked, out.String(), err)
		}
	}
	for _, command := range []string{"set", "set --label high=3", "set --label a:high", "set --remove-label other"} {
		asked = ""
		cmd := New()
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs(append(strings.Fields(command), "--server="+server.URL))
		if err := cmd.Execute(); err == nil || strings.HasPrefix(asked, "PUT") {
			t.Errorf("%s: asked %s, %v", command, asked, err)
		}
	}
}
