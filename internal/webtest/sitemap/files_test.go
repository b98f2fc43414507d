package sitemap_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Addresses in XML are written with entities; those in a text are not.
func TestAddressesInXML(t *testing.T) {
	for name, c := range map[string]struct{ file, kind, text, want string }{
		"a search": {"/search.xml", "application/opensearchdescription+xml",
			`<Url type="text/html" template="http://%s/find?in=all&amp;q=red"/>`, "GET /find?in=all&q=red"},
		"a feed": {"/feed.xml", "text/xml", `<link>http://%s/entry?id=7&#38;part=2</link>`, "GET /entry?id=7&part=2"},
		"a text": {"/notes.txt", "text/plain", "see http://%s/old?a=1&amp;b=2", "GET /old?a=1&amp;b=2"},
	} {
		_, asked := crawl(t, client.Config{}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<a href=%s>f</a>", c.file)
			case c.file:
				w.Header().Set("Content-Type", c.kind)
				fmt.Fprintf(w, c.text, r.Host)
			default:
				http.NotFound(w, r)
			}
		}))
		t.Log(name)
		has(t, asked, c.want)
	}
}
