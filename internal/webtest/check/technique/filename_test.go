package technique

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The name of a file that must end as pictures do is a template, and so is one without such a rule; a name that is shown
// as it is is none.
func TestNamesOfFilesAreTemplates(t *testing.T) {
	product := regexp.MustCompile(`\$\{(\d+)\*(\d+)\}`)
	computed := func(name string) string {
		return product.ReplaceAllStringFunc(name, func(s string) string {
			m := product.FindStringSubmatch(s)
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			return strconv.Itoa(a * b)
		})
	}
	for name, c := range map[string]struct {
		shows  func(string) string
		ending string
		want   int
	}{
		"pictures":    {computed, ".png", 1},
		"any name":    {computed, "", 1},
		"as it is":    {func(s string) string { return s }, ".png", 0},
		"none may be": {computed, ".gif", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, head, err := r.FormFile("shot")
			if err != nil || !strings.HasSuffix(head.Filename, c.ending) {
				fmt.Fprint(w, "<p>not this kind of file</p>")
				return
			}
			fmt.Fprint(w, "<p>we have ", html.EscapeString(c.shows(head.Filename)), "</p>")
		}))
		target := lab.Target(t, http.MethodPost, "/in", "x=1")
		target.Request.Header.Set("Content-Type", "multipart/form-data; boundary=xYz")
		target.Request.Body = []byte(message.EncodeMultipart([]message.Part{
			{Name: "shot", FileName: "vedette.png", Type: "image/png", Content: "x"}}, "xYz"))
		target.Places = message.Places(target.Request)
		got := 0
		for _, s := range sets() {
			if s.ID == "template" {
				for _, f := range lab.Run(t, only(s), target) {
					got++
					lab.Holds(t, f)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %d findings, want %d", name, got, c.want)
		}
	}
}
