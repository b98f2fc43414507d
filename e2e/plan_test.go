package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// 'vedette team set-plan' acts on a running server, with the next request: what the plan limits is refused, and allowed
// again.
func TestSetPlanActs(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		dep.command("user", "create", "--email", "ada@example.com", "--admin", "--team", "blue")
		ada := dep.serve().as(dep.command("token", "create", "--email", "ada@example.com"))
		var profile struct {
			Plan string `json:"plan"`
		}
		var members struct {
			Max int `json:"max_team_members"`
		}
		invite := func(n int) (status int, text string) {
			t.Helper()
			resp, err := ada.do(t.Context(), http.MethodPost, "/v1/user/team/member", "application/json",
				map[string]any{"email": fmt.Sprintf("u%d@example.com", n), "role": "MEMBER"})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(body)
		}
		for i, c := range []struct {
			plan string
			most int
		}{{"FREE", 3}, {"PRO", 1000}, {"FREE", 3}, {"ENT", 1000}} {
			team := "blue"
			if said := dep.command("team", "set-plan", team, c.plan); said != "blue is on the plan "+c.plan+"." {
				t.Errorf("set-plan says %q", said)
			}
			ada.call(http.MethodGet, "/v1/user", nil, &profile)
			ada.call(http.MethodGet, "/v1/user/team/member", nil, &members)
			if profile.Plan != c.plan || members.Max != c.most {
				t.Errorf("%s: the plan is %s with %d members", c.plan, profile.Plan, members.Max)
			}
			for n := range 2 { // with ada three are in the team, or invited, after the first plan
				status, text := invite(10*i + n)
				refused := status == http.StatusBadRequest && strings.Contains(text, `"team_full"`)
				if wanted := c.most == 3 && i > 0; refused != wanted || !refused && status/100 != 2 {
					t.Errorf("%s, invitation %d of round %d: %d %s", c.plan, n, i, status, text)
				}
			}
		}
	})
}
