package xss

import (
	"fmt"
	"html"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The page for an address that is not known runs a script of that address, of the whole site or of one folder. It is
// not reported where the address is escaped, as it was sent, shown as text, or known.
func TestMissingPages(t *testing.T) {
	plain := func(r *http.Request) string { return r.URL.Path }
	for name, c := range map[string]struct {
		folder string
		show   func(r *http.Request) string
		kind   string
		status int
		want   int
	}{
		"the site":   {"/", plain, "text/html", http.StatusNotFound, 1},
		"a folder":   {"/shop/", plain, "text/html", http.StatusNotFound, 1},
		"an error":   {"/", plain, "text/html", http.StatusInternalServerError, 1},
		"escaped":    {"/", func(r *http.Request) string { return html.EscapeString(r.URL.Path) }, "text/html", http.StatusNotFound, 0},
		"as sent":    {"/", func(r *http.Request) string { return r.URL.EscapedPath() }, "text/html", http.StatusNotFound, 0},
		"plain text": {"/", plain, "text/plain", http.StatusNotFound, 0},
		"the layout": {"/", func(*http.Request) string { return "Not here" }, "text/html", http.StatusNotFound, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" || r.URL.Path == "/shop/list" {
				fmt.Fprint(w, "<p>Welcome</p>")
				return
			}
			shown := "Nothing here"
			if strings.HasPrefix(r.URL.Path, c.folder) {
				shown = c.show(r)
			}
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<h1>There is no %s</h1>", shown)
		}))
		target := lab.Target(t, http.MethodGet, "/shop/list", "")
		lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request} }
		before := lab.Sent.Load()
		found := lab.Run(t, missingPages(), target)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		if sent := lab.Sent.Load() - before; name == "the layout" && sent != 2 {
			t.Errorf("%d requests for a site that names no address", sent)
		}
		for _, f := range found {
			if f.Confidence != kit.Proved {
				t.Errorf("%s: %s", name, f.Confidence)
			}
			lab.Holds(t, f)
		}
	}
}

// The name of a file that is left is listed: it must keep its ending to be taken, and servers take away what stands
// before a slash.
func TestStoredNamesOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		name func(string) string
		show func(string) string
		want int
	}{
		"weak":          {filepath.Base, same, 1},
		"with its path": {same, same, 1},
		"escaped":       {filepath.Base, html.EscapeString, 0},
		"its own name":  {func(n string) string { return "upload" + filepath.Ext(n) }, same, 0},
	} {
		var kept []string
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodGet {
				for _, one := range kept {
					fmt.Fprintf(w, "<li>%s, in review</li>", c.show(one))
				}
				return
			}
			parts, err := r.MultipartReader()
			if err != nil {
				t.Fatal(err)
			}
			part, err := parts.NextPart()
			if err != nil {
				http.Error(w, "no file", http.StatusBadRequest)
				return
			}
			_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			file := c.name(params["filename"]) // part.FileName would take the path away
			if !strings.HasSuffix(file, ".png") {
				http.Error(w, "pictures only", http.StatusUnsupportedMediaType)
				return
			}
			kept = append(kept, file)
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}))
		r, err := message.New(http.MethodPost, lab.URL+"/")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte("--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nP\r\n--b--\r\n")
		list, err := message.New(http.MethodGet, lab.URL+"/")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{r, list} }
		lab.Run(t, Checks()[0], &kit.Target{Request: r, Places: message.Places(r)})
		found := lab.Run(t, stored(), nil)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
