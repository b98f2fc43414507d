package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent"
)

// TestAccess has what instructions say of logins and requests; none of it may choose checks.
func TestAccess(t *testing.T) {
	const site = "http://shop.test/"
	for _, c := range []struct {
		text string
		want agent.Access
	}{
		{"Test http://shop.test/ and log in as user admin with the password s3cret!.", agent.Access{Logins: []agent.Login{{User: "admin", Password: "s3cret!"}}}},
		{"Log in to http://shop.test/ with username alice and password 'her pass word', then test everything", agent.Access{Logins: []agent.Login{{User: "alice", Password: "her pass word"}}}},
		{"Pentest http://shop.test/ (credentials: bob:hunter2)", agent.Access{Logins: []agent.Login{{User: "bob", Password: "hunter2)"[:7]}}}},
		{"Test http://shop.test/, log in as admin / password", agent.Access{Logins: []agent.Login{{User: "admin", Password: "password"}}}},
		{"Test http://shop.test/. Username: gordonb, Password: abc123.", agent.Access{Logins: []agent.Login{{User: "gordonb", Password: "abc123"}}}},
		{"Test http://shop.test/ with user a@b.test and password x, and user c@d.test and password y", agent.Access{Logins: []agent.Login{{User: "a@b.test", Password: "x"}, {User: "c@d.test", Password: "y"}}}},
		{"Test http://shop.test/ and send the header Cookie: PHPSESSID=abc123; security=low", agent.Access{Cookies: "PHPSESSID=abc123; security=low"}},
		{"Test http://shop.test/ with the cookie PHPSESSID=abc123; security=low. Report all.", agent.Access{Cookies: "PHPSESSID=abc123; security=low"}},
		{"Test http://shop.test/ with the header 'X-Api-Key: k-1, 2'", agent.Access{Headers: []agent.HeaderLine{{Name: "X-Api-Key", Value: "k-1, 2"}}}},
		{"Test http://shop.test/\nAuthorization: Basic YTpi\n", agent.Access{Headers: []agent.HeaderLine{{Name: "Authorization", Value: "Basic YTpi"}}}},
		{"Test http://shop.test/ using the bearer token eyJhbGciOiJIUzI1NiJ9.e30.abc", agent.Access{Headers: []agent.HeaderLine{{Name: "Authorization", Value: "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc"}}}},
		{`POST to http://shop.test/ with the JSON body {"name": "x", "admin": {"a": 1}}`, agent.Access{Requests: []agent.Request{{Method: "POST", URL: "http://shop.test/", Type: "application/json", Body: `{"name": "x", "admin": {"a": 1}}`}}}},
		{"Test http://shop.test/ as POST with the body user=a&pass=b", agent.Access{Requests: []agent.Request{{Method: "POST", Type: "application/x-www-form-urlencoded", Body: "user=a&pass=b"}}}},
		{"Test the API at http://shop.test/, which is described by http://shop.test/openapi.json", agent.Access{Documents: []string{"http://shop.test/openapi.json"}}},
		{"Test http://shop.test/ for everything.", agent.Access{}},
	} {
		plan := Plan(c.text)
		if got, want := fmt.Sprintf("%+v", plan.Access), fmt.Sprintf("%+v", c.want); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, want)
		}
		if len(plan.Tags) > 0 || !plan.FullCheck || len(plan.NotUnderstood)+len(plan.NotDone) > 0 || len(plan.Targets) == 0 ||
			!strings.HasPrefix(plan.Targets[0].Raw, strings.TrimSuffix(site, "/")) {
			t.Errorf("%s: full check %v, tags %q, targets %v, not understood %q %q", c.text, plan.FullCheck, plan.Tags,
				plan.Targets, plan.NotUnderstood, plan.NotDone)
		}
		if text := fmt.Sprint(plan.Understood); strings.Contains(text, "s3cret") || strings.Contains(text, "PHPSESSID") {
			t.Errorf("a secret is told: %s", text)
		}
	}
}

// TestNoAccess has sentences that only sound like logins.
func TestNoAccess(t *testing.T) {
	for _, text := range []string{
		"Find login pages of http://shop.test/ and password reset forms",
		"Check the user enumeration and password policy of http://shop.test/",
		"Check http://shop.test/ for security headers: CSP and HSTS",
		"Check the cookie flags of http://shop.test/",
		"Check http://shop.test/ for leaked tokens and API keys",
	} {
		if plan := Plan(text); !plan.Access.Empty() {
			t.Errorf("%s: %+v", text, plan.Access)
		}
	}
}
