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
