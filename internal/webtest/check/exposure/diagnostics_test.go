package exposure

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// Pages that tell of the machine are found at whatever address, for users alone as well. Not articles about such pages,
// forms for variables of a build, or a site that answers all addresses alike.
func TestDiagnostics(t *testing.T) {
	const php = `<h2>PHP Version 8.2.7</h2><table><tr><td>System</td><td>Linux</td></tr><tr><td>$_SERVER['DOCUMENT_ROOT']</td><td>/srv</td></tr></table>`
	for name, c := range map[string]struct {
		path, kind, body string
		user, all        bool // it is for users alone; it is the answer to all addresses
		want             int
	}{
		"phpinfo, for users":      {"/about/server.php", "text/html", php, true, false, 1},
		"phpinfo, version apart":  {"/i.php", "text/html", `<td>PHP Version </td><td>8.2.7</td> Loaded Configuration File`, false, false, 1},
		"environment as JSON":     {"/debug", "application/json", `{"env":{"PATH":"/usr/local/bin:/usr/bin","HOME":"/root","LANG":"C"}}`, true, false, 1},
		"environment as a table":  {"/health/full", "text/html", `<tr><td>PATH</td><td>/usr/bin:/bin</td></tr><tr><td>HOSTNAME</td><td>web-3</td></tr>`, false, false, 1},
		"properties of Java":      {"/status", "text/plain", "java.vm.version=17.0.2\nuser.dir=/opt/app\n", false, false, 1},
		"a usual address, to all": {"/phpinfo.php", "text/html", php, false, false, 0},
		"a usual address, users":  {"/phpinfo.php", "text/html", php, true, false, 1},
		"an article":              {"/blog/7", "text/html", "<p>We moved to PHP Version 8.2.7 this week.</p>", false, false, 0},
		"an article that quotes":  {"/blog/8", "text/html", "<p>It says</p><pre>PHP Version 8.2.7 … $_SERVER['PATH']</pre>", false, false, 0},
		"an article about paths":  {"/blog/9", "text/html", "<p>Set PATH to where your tools are, and HOME stays.</p>", false, false, 0},
		"all addresses":           {"/status", "text/plain", "java.vm.version=17.0.2\nuser.dir=/opt/app\n", false, true, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := r.Cookie("user")
			switch {
			case r.URL.Path != c.path && !c.all:
				http.NotFound(w, r)
			case c.user && err != nil:
				http.Error(w, "log in", http.StatusForbidden)
			default:
				w.Header().Set("Content-Type", c.kind)
				_, _ = w.Write([]byte(c.body))
			}
		}))
		target := lab.Target(t, http.MethodGet, c.path, "")
		target.User = lab.As(t, "alice")
		lab.World.Users = append(lab.World.Users, target.User)
		var err error
		if target.Response, err = lab.World.Ask(t.Context(), target.Request, target.User); err != nil {
			t.Fatal(err)
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "diagnostics"), target)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
