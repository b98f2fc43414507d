package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// Each flow has cases of known classes, a sound variant beside weak ones, and there are enough of both kinds.
func TestFlows(t *testing.T) {
	weak, safe, names := 0, 0, map[string]bool{}
	for _, stack := range []string{"node", "python", "php", "go", "java"} {
		for _, f := range Flows(stack, nil) {
			if names[f.Name()] {
				t.Errorf("%s is there twice", f.Name())
			}
			names[f.Name()] = true
			for _, c := range f.Cases {
				if len(FlowClasses[c.Class]) == 0 {
					t.Errorf("%s has no CWE", c.Class)
				}
				if c.True && f.Variant == "sound" {
					t.Errorf("%s %s is weak", f.Name(), c.Path)
				}
				if c.True {
					weak++
				} else {
					safe++
				}
			}
		}
	}
	t.Logf("%d applications, %d weak cases, %d that look so", len(names), weak, safe)
	if weak < 250 || safe < 200 {
		t.Errorf("%d weak, %d that look so: want 250 and 200", weak, safe)
	}
	if only := Flows("node", []string{"jwt"}); len(only) != 6 || len(only[0].Cases) != 1 {
		t.Errorf("of one class: %v", only)
	}
}

// Challenges have a weakness each, users with passwords of their own, and most have a variant that only looks weak.
func TestChallenges(t *testing.T) {
	weak, sound := 0, 0
	for _, stack := range []string{"node", "python", "php"} {
		for _, f := range Challenges(stack, nil) {
			for _, c := range f.Cases {
				if len(FlowClasses[c.Class]) == 0 {
					t.Errorf("%s has no CWE", c.Class)
				}
				if c.True {
					weak++
				}
			}
			if f.Variant == "sound" {
				sound++
			}
			for _, user := range f.Users {
				if name, word, _ := strings.Cut(user, ":"); word == "" || f.password(name) != word {
					t.Errorf("%s: the user %s has no password", f.Name(), user)
				}
			}
		}
	}
	if weak < 60 || sound < 55 {
		t.Errorf("%d weak cases, %d applications that look so: want 60 and 55", weak, sound)
	}
	if all := Challenges("python", []string{"race"}); len(all) != 2 || all[0].Users[0] != "sam:Ribbon-3" {
		t.Errorf("of one class: %v", all)
	}
}

// The second, third and fourth sets have names of their own, and each of their sites a variant that is mended.
func TestLaterSets(t *testing.T) {
	taken := map[string]bool{}
	for _, row := range challenges {
		taken[row.app] = true
	}
	for i, set := range []func(string, []string) []Flow{Second, Third, Fourth} {
		own, weak, safe := map[string]bool{}, 0, 0
		for _, stack := range []string{"node", "python", "php"} {
			for _, f := range set(stack, nil) {
				if own[f.App] = true; taken[f.App] {
					t.Errorf("%s is in another set, too", f.App)
				}
				if i == 1 && len(f.Users) == 1 {
					t.Errorf("%s has one user: what is of others needs two", f.Name())
				}
				for _, c := range f.Cases {
					if len(FlowClasses[c.Class]) == 0 || c.Proof == "" || c.Expect == "" {
						t.Errorf("%s %s has no CWE or no proof", f.Name(), c.Class)
					}
					if c.True {
						weak++
					} else {
						safe++
					}
				}
			}
		}
		if want := []int{43, 60, 64}[i]; weak != want || safe != weak {
			t.Errorf("%d weak cases, %d that look so: want %d of each", weak, safe, want)
		}
		for app := range own {
			taken[app] = true
		}
	}
}

func TestAt(t *testing.T) {
	for _, one := range []struct {
		pattern, at string
		want        bool
	}{{"/orders/*", "/orders/1", true}, {"/orders/*", "/orders/1/", true}, {"/orders/*", "/orders", false}, {"/orders/*", "/orders/1/x", false},
		{"/.env", "/xenv", false}, {"/**", "/any/at/all", true}, {"/.git/**", "/.git/HEAD", true}, {"/.git/**", "/git/HEAD", false},
		{"/index.php?page=people", "/index.php?page=people", true}, {"/index.php?page=people", "/index.php?lang=en&page=people", true},
		{"/index.php?page=people", "/?page=people", true}, {"/index.php?page=people", "/index.php?page=peoples", false},
		{"/index.php?page=people", "/index.php", false}, {"/index.php", "/index.php?page=people", true}} {
		if c := (Case{Path: one.pattern}); c.At(one.at) != one.want {
			t.Errorf("%s at %s: %v", one.pattern, one.at, !one.want)
		}
	}
}

