package app

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
)

// TestASessionInACookie: it is a bearer token for pages of this server, and other sites change nothing with it.
func TestASessionInACookie(t *testing.T) {
	h := serve(t, "sqlite", "PUBLIC_URL=https://vedette.example")
	for _, name := range []string{"ada", "bob"} {
		_, err := h.Accounts.CreateUser(t.Context(), account.NewUser{Email: name + "@example.com", Team: name, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	ada, err := h.Accounts.IssueToken(t.Context(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	const cookie = "__Host-vedette-session"
	ask := func(method, path, cookies string, headers map[string]string) int {
		r := h.request(method, path, nil, "")
		if method == http.MethodPost {
			r = h.request(method, path, nil, `{"name": "red"}`)
			r.Header.Set("Content-Type", "application/json")
		}
		r.Header.Del("X-Api-Key")
		r.Header.Set("Cookie", cookies)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		return h.do(r).status
	}
	good := cookie + "=" + ada.AccessToken
	const read, change = "/api/v1/teams", "/api/v1/teams"
	for name, c := range map[string]struct {
		method, path, cookies string
		headers               map[string]string
		want                  int
	}{
		"read":                        {"GET", read, good, nil, 200},
		"read, of the platform":       {"GET", "/v1/user", good, nil, 200},
		"read from a link":            {"GET", read, good, map[string]string{"Sec-Fetch-Site": "cross-site"}, 200},
		"a name that anybody may set": {"GET", read, "vedette-session=" + ada.AccessToken, nil, 401},
		"two of them":                 {"GET", read, good + "; " + good, nil, 401},
		"no token":                    {"GET", read, cookie + "=x", nil, 401},
		"a wrong bearer token beside": {"GET", read, good, map[string]string{"Authorization": "Bearer x"}, 401},
		"a wrong key beside":          {"GET", "/v1/user", good, map[string]string{"X-Api-Key": "x"}, 401},
		"own page": {"PATCH", change, good,
			map[string]string{"Sec-Fetch-Site": "same-origin", "X-Requested-With": "x"}, 400},
		"own page, older browser": {"PATCH", change, good,
			map[string]string{"Origin": "https://vedette.example", "X-Requested-With": "x"}, 400},
		"own page, without the header":    {"PATCH", change, good, map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
		"a form, of a browser that hides": {"PATCH", change, good, nil, 403},
		"another site, with the header": {"PATCH", change, good,
			map[string]string{"Sec-Fetch-Site": "cross-site", "X-Requested-With": "x"}, 403},
		"another site":                {"PATCH", change, good, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a neighbour":                 {"PATCH", change, good, map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"another site, older browser": {"PATCH", change, good, map[string]string{"Origin": "https://evil.example"}, 403},
		"another site, no origin":     {"DELETE", "/v1/user/sessions", good, map[string]string{"Origin": "null"}, 403},
		"another site, with a key": {"DELETE", "/v1/user/apikey", good,
			map[string]string{"Sec-Fetch-Site": "cross-site", "X-Api-Key": "x"}, 401},
	} {
		if got := ask(c.method, c.path, c.cookies, c.headers); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	caller, err := h.Accounts.ByBearer(t.Context(), ada.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Accounts.EndSession(account.WithCaller(t.Context(), caller), caller.SessionID); err != nil {
		t.Fatal(err)
	}
	if got := ask("GET", read, good, nil); got != 401 {
		t.Errorf("after the session ended: %d", got)
	}
}

// TestSignInWithACookie: a page gets its session in a cookie that no script reads, and nobody else has it sign in.
func TestSignInWithACookie(t *testing.T) {
	for scheme, prefix := range map[string]string{"https": "__Host-", "http": ""} {
		h := serve(t, "sqlite", "PUBLIC_URL="+scheme+"://vedette.example")
		_, err := h.Accounts.CreateUser(t.Context(),
			account.NewUser{Email: "ada@example.com", Team: "ada", Password: "correct-horse", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		login := func(headers map[string]string, more string) *http.Response {
			r := h.request("POST", "/api/v1/auth/login", nil,
				`{"email": "ada@example.com", "password": "correct-horse"`+more+`}`)
			r.Header.Del("X-Api-Key")
			r.Header.Set("Content-Type", "application/json")
			for name, value := range headers {
				r.Header.Set(name, value)
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { resp.Body.Close() })
			return resp
		}
		own := map[string]string{"Sec-Fetch-Site": "same-origin", "X-Requested-With": "x", "Cookie": prefix + "vedette-session=planted"}
		resp := login(own, `, "cookie": true`)
		var got account.Token
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.AccessToken != "" || got.ExpiresIn == 0 {
			t.Errorf("%s: the answer: %+v, %v", scheme, got, err)
		}
		cookies := resp.Cookies()
		if resp.StatusCode != 200 || len(cookies) != 1 {
			t.Fatalf("%s: %d, %v", scheme, resp.StatusCode, cookies)
		}
		c := cookies[0]
		if c.Name != prefix+"vedette-session" || !c.HttpOnly || c.Secure != (scheme == "https") ||
			c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != got.ExpiresIn {
			t.Errorf("%s: the cookie: %+v", scheme, c)
		}
		if c.Value == "planted" { // session fixation
			t.Error("a session of before the sign-in goes on")
		}
		if caller, err := h.Accounts.ByBearer(t.Context(), c.Value); err != nil || caller.Email != "ada@example.com" {
			t.Errorf("%s: the session: %+v, %v", scheme, caller, err)
		}
		for name, headers := range map[string]map[string]string{
			"another site": {"Sec-Fetch-Site": "cross-site", "X-Requested-With": "x"}, "no header": {"Sec-Fetch-Site": "same-origin"},
		} {
			if resp := login(headers, `, "cookie": true`); resp.StatusCode != 403 || len(resp.Cookies()) != 0 {
				t.Errorf("%s: %d, %v", name, resp.StatusCode, resp.Cookies())
			}
		}
		resp = login(nil, "")
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.AccessToken == "" || len(resp.Cookies()) != 0 {
			t.Errorf("%s: a program: %+v, %v, %v", scheme, got, resp.Cookies(), err)
		}
	}
}
