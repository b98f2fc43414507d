package refusal

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// A login of HTTP that a well-known password opens is found where such may be tried; not one that anything opens, nor one
// that nothing does.
func TestUsualPasswordsOfHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		opens   func(name, password string) bool
		guesses bool
		want    int
	}{
		"well known":      {func(n, p string) bool { return n == "tomcat" && p == "tomcat" }, true, 1},
		"not to be tried": {func(n, p string) bool { return n == "tomcat" && p == "tomcat" }, false, 0},
		"any of a name":   {func(n, _ string) bool { return n == "admin" }, true, 0},
		"anything":        {func(n, _ string) bool { return n != "" }, true, 0},
		"its own":         {func(_, p string) bool { return p == "k8-Jz-1" }, true, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, password, _ := r.BasicAuth()
			if !c.opens(name, password) {
				w.Header().Set("WWW-Authenticate", `Basic realm="console"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, "<p>console</p>")
		}))
		lab.World.Defaults = c.guesses
		found := lab.Run(t, usual(), lab.Target(t, http.MethodGet, "/console/", ""))
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
		if (len(lab.Skipped()) > 0) == c.guesses {
			t.Errorf("%s: skipped %v", name, lab.Skipped())
		}
	}
}
