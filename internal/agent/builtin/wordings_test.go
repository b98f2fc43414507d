package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent"
)

// accessLine is an access in one line.
func accessLine(a agent.Access) string {
	var out []string
	for _, l := range a.Logins {
		out = append(out, strings.TrimRight(fmt.Sprintf("login %s %s %s %s", l.User, l.Password, l.Page, l.TOTP), " "))
	}
	for _, h := range a.Headers {
		out = append(out, "header "+h.Name+": "+h.Value)
	}
	if a.Cookies != "" {
		out = append(out, "cookies "+a.Cookies)
	}
	for _, r := range a.Requests {
		out = append(out, strings.Join(strings.Fields(r.Method+" "+r.URL+" "+r.Type+" "+r.Body), " "))
	}
	for _, d := range a.Documents {
		out = append(out, "document "+d)
	}
	if o := a.OAuth; o != nil {
		out = append(out, fmt.Sprintf("token of %s for %s %s %s", o.TokenURL, o.ClientID, o.ClientSecret, o.Scopes))
	}
	return strings.Join(out, " | ")
}

// TestWordingsOfAccess has ways in which people say who logs in, what is sent along and what is known. None of it is a
// choice of checks, and none is a second target.
func TestWordingsOfAccess(t *testing.T) {
	for text, want := range map[string]string{
		"Test http://shop.test/. Sign in as `admin` using password `x1`.":                                                        "login admin x1",
		"Pentest http://shop.test/. The credentials are admin/admin123.":                                                         "login admin admin123",
		"Test http://shop.test/ (username=admin password=s3cret)":                                                                "login admin s3cret",
		"Test http://shop.test/ (login: admin, pass: s3cret)":                                                                    "login admin s3cret",
		"Test http://shop.test/. Authenticate with email jim@x.test and password ncc-1701":                                       "login jim@x.test ncc-1701",
		"Test http://shop.test/. You can log in with admin:password":                                                             "login admin password",
		"Test http://shop.test/ as the user \"bob\" / password \"pw 1\"":                                                         "login bob pw 1",
		"Test http://shop.test/. Login is admin and the password is p@ss,word":                                                   "login admin p@ss,word",
		"Test http://shop.test/. Use the account bee with password bug to authenticate.":                                         "login bee bug",
		"Test http://shop.test/login.php with bee/bug as credentials":                                                            "login bee bug",
		"Test http://shop.test/ authenticated as admin with password admin":                                                      "login admin admin",
		"Log into http://shop.test/ with admin/password and test the application":                                                "login admin password",
		"Test http://shop.test/. The users are alice (password wonder1) and bob (pw: b2)":                                        "login alice wonder1 | login bob b2",
		"Test http://shop.test/. Users: alice:wonder1, bob:builder2":                                                             "login alice wonder1 | login bob builder2",
		"Test http://shop.test/ - the login page is at http://shop.test/in; user: ann; pass: b1":                                 "login ann b1 http://shop.test/in",
		"Test http://shop.test/. Log in as al with the password s3 and the TOTP secret JBSWY3DPEHPK3PXP.":                        "login al s3  JBSWY3DPEHPK3PXP",
		"Test http://shop.test/. Add the header X-Auth: abc123 to all requests.":                                                 "header X-Auth: abc123",
		"Test http://shop.test/. Every request must carry the header Authorization: Bearer abcdefghij123":                        "header Authorization: Bearer abcdefghij123",
		"Test http://shop.test/. Use API key abc123def in the header X-API-Key.":                                                 "header X-API-Key: abc123def",
		"Test http://shop.test/. The API key is abc123def (header X-API-Key).":                                                   "header X-API-Key: abc123def",
		"Test http://shop.test/. Header X-API-Key with the value abc-1.":                                                         "header X-API-Key: abc-1",
		"Test http://shop.test/ with the X-Auth-Token header set to 'abc 1'":                                                     "header X-Auth-Token: abc 1",
		"Test http://shop.test/. Set the Cookie header to a=b; c=d":                                                              "cookies a=b; c=d",
		"Test http://shop.test/ with session cookie JSESSIONID=ABC123.":                                                          "cookies JSESSIONID=ABC123",
		"Test http://shop.test/ using cookies a=1 and b=2":                                                                       "cookies a=1; b=2",
		"Test http://shop.test/ with OAuth 2 client credentials: client id cli, client secret sec, token URL http://shop.test/t": "token of http://shop.test/t for cli sec []",
		"Test http://shop.test/. The OpenAPI document is at http://shop.test/openapi.json.":                                      "document http://shop.test/openapi.json",
		"Test http://shop.test/. Swagger file: http://shop.test/swagger.yaml":                                                    "document http://shop.test/swagger.yaml",
		"Test http://shop.test/ (OpenAPI: http://shop.test/v3/api-docs)":                                                         "document http://shop.test/v3/api-docs",
		"Test http://shop.test/. Its API description can be found at http://shop.test/openapi3.yml":                              "document http://shop.test/openapi3.yml",
		"Import the Postman collection http://shop.test/c.json and test http://shop.test/":                                       "document http://shop.test/c.json",
		`Test http://shop.test/in as POST with JSON {"user": "a"}`:                                                               `POST application/json {"user": "a"}`,
		"Send a POST request to http://shop.test/s with body q=1&lang=en and test it":                                            "POST http://shop.test/s application/x-www-form-urlencoded q=1&lang=en",
		`Test PUT http://shop.test/api/user/1 with JSON body {"name":"x"}`:                                                       `PUT http://shop.test/api/user/1 application/json {"name":"x"}`,
		"Test http://shop.test/. Send POST requests with the XML body <a><b>1</b></a>.":                                          "POST application/xml <a><b>1</b></a>",
		"Test http://shop.test/f as POST: name=a&mail=b@c.test":                                                                  "POST application/x-www-form-urlencoded name=a&mail=b@c.test",
		"Test this: curl -X POST 'http://shop.test/in' -d 'user=a&pass=b c' -H 'X-A: 1' --cookie=sid=2 -u u:p": "login u p | header X-A: 1 | cookies sid=2 | " +
			"POST http://shop.test/in application/x-www-form-urlencoded user=a&pass=b c",
		`Test curl http://shop.test/api -H "Content-Type: application/json" --data-raw '{"a":"it'\''s"}'`: `POST http://shop.test/api application/json {"a":"it's"}`,
	} {
		plan := Plan(text)
		if got := accessLine(plan.Access); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if len(plan.Tags) > 0 || !plan.FullCheck || len(plan.NotUnderstood)+len(plan.NotDone) > 0 || len(plan.Targets) != 1 {
			t.Errorf("%s: full check %v, tags %q, targets %v, not understood %q %q", text, plan.FullCheck, plan.Tags,
				plan.Targets, plan.NotUnderstood, plan.NotDone)
		}
	}
}

// TestHeadersThatAnswersHave are asked about and not sent.
func TestHeadersThatAnswersHave(t *testing.T) {
	for _, text := range []string{
		"Check that the Strict-Transport-Security header of http://shop.test/ is set",
		"Is the X-Frame-Options header set to DENY on http://shop.test/?",
		"Check http://shop.test/ for CORS: the Access-Control-Allow-Origin header is *",
		"Check whether accounts can be enumerated at http://shop.test/ (password reset)",
		"Check the API keys and tokens in the scripts of http://shop.test/",
	} {
		if plan := Plan(text); !plan.Access.Empty() {
			t.Errorf("%s: %s", text, accessLine(plan.Access))
		}
	}
}

// FuzzAccess holds that no text is read in a way that panics, or makes many users.
func FuzzAccess(f *testing.F) {
	f.Add("Test http://shop.test/ as POST: a=1; users: a:b, c:d; curl -d 'x' http://shop.test/ -u a:b")
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(Plan(text).Access.Logins); n > maxLogins {
			t.Errorf("%d users", n)
		}
	})
}
