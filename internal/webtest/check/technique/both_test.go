package technique

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// enters says whether a filter finds somebody: its parts must all match, and what is no filter is an error.
func enters(filter string) (bool, error) {
	person := map[string]string{"uid": "anna", "pin": "4711", "objectClass": "person"}
	rest, ok := strings.CutPrefix(filter, "(&(")
	rest, closed := strings.CutSuffix(rest, "))")
	if !ok || !closed {
		return false, fmt.Errorf("no filter: %s", filter)
	}
	in := true
	for part := range strings.SplitSeq(rest, ")(") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || strings.ContainsAny(part, "()") {
			return false, fmt.Errorf("no part of a filter: %s", part)
		}
		has, isKnown := person[name]
		fits, _ := path.Match(value, has)
		in = in && isKnown && fits
	}
	return in, nil
}

// login is a login by a directory that refuses wrong passwords with 401. A sound one escapes.
func login(sound bool, name, secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fields := map[string]string{name: r.FormValue(name), secret: r.FormValue(secret)}
		if strings.Contains(r.Header.Get("Content-Type"), "json") {
			_ = json.NewDecoder(r.Body).Decode(&fields) // what is no JSON has no values
		}
		escape := strings.NewReplacer()
		if sound {
			escape = strings.NewReplacer("(", `\28`, ")", `\29`, "*", `\2a`)
		}
		in, err := enters("(&(uid=" + escape.Replace(fields[name]) + ")(pin=" + escape.Replace(fields[secret]) + "))")
		switch {
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
		case !in:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("<p>Name and PIN do not match.</p>"))
		default:
			_, _ = w.Write([]byte("<p>Welcome. You have no messages.</p>"))
		}
	})
}

// A login that counts wrong passwords is let alone once it says so, and that is told.
func TestLoginsThatCount(t *testing.T) {
	sent := 0
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if sent++; sent > 9 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	target := lab.Target(t, http.MethodPost, "/signon", "user=zoe&password=x1y2z3")
	for _, c := range Checks() {
		lab.Run(t, c, target)
	}
	if sent > 12 || len(lab.Skipped()) == 0 {
		t.Errorf("%d requests, not tested: %v", sent, lab.Skipped())
	}
}

// Of a login that refuses, what is beside its fields is not tested.
func TestBesideALogin(t *testing.T) {
	lab := kittest.New(t, login(true, "uid", "pin"))
	target := lab.Target(t, http.MethodPost, "/signon", "uid=zoe&pin=1234")
	target.Places = []message.Place{{Component: message.Header, Name: "User-Agent", Value: "Mozilla/5.0"}}
	for _, c := range Checks() {
		lab.Run(t, c, target)
	}
	if sent := lab.Sent.Load(); sent > 5 { // the target, its base, and the reaction of the place
		t.Errorf("%d requests for a header", sent)
	}
}

// A login whose filter has both values is found, of a form and of JSON, though it refuses with 401; a sound one is not.
func TestBothValuesOfALogin(t *testing.T) {
	ldap := only(sets()[slices.IndexFunc(sets(), func(s *Set) bool { return s.ID == "ldap" })])
	for _, c := range []struct {
		sound              bool
		name, secret, body string
		want               int
	}{
		{false, "uid", "pin", "uid=zoe&pin=1234", 1},
		{false, "member", "password", `{"member":"zoe","password":"x1y2z3"}`, 1},
		{true, "uid", "pin", "uid=zoe&pin=1234", 0},
	} {
		lab := kittest.New(t, login(c.sound, c.name, c.secret))
		found := lab.Run(t, ldap, lab.Target(t, http.MethodPost, "/signon", c.body))
		if len(found) != c.want {
			t.Fatalf("%s: %d findings, want %d", c.body, len(found), c.want)
		}
		for _, f := range found {
			if f.Variant != "both" || f.Place.Name != c.secret || strings.Contains(string(f.Request.Body), "zoe") {
				t.Errorf("%s: by %s in %s: %s", c.body, f.Variant, f.Place.Name, f.Request.Body)
			}
			holds(t, lab, f)
		}
	}
}
