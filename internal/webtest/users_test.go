package webtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// office shows a page with an input to its manager alone, and hides it from others; both have a file of their own.
func office(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	who := ""
	if k, err := r.Cookie("who"); err == nil {
		who = k.Value
	}
	switch {
	case r.URL.Path == "/" && who == "boss":
		fmt.Fprint(w, `<p>Hello boss</p><a href="/reports?text=a">Reports</a> <a href="/files/202">file</a>`)
	case r.URL.Path == "/" && who != "":
		fmt.Fprint(w, `<p>Hello clerk</p><a href="/files/101">file</a>`)
	case r.URL.Path == "/reports" && who == "boss":
		fmt.Fprint(w, "<h1>"+r.URL.Query().Get("text")+"</h1>")
	case strings.HasPrefix(r.URL.Path, "/files/") && who != "":
		fmt.Fprint(w, "<ul><li>paper</li></ul>")
	case r.URL.Path == "/":
		fmt.Fprint(w, "<form>log in</form>")
	default:
		w.WriteHeader(http.StatusForbidden)
	}
}

// What only the second user is shown is mapped, and tested as that user; their objects are known to tests of access, and
// are not tested again.
func TestPagesOfAnotherUserAreTested(t *testing.T) {
	clerk, boss := session.Account{Name: "clerk", Cookie: "who=clerk"}, session.Account{Name: "boss", Cookie: "who=boss"}
	for _, accounts := range [][]session.Account{{clerk, boss}, {boss, clerk}} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Accounts: accounts}, office))
		if err != nil {
			t.Fatal(err)
		}
		if got := places(report); !slices.Contains(got, "echo GET /reports query parameter text") {
			t.Errorf("%s first: %q", accounts[0].Name, got)
		}
		if n := len(report.Map.Others); n != 1 {
			t.Errorf("%s first: %d objects of others", accounts[0].Name, n)
		}
	}
}
