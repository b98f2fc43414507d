package exposure

import (
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

// file is a file that is looked for in the root of a host, and in each folder if it may be anywhere.
type file struct {
	path, about string
	is, needs   *regexp.Regexp
	anywhere    bool
}

var knownFiles = sync.OnceValue(func() (all []file) {
	value, err := yamltext.Value(filesText)
	if err != nil {
		panic(err) // it is ours
	}
	for _, entry := range value.([]any) { //nolint:forcetypeassert // it is ours
		fields := entry.(map[string]any) //nolint:forcetypeassert // it is ours
		text := func(name string) string { s, _ := fields[name].(string); return s }
		anywhere, _ := fields["anywhere"].(bool)
		paths := []any{text("path")}
		if several, ok := fields["paths"].([]any); ok {
			paths = several
		}
		is, needs := regexp.MustCompile(text("is")), regexp.MustCompile(text("needs"))
		for _, one := range paths {
			all = append(all, file{one.(string), text("about"), is, needs, anywhere}) //nolint:forcetypeassert // it is ours
		}
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
			if err := known(ctx, w, &c, root, "", f); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// filesBelow is the check for files of the same kinds in the folders of a host. One request for each of eleven files,
// in eighty folders.
func filesBelow() kit.Check {
	const maxFolders = 80
	c := kit.Check{ID: "exposed-file-of-folder", Class: "exposed-file", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		at := t.Request.URL
		for dir := path.Dir(at.Path); dir != "/" && dir != "." && w.Once("files of "+at.Host+dir); dir = path.Dir(dir) {
			if count(w, "folders with files "+at.Host) > maxFolders {
				return nil
			}
			for _, f := range knownFiles() {
				if !f.anywhere {
					continue
				}
				if err := known(ctx, w, &c, at, dir, f); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// known looks for a file in a folder, which is "" for the root.
func known(ctx context.Context, w *kit.World, c *kit.Check, at *url.URL, dir string, f file) error {
	answer, err := get(ctx, w, at, dir+f.path)
	if err != nil {
		return err
	}
	match := f.is.Find(answer.Body)
	if answer.Status != http.StatusOK || match == nil || !f.needs.Match(answer.Body) {
		return nil
	}
	control, err := get(ctx, w, at, sibling(dir+f.path))
	if err != nil || f.is.Match(control.Body) && f.needs.Match(control.Body) {
		return err
	}
	content := f.is // an error may begin as settings do
	if f.needs.String() != "" {
		content = f.needs
	}
	w.Found(c, kit.Finding{Request: answer.Request, Detail: f.about, Payload: dir + f.path,
		Evidence: []kit.Evidence{
			{Request: answer.Request, Response: answer, Match: hide(string(match[:min(len(match), 200)])), Note: f.about},
			{Request: control.Request, Response: control, Note: "a random name does not bring it"},
		}, Proof: exists(answer.Request, control.Request, content.String())})
	return nil
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
