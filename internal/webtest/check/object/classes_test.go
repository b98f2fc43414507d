package object

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// An application that puts its own value in the place of what it cannot use shows nothing of how it reads.
func TestObjectsOfClasses(t *testing.T) {
	object := regexp.MustCompile(`O:\d+:"(\w+)":0:\{\}`)
	for name, c := range map[string]struct {
		value  string
		status func(value, class string) int // of an object in the value; 200 for none
		found  bool
	}{
		"any class": {`a:1:{s:5:"theme";s:5:"light";}`, func(_, class string) int {
			return map[bool]int{true: 500, false: 200}[class == "DateTime" || class == "DateTimeZone"]
		}, true},
		"a text alone, page ends": {`s:5:"light";`, func(_, class string) int {
			return map[bool]int{true: 204, false: 200}[class == "DateTime" || class == "DateTimeZone"]
		}, true},
		"no class is allowed": {`a:1:{s:5:"theme";s:5:"light";}`, func(string, string) int { return 200 }, false},
		"every object is refused": {`a:1:{s:5:"theme";s:5:"light";}`, func(_, class string) int {
			return map[bool]int{true: 400, false: 200}[class != ""]
		}, false},
		"one class is refused by its name": {`a:1:{s:5:"theme";s:5:"light";}`, func(_, class string) int {
			return map[bool]int{true: 403, false: 200}[class == "DateTime"]
		}, false},
	} {
		for _, coded := range []bool{false, true} {
			lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				value := r.FormValue("state")
				if plain, err := base64.StdEncoding.DecodeString(value); err == nil && coded {
					value = string(plain)
				}
				class := ""
				if m := object.FindStringSubmatch(value); m != nil {
					class = m[1]
				}
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(c.status(value, class))
				fmt.Fprint(w, "<p>Nothing is new today.</p>")
			}))
			value := c.value
			if coded {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			found := lab.Run(t, serialised(), lab.Target(t, http.MethodGet, "/?"+url.Values{"state": {value}}.Encode(), ""))
			if len(found) > 0 != c.found || c.found && found[0].Confidence != kit.Proved {
				t.Errorf("%s: %s", name, kittest.Titles(found))
			}
			for _, f := range found {
				lab.Holds(t, f)
			}
		}
	}
}

// An application that reads objects of PHP is found where it makes them of any class, not where it makes its own alone.
func TestListsOfClasses(t *testing.T) {
	text := regexp.MustCompile(`[sS]:0?5:"(?:\\6f|o)rder";s:5:"(\w+)"`)
	members := regexp.MustCompile(`^(?:O:4:"View"|a):(\d):\{(.*)\}$`)
	cannot := regexp.MustCompile(`O:\d+:"(?:DateTime|DateTimeZone)":0:\{\}`)
	for name, c := range map[string]struct {
		value string
		any   bool
		want  int
	}{
		"an object, any class":   {`O:4:"View":1:{s:5:"order";s:5:"price";}`, true, 1},
		"an object, its class":   {`O:4:"View":1:{s:5:"order";s:5:"price";}`, false, 0},
		"a list, any class":      {`a:1:{s:5:"order";s:5:"price";}`, true, 1},
		"a list without objects": {`a:1:{s:5:"order";s:5:"price";}`, false, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			value, order := r.FormValue("view"), "name"
			if cannot.MatchString(value) && c.any {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			more := cannot.ReplaceAllString(value, "N;")
			if all := members.FindStringSubmatch(more); all != nil {
				if m := text.FindStringSubmatch(all[2]); m != nil {
					order = m[1]
				}
			}
			fmt.Fprintf(w, "<p>Seeds by %s</p>", order)
		}))
		found := lab.Run(t, serialised(), lab.Target(t, http.MethodGet, "/?"+url.Values{"view": {c.value}}.Encode(), ""))
		if len(found) != c.want {
			t.Errorf("%s: %s, want %d", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
