package exposure

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const (
	passwd = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
	style  = "body { color: black; background: white; margin: 0 }\n"
)

// disk is a server's files.
func disk(name string) (string, bool) {
	switch path.Clean(name) {
	case "/etc/passwd":
		return passwd, true
	case "/srv/app/assets/css/site.css", "/srv/app/assets/site.css":
		return style, true
	}
	return "", false
}

// Paths that climb out of a folder of files are found in each spelling that a server falls for, and an alias of nginx;
// not where the server keeps to its folder, nor where every page has the text.
func TestFolders(t *testing.T) {
	unescape := func(s string) string {
		out, err := url.PathUnescape(s)
		if err != nil {
			return s
		}
		return out
	}
	for name, c := range map[string]struct {
		locate func(raw string) string // the file of a path as it was sent
		want   string
	}{
		"raw":     {func(raw string) string { return "/srv/app" + raw }, "path climb"},
		"decoded": {func(raw string) string { return "/srv/app" + unescape(path.Clean(raw)) }, "path climb"},
		"twice":   {func(raw string) string { return "/srv/app" + unescape(unescape(path.Clean(raw))) }, "path climb"},
		"once removed": {func(raw string) string {
			return "/srv/app" + path.Clean("/"+strings.ReplaceAll(strings.ReplaceAll(path.Clean(unescape(raw)), "....//", ""), "../", ""))
		}, ""},
		"dots removed": {func(raw string) string {
			return "/srv/app" + strings.ReplaceAll(unescape(raw), "../", "")
		}, "path climb"},
		"alias": {func(raw string) string {
			clean := path.Clean(unescape(raw))
			if rest, ok := strings.CutPrefix(clean, "/assets"); ok && !strings.Contains(unescape(raw), "/../") {
				return "/srv/app/assets/" + rest
			}
			return ""
		}, "alias"},
		"safe": {func(raw string) string { return "/srv/app" + path.Clean(unescape(raw)) }, ""},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				fmt.Fprint(w, `<link rel="stylesheet" href="/assets/css/site.css"><p>Hello</p>`)
				return
			}
			if text, ok := disk(c.locate(r.RequestURI)); ok {
				fmt.Fprint(w, text)
				return
			}
			http.NotFound(w, r)
		}))
		found := runFolders(t, lab)
		got := ""
		if len(found) > 0 {
			got = map[bool]string{true: "alias", false: "path climb"}[strings.Contains(found[0].Detail, "alias")]
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), found[0].Proof); err != nil || !out.Holds {
				t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
			}
		}
		if got != c.want {
			t.Errorf("%s: found %q, want %q: %+v", name, got, c.want, found)
		}
	}
	always := kittest.New(t, page("text/html", `<img src="/a/b.png"><pre>`+passwd+`</pre>`))
	if found := runFolders(t, always); len(found) > 0 {
		t.Errorf("a page that always has it: %+v", found)
	}
}

func runFolders(t *testing.T, lab *kittest.Lab) []kit.Finding {
	t.Helper()
	lab.World.Level = client.Safe
	front := lab.Target(t, http.MethodGet, "/", "")
	lab.World.Pages = func() []*message.Request { return []*message.Request{front.Request} }
	return lab.Run(t, kittest.Named(t, Checks(), "path-traversal-of-files"), &kit.Target{})
}
