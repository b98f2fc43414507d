package exposure

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

//go:embed old-files.yaml
var oldFilesText []byte

//go:embed climbs.yaml
var climbsText []byte

//go:embed files.yaml
var filesText []byte

var oldNames = kit.List(oldFilesText)

// file is a file that is looked for.
type file struct {
	path, about string
	is, needs   *regexp.Regexp
}

var knownFiles = sync.OnceValue(func() (all []file) {
	value, err := yamltext.Value(filesText)
	if err != nil {
		panic(err) // it is ours
	}
	for _, entry := range value.([]any) { //nolint:forcetypeassert // it is ours
		fields := entry.(map[string]any) //nolint:forcetypeassert // it is ours
		text := func(name string) string { s, _ := fields[name].(string); return s }
		all = append(all, file{text("path"), text("about"),
			regexp.MustCompile(text("is")), regexp.MustCompile(text("needs"))})
	}
	return all
})

// get asks for a path of a host as nobody.
func get(ctx context.Context, w *kit.World, at *url.URL, to string) (*message.Response, error) {
	r := message.From(http.MethodGet, at)
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = to, "", ""
	return w.Ask(ctx, r, nil)
}

// exists is the proof of a file: its content, and none under a random name of the same form.
func exists(r, missing *message.Request, content string) *proof.Program {
	p := &proof.Program{About: "The file is there, and a random name of the same form is not.", Steps: []proof.Step{
		{ID: "file", Send: r, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
		{ID: "missing", Send: missing, Expect: []proof.Expect{{What: proof.Status, Value: "200", Not: true}}},
	}}
	if content != "" {
		p.Steps[0].Expect = append(p.Steps[0].Expect, proof.Expect{What: proof.Matches, Value: content})
		p.Steps[1].Expect = []proof.Expect{{What: proof.Matches, Value: content, Not: true}}
	}
	return p
}

// files is the check for files that are not for visitors, in the root of a host.
func files() kit.Check {
	c := kit.Check{ID: "exposed-file", Class: "exposed-file", Level: client.Safe}.Describe()
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		for _, f := range knownFiles() {
			answer, err := get(ctx, w, root, f.path)
			if err != nil {
				return err
			}
			match := f.is.Find(answer.Body)
			if answer.Status != http.StatusOK || match == nil || !f.needs.Match(answer.Body) {
				continue
			}
			control, err := get(ctx, w, root, sibling(f.path))
			if err != nil {
				return err
			}
			if f.is.Match(control.Body) {
				continue
			}
			w.Found(&c, kit.Finding{Request: answer.Request, Detail: f.about, Payload: f.path,
				Evidence: []kit.Evidence{
					{Request: answer.Request, Response: answer, Match: hide(string(match[:min(len(match), 200)])), Note: f.about},
					{Request: control.Request, Response: control, Note: "a random name does not bring it"},
				}, Proof: exists(answer.Request, control.Request, f.is.String())})
		}
		return nil
	}
	return c
}

// sibling is a random path of the same form.
func sibling(p string) string {
	dir, base := path.Split(p)
	ext := path.Ext(base)
	if ext == base {
		ext = ""
	}
	prefix := ""
	if strings.HasPrefix(base, ".") {
		prefix = "."
	}
	return dir + prefix + kit.Word() + ext
}

var program = regexp.MustCompile(`(?i)\.(php\d?|phtml|jsp|jspx|jsf|do|action|asp|aspx|ashx|cfm|cgi|pl|py|rb|inc|html?|shtml|js|xml|json|conf|sql)$`)

// maxOld are how many files of a host old copies are looked for of.
const maxOld = 150

