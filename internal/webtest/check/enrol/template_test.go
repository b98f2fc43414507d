package enrol

import (
	"html"
	"regexp"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// engine computes the products between its marks.
func engine(pattern string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(name string) string {
		return re.ReplaceAllStringFunc(name, func(s string) string {
			m := re.FindStringSubmatch(s)
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			return strconv.Itoa(a * b)
		})
	}
}

// A name that is part of a template is found, whatever its marks are; not one that is shown, one that is refused, nor one
// whose numbers are computed without marks.
func TestTemplateOfNames(t *testing.T) {
	for name, c := range map[string]struct {
		app  *club
		want int
	}{
		"two braces":       {&club{greets: engine(`\{\{(\d+)\*(\d+)\}\}`)}, 1},
		"percent signs":    {&club{greets: engine(`<%=(\d+)\*(\d+)%>`)}, 1},
		"shown":            {&club{greets: html.EscapeString}, 0},
		"letters alone":    {&club{greets: engine(`\{\{(\d+)\*(\d+)\}\}`), no: "{<"}, 0},
		"without any mark": {&club{greets: engine(`(\d+)\D+(\d+)`)}, 0},
	} {
		l := lab(t, c.app, "login=&secret=")
		before := l.Sent.Load()
		found := l.Run(t, templateOfNames(), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		if len(found) > 0 && found[0].Place.Name != "login" {
			t.Errorf("%s: at %s", name, found[0].Place)
		}
		if sent := l.Sent.Load() - before; name == "shown" && sent > 12 { // three users, and three pages for each
			t.Errorf("%d requests where names are text", sent)
		}
	}
}
