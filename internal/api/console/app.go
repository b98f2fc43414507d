package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The console is one page with scripts, which make from web/ writes into dist. It has its own addresses for its views
// and
// reads the public APIs with the session of the browser.

//go:embed all:dist
var dist embed.FS

// appPolicy lets the page run its own script and style files, ask this server and nothing else, and be framed by
// nobody.
// No script can turn text into markup: there is no policy of trusted types.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// appPaths are the addresses of the console's views.
var appPaths = regexp.MustCompile(
	`^/(login|tasks|scans|findings|assets|enumerations|templates|cves|network|knowledge|agents|reports|settings|` +
		`inbox|triage|reference)?(/[^/]{1,200})?$`,
)

// filesPath is where the page finds its files; /assets is a view.
const filesPath = "/console/"

// media are the types of files, the same on every machine.
var media = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// file is one of the page's files, as it is sent.
type file struct {
	plain, packed []byte // packed: gzip; nil where that is no smaller
	media, etag   string
}

// appFiles reads the files when the first of them is asked for.
var appFiles = sync.OnceValues(func() (map[string]file, error) {
	all := map[string]file{}
	err := fs.WalkDir(dist, "dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		f := file{plain: text, media: media[path.Ext(name)], etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if b.Len() < len(text) {
			f.packed = b.Bytes()
		}
		all[strings.TrimPrefix(name, "dist/")] = f
		return nil
	})
	return all, err
})

// app has the console's page at all of its addresses, and its files.
func (p pages) app(mux *http.ServeMux) {
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		name, isFile := strings.CutPrefix(r.URL.Path, filesPath)
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case reads && isFile && name != "index.html":
			p.serve(w, r, name)
		case reads && appPaths.MatchString(r.URL.Path):
			p.serve(w, r, "index.html")
		default:
			show(w, http.StatusNotFound, "missing.html", view{})
		}
	})
}

// serve sends a file. Its name says nothing of its content, so browsers ask each time whether it is still the same.
func (p pages) serve(w http.ResponseWriter, r *http.Request, name string) {
	files, err := appFiles()
	if err != nil { // the same in every process of this version
		p.failed(w, r, "missing.html", view{}, errs.From(err))
		return
	}
	f, ok := files[name]
	if !ok {
		show(w, http.StatusNotFound, "missing.html", view{})
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Content-Security-Policy", appPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.etag)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}