// oldFiles is the check for copies of files beside them. Names whose form the folder answers always are left out.
func oldFiles() kit.Check {
	c := kit.Check{ID: "old-file", Class: "old-file", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		at := t.Request.URL
		key := "old " + at.Host + at.Path
		if !program.MatchString(at.Path) || t.Response == nil || t.Response.Status >= 400 || !w.Once(key) {
			return nil
		}
		n, _ := w.Memo.LoadOrStore("old files "+at.Host, &counter{})
		if n.(*counter).next() > maxOld { //nolint:forcetypeassert // it is stored here
			return nil
		}
		dir, base := path.Split(at.Path)
		ext := path.Ext(base)
		for _, form := range oldNames() {
			name := strings.NewReplacer("{name}", strings.TrimSuffix(base, ext), "{ext}", ext).Replace(form)
			answer, err := get(ctx, w, at, dir+name)
			if err != nil {
				return err
			}
			if answer.Status != http.StatusOK || len(bytes.TrimSpace(answer.Body)) == 0 {
				continue
			}
			if err := oldFile(ctx, &c, w, t, answer, dir, form, ext); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// oldFile judges an answer for the name of an old file.
func oldFile(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, answer *message.Response,
	dir, form, ext string,
) error {
	random := strings.NewReplacer("{name}", kit.Word(), "{ext}", ext).Replace(form)
	control, err := get(ctx, w, t.Request.URL, dir+random)
	if err != nil || control.Status == http.StatusOK {
		return err
	}
	again, err := get(ctx, w, t.Request.URL, answer.Request.URL.Path)
	if err != nil || again.Status != http.StatusOK {
		return err
	}
	// A page of the map under another name, such as page1 and page2, is none.
	if linked(w, answer.Request.URL.Path) {
		return nil
	}
	severity, about := kit.Low, "a copy of the file"
	if sourceText.Match(answer.Body) || archive.Match(answer.Body) {
		severity, about = kit.Medium, "a copy of the file with its source"
	}
	if diff.Likeness(diff.New(answer), diff.New(t.Response), nil) < 0.2 && severity == kit.Low &&
		strings.Contains(form, "{ext}") &&
		strings.HasSuffix(form, "{ext}") && !strings.ContainsAny(form, " _-") {
		return nil // another page that has a number in its name
	}
	w.Found(c, kit.Finding{Request: answer.Request, Severity: severity, Detail: about, Payload: answer.Request.URL.Path,
		Evidence: []kit.Evidence{
			{Request: answer.Request, Response: answer, Note: about},
			{Request: control.Request, Response: control, Note: "a random name of the same form is not there"},
		}, Proof: exists(answer.Request, control.Request, "")})
	return nil
}

var (
	sourceText = regexp.MustCompile(`<\?php|<\?=|<%[@=!\s]|(?m)^(?:import|package|using|require|include|from) [\w."']+|\bfunction \w+\(`)
	archive    = regexp.MustCompile(`^(?:PK\x03\x04|\x1f\x8b|Rar!|7z\xbc\xaf)`)
)

// linked says whether the map has a path.
func linked(w *kit.World, to string) bool {
	for _, r := range w.Pages() {
		if r.URL.Path == to {
			return true
		}
	}
	return false
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

var listing = regexp.MustCompile(`(?i)<title>\s*(?:Index of /|Directory (?:listing (?:for|of)|: )|Listing of )|<h1>(?:Index of /|Directory listing|Directory: /)|` +
	`<title>Directory Listing For|\[To Parent Directory\]|<A HREF="[^"]+">\[Parent Directory\]|<pre><A HREF="/[^"]*">\[To Parent`)

var entries = regexp.MustCompile(`(?i)<a\s[^>]*href\s*=`)

// listings is the check for folders whose files are listed: the folders above each page, once each.
func listings() kit.Check {
	c := kit.Check{ID: "directory-listing", Class: "directory-listing", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		for dir := path.Dir(t.Request.URL.Path); ; dir = path.Dir(dir) {
			folder := strings.TrimSuffix(dir, "/") + "/"
			if !w.Once("folder " + t.Request.URL.Host + folder) {
				return nil
			}
			answer, err := get(ctx, w, t.Request.URL, folder)
			if err != nil {
				return err
			}
			match := listing.Find(answer.Body)
			if answer.Status == http.StatusOK && match != nil && entries.Match(answer.Body) {
				again, err := get(ctx, w, t.Request.URL, folder)
				if err != nil {
					return err
				}
				if listing.Match(again.Body) {
					w.Found(&c, kit.Finding{Request: answer.Request, Detail: folder, Evidence: []kit.Evidence{
						{Request: answer.Request, Response: answer, Match: string(match), Note: "the files of the folder are listed"}},
						Proof: &proof.Program{About: "The folder is listed.", Steps: []proof.Step{{ID: "folder", Send: answer.Request,
							Expect: []proof.Expect{{What: proof.Matches, Value: listing.String()}}}}}})
				}
			}
			if folder == "/" {
				return nil
			}
		}
	}
	return c
}
