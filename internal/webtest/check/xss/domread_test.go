package xss

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// Without a browser what scripts write is read out of them: of the fragment, of parameters that they name, and of routes.
func TestDOMWithoutBrowser(t *testing.T) {
	for name, c := range map[string]struct {
		page, script, policy string
		found                bool
		confidence           kit.Confidence
	}{
		"the fragment": {page: "<p id=a></p><script>a.innerHTML = decodeURIComponent(location.hash.slice(1))</script>",
			found: true, confidence: kit.Proved},
		"a parameter that the script names": {page: `<select id=s></select><script>var at = location.href.indexOf("lang=");
			if (at >= 0) document.write("<option value='" + decodeURIComponent(location.href.substring(at + 5)) + "'>")</script>`,
			found: true, confidence: kit.Proved},
		"a parameter of the page": {page: "<p id=a></p><script>document.getElementById('a').innerHTML = " +
			"new URLSearchParams(location.search).get('q')</script>", found: true, confidence: kit.Proved},
		"a route of a script": {page: "<p id=a></p><script src=/app.js></script>", script: "const v = {hello(n) { a.innerHTML = " +
			"decodeURIComponent(n) }}; const [, w, n] = location.hash.split('/'); if (v[w]) v[w](n); else a.innerHTML = " +
			"\"<a href='#/hello/you'>\"", found: true, confidence: kit.Proved},
		"a policy": {page: "<p id=a></p><script>a.innerHTML = decodeURIComponent(location.hash.slice(1))</script>",
			policy: "default-src 'self'", found: true, confidence: kit.Probable},
		"as text": {page: "<p id=a></p><script>a.textContent = decodeURIComponent(location.hash.slice(1))</script>"},
		"checked": {page: "<p id=a></p><script>var v = new URLSearchParams(location.search).get('q');" +
			"if (/^\\w+$/.test(v)) a.innerHTML = v</script>"},
		"refused by the server": {page: "<p id=a></p><script>document.getElementById('a').innerHTML = " +
			"new URLSearchParams(location.search).get('q')</script>", policy: "refuse"},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/app.js":
				w.Header().Set("Content-Type", "text/javascript")
				fmt.Fprint(w, c.script)
				return
			case c.policy == "refuse" && strings.Contains(r.FormValue("q"), "<"):
				http.Redirect(w, r, "/?q=a", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			if c.policy != "refuse" {
				w.Header().Set("Content-Security-Policy", c.policy)
			}
			fmt.Fprint(w, "<html><body>"+c.page+"</body></html>")
		}))
		found := lab.Run(t, Checks()[2], lab.Target(t, http.MethodGet, "/?q=a", ""))
		if len(found) > 0 != c.found || c.found && found[0].Confidence != c.confidence {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			if c.script == "" { // what stands elsewhere needs a browser to be proved again
				lab.Holds(t, f)
			}
		}
	}
}
