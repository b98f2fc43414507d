package sitemap_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// A list with filters that are words, each page of which links to more combinations of them and to what came since now,
// is followed until each word is known. What another word chooses is another page.
func TestFiltersEnd(t *testing.T) {
	for name, c := range map[string]struct {
		names  string // of the filters, each of which has four words
		link   string // one more on each page; %d is another time each time
		single string // what only one page links to
	}{
		"changes of a wiki": {"level tag days target", "level=level-0&since=%d&text=02:45,+28+Nov+%d", "level=level-2&tag=tag-1"},
		"a shop":            {"color size brand sort", "brand=brand-0&stamp=%d", "color=color-3&size=size-3"},
	} {
		var clock atomic.Int64
		clock.Store(20261128024219)
		m, asked := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/" {
				fmt.Fprint(w, "<a href='/list?kind=main'>l</a><a href='/list?kind=other'>o</a>")
				return
			}
			if r.URL.Query().Get("kind") == "other" {
				fmt.Fprint(w, "<table><tr><td>o</table><a href='/list?kind=other&"+c.single+"'>s</a>")
				return
			}
			for filter := range strings.FieldsSeq(c.names) {
				for i := range 4 {
					more := r.URL.Query()
					more.Set(filter, fmt.Sprintf("%s-%d", filter, i))
					fmt.Fprintf(w, "<a href='/list?%s'>x</a>", more.Encode())
				}
			}
			fmt.Fprint(w, "<a href='/list?kind=main&"+strings.ReplaceAll(c.link, "%d", fmt.Sprint(clock.Add(1)))+"'>n</a>")
		}))
		if len(asked) > 400 || m.Skipped["other combinations of its parameters were fetched"] == 0 {
			t.Errorf("%s: %d requests, %v", name, len(asked), m.Skipped)
		}
		has(t, asked, "GET /list?kind=other", "GET /list?kind=other&"+c.single)
	}
}

// A login that stands in place of each page, with the page to go to, is one request; logins of two kinds are two.
func TestLoginsInPlaceOfPages(t *testing.T) {
	for name, c := range map[string]struct {
		field  string
		values []string
		want   int
	}{
		"routes":  {"route", []string{"/table/sql", "/table/chart", "/import", "/sql"}, 1},
		"pages":   {"page", []string{"area/one.php", "area/two.php"}, 1},
		"kinds":   {"type", []string{"member", "staff"}, 2},
		"actions": {"action", []string{"enter", "start"}, 2},
	} {
		m, _ := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/" {
				for _, value := range c.values {
					fmt.Fprintf(w, "<a href='/index.php?%s=%s'>p</a>", c.field, value)
				}
				return
			}
			if r.URL.Path != "/index.php" && r.URL.Path != "/enter" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprintf(w, "<form method=post action=/enter><input type=hidden name=%s value='%s'><input name=user>"+
				"<input type=password name=pw></form>", c.field, r.FormValue(c.field))
		}))
		got := 0
		for _, line := range lines(m) {
			if strings.HasPrefix(line, "POST /enter ") {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d logins, want %d: %q", name, got, c.want, lines(m))
		}
	}
}
