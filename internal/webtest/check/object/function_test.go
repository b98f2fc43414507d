package object

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var productOf = regexp.MustCompile(`^function\(\)\{return (\d+)\*(\d+)\}\(\)$`)

// A function that is called when an object is read is found, in JSON and in Base64 of it; not one that stays a text,
// nor the result of an application that computes what looks so anywhere.
func TestFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		called func(text string) (function string, ok bool)
		want   int
	}{
		"called":          {func(s string) (string, bool) { return strings.CutPrefix(s, "_$$ND_FUNC$$_") }, 1},
		"a text":          {func(string) (string, bool) { return "", false }, 0},
		"computes always": {func(s string) (string, bool) { return s[strings.LastIndex(s, "_")+1:], true }, 0},
	} {
		for _, coded := range []bool{false, true} {
			lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text := r.FormValue("state")
				if plain, err := base64.StdEncoding.DecodeString(text); err == nil && coded {
					text = string(plain)
				}
				var state struct{ City string }
				_ = json.Unmarshal([]byte(text), &state)
				w.Header().Set("Content-Type", "text/html")
				function, ok := c.called(state.City)
				if m := productOf.FindStringSubmatch(function); ok && m != nil {
					a, _ := strconv.Atoi(m[1])
					b, _ := strconv.Atoi(m[2])
					state.City = strconv.Itoa(a * b)
				}
				fmt.Fprintf(w, "<p>Trains from %s</p>", state.City)
			}))
			value := `{"city":"Bergen"}`
			if coded {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			target := lab.Target(t, http.MethodGet, "/?"+url.Values{"state": {value}}.Encode(), "")
			var members []message.Place
			for _, p := range target.Places {
				members = append(members, p.Members()...)
			}
			target.Places = members
			found := lab.Run(t, serialised(), target)
			if len(members) == 0 || len(found) != c.want {
				t.Errorf("%s: %s", name, kittest.Titles(found))
			}
			for _, f := range found {
				lab.Holds(t, f)
			}
		}
	}
}
