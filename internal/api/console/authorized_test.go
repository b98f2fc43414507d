package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestTheAnswerOfAnAuthorizationServerIsShown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		_, server, _ := open(t, d)
		for query, want := range map[string]struct {
			status int
			text   string
		}{
			"state=id.s&code=c-1&iss=" + url.QueryEscape("https://a.example"): {200, `href="/settings/tools?code=c-1&amp;iss=https%3A%2F%2Fa.example&amp;state=id.s"`},
			"error=access_denied":                           {200, "access_denied"},
			"error=" + url.QueryEscape("<b>x</b>"):          {200, "an error"},
			"state=id.s":                                    {400, "something else"},
			"state=id.s&code=" + url.QueryEscape("'; rm"):   {400, "something else"},
			"state=" + url.QueryEscape("$(id)") + "&code=c": {400, "something else"},
		} {
			resp, text := do(t, http.MethodGet, server.URL+"/mcp-authorized?"+query, "", "")
			if resp.StatusCode != want.status || !strings.Contains(text, want.text) || strings.Contains(text, "rm") || strings.Contains(text, "$(id)") {
				t.Errorf("%s: %d %s", query, resp.StatusCode, text)
			}
		}
		if resp, _ := do(t, http.MethodPost, server.URL+"/mcp-authorized", formType, ""); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", resp.StatusCode)
		}
	})
}