// A token is taken from the form before, for a login too; "slow" is an answer that takes two seconds.
func TestProveWithTokens(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.FormValue("token") != "t7" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `<input type="hidden" name="token" value="t7"> by `, r.FormValue("name"))
	}))
	defer server.Close()
	f := Flow{App: "shop", Variant: "low", login: "token /login name word"}
	for proof, want := range map[string][2]string{"anna POST /x token={token}&name=a{quote}": {"by a'", "slow"},
		"- POST /x token={token}": {"^403", "by"}} {
		for i, expect := range want {
			c := Case{Proof: proof, Expect: expect}
			if got, came, err := f.Prove(t.Context(), &c, server.URL); err != nil || got != (i == 0) {
				t.Errorf("%s: %s: %v %s %v", proof, expect, got, came, err)
			}
		}
	}
}

// A proof logs users in, sends what it says with their sessions, and looks at the last answer.
func TestProve(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 2000)
		n, _ := r.Body.Read(body)
		seen = append(seen, fmt.Sprintf("%s %s %s %s %q %s", r.Method, r.URL, r.Host[:4], r.Header.Get("Authorization"), body[:n],
			strings.SplitN(r.Header.Get("Content-Type"), ";", 2)[0]))
		if r.URL.Path == "/login" {
			_ = json.NewEncoder(w).Encode(map[string]string{"token": "t1"})
			return
		}
		w.Header().Set("Location", "/next")
		w.Header().Set("X-Kept", "q7")
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	f := Flow{App: "tokens", Variant: "none", login: "json /login name word"}
	c := Case{Proof: `anna [Host: q7.example] PUT /me {"role":"x"} ; - FILE /up picture q.html image/png <b>q7 ; - GET /x?s={b64:a b}`, Expect: "^302 .*\nLocation: /next"}
	got, came, err := f.Prove(t.Context(), &c, server.URL)
	if err != nil || !got {
		t.Fatal(got, came, err)
	}
	want := []string{`POST /login 127. ` + ` "{\"name\":\"anna\",\"word\":\"anna-Pass1\"}" application/json`,
		`PUT /me q7.e Bearer t1 "{\"role\":\"x\"}" application/json`, `POST /up 127.`, `GET /x?s=YSBi 127.  "" `}
	for i := range want {
		if len(seen) != len(want) || !strings.HasPrefix(seen[i], want[i]) {
			t.Fatalf("%q\nwant %q", seen, want)
		}
	}
	if !strings.Contains(seen[2], `filename=\"q.html\"`) || !strings.Contains(seen[2], "<b>q7") || !strings.HasSuffix(seen[2], "multipart/form-data") {
		t.Errorf("the file: %s", seen[2])
	}
	c.Proof, c.Expect = "- GET /x", "head: (?m)^X-Kept: q7"
	if got, came, err := f.Prove(t.Context(), &c, server.URL); err != nil || !got {
		t.Error("the headers:", came, err)
	}
	c.Expect = "^200"
	if got, _, err := f.Prove(t.Context(), &c, server.URL); got || err != nil {
		t.Error("it shows what it does not show:", err)
	}
}

// A request is sent twice at once, a code of one answer is sent by another user, and a state is sent with another text.
func TestProveWithWhatAnswersHave(t *testing.T) {
	both := make(chan bool, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/twice":
			both <- true
			for len(both) < 2 && r.Context().Err() == nil {
				runtime.Gosched()
			}
			fmt.Fprint(w, "two")
		case "/code":
			w.Header().Set("Location", "/back?code=c7")
		case "/number":
			w.Header().Set("Location", "/kept/12")
		case "/enter":
			fmt.Fprint(w, `{"access_token": "t-9"} <input type="hidden" name="csrf" value="c9">`)
		case "/list":
			fmt.Fprint(w, `0b0e1d9c-7f0a-4f2e-8d4e-000000000001 0b0e1d9c-7f0a-4f2e-8d4e-000000000002 `, r.Header.Get("Authorization"))
		case "/form":
			fmt.Fprint(w, `<input type="hidden" name="view" value="`+base64.StdEncoding.EncodeToString([]byte(`{"plan":"basic"}`))+`.seal">`)
		default:
			state, _, _ := strings.Cut(r.FormValue("view"), ".")
			plain, _ := base64.StdEncoding.DecodeString(state)
			fmt.Fprintf(w, "%s %s", r.URL.Path, plain)
		}
	}))
	defer server.Close()
	f := Flow{App: "kiosk", Variant: "weak"}
	for proof, want := range map[string]string{"- TWICE POST /twice a=b": "two", "-1 GET /code ; -2 GET /x{code}": "/xc7",
		"-1 GET /number ; -2 GET /x{code}":                 "/x12",
		"- POST /enter a=b ; - GET /list":                  "Bearer t-9",
		"- GET /list ; - GET /x{uuid}":                     "/x0b0e1d9c-7f0a-4f2e-8d4e-000000000002",
		"- POST /enter a=b ; - GET /x{hidden:csrf}":        "/xc9",
		"- GET /form ; - POST /y view={state:basic=gold0}": `/y {"plan":"gold0"}`} {
		c := Case{Proof: proof, Expect: want}
		if got, came, err := f.Prove(t.Context(), &c, server.URL); err != nil || !got {
			t.Errorf("%s: %v %s %v", proof, got, came, err)
		}
	}
}
