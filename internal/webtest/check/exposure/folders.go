package exposure

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const (
	maxFolders = 6  // of files, of a host
	maxRead    = 12 // pages that are read for names of files
)

// climbs are the ways out of a folder of files, to the root of the system.
var climbs = kit.List(climbsText)

// reference is a file that a page uses.
var reference = regexp.MustCompile(`(?i)(?:src|href)\s*=\s*["']?([^"'\s>#?]+\.(?:m?js|css|png|jpe?g|gif|svg|ico|webp|woff2?|pdf|txt))`)

// folders is the check for servers that give files from outside of their folder of files: by a path that climbs out of
// it, and, for nginx with an alias, by the name of the folder with two dots behind it. Some twelve requests for each of
// six folders.
func folders() kit.Check {
	c := kit.Check{ID: "path-traversal-of-files", Class: "path-traversal", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		files, err := filesOf(ctx, w)
		if err != nil {
			return err
		}
		tried := map[string]int{}
		for _, file := range files {
			at := file.URL
			for dir := path.Dir(at.Path); ; dir = path.Dir(dir) {
				key := at.Host + dir
				if _, done := tried[key]; done || tried[at.Host] >= maxFolders {
					break
				}
				tried[key] = 1
				tried[at.Host]++
				if found, err := climb(ctx, w, &c, at, dir); found || err != nil {
					return err
				}
				if dir == "/" {
					break
				}
			}
			if w.Once("alias " + at.Host + path.Dir(at.Path)) {
				if err := alias(ctx, w, &c, file); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// filesOf are the files that pages use, one of each folder, and one in the folder of programs.
func filesOf(ctx context.Context, w *kit.World) (all []*message.Request, err error) {
	seen, read := map[string]bool{}, 0
	add := func(at *url.URL) {
		key := at.Host + path.Dir(at.Path)
		if !seen[key] && strings.Contains(path.Base(at.Path), ".") {
			seen[key] = true
			all = append(all, message.From(http.MethodGet, &url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}))
		}
	}
	hosts := map[string]*url.URL{}
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || r.After != nil || read >= maxRead {
			continue
		}
		if hosts[r.URL.Host] == nil {
			hosts[r.URL.Host] = r.URL
		}
		read++
		answer, err := w.Shown(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		for _, m := range reference.FindAllSubmatch(answer.Body, 100) {
			if at, err := r.URL.Parse(string(m[1])); err == nil && at.Host == r.URL.Host {
				add(at)
			}
		}
	}
	for _, at := range hosts {
		add(&url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/cgi-bin/test.cgi"})
	}
	return all, nil
}

var users = regexp.MustCompile(`root:[^:\n]{0,200}:0:0:`)

// climb asks for a file of the system by ways out of a folder.
func climb(ctx context.Context, w *kit.World, c *kit.Check, at *url.URL, dir string) (bool, error) {
	for _, up := range climbs() {
		r := raw(at, strings.TrimSuffix(dir, "/")+"/"+up+"etc/passwd")
		answer, err := w.Ask(ctx, r, nil)
		if err != nil {
			return false, err
		}
		if answer.Status != http.StatusOK || !users.Match(answer.Body) {
			continue
		}
		control := raw(at, strings.TrimSuffix(dir, "/")+"/"+up+"etc/"+kit.Word())
		refused, err := w.Ask(ctx, control, nil)
		if err != nil || users.Match(refused.Body) {
			return false, err
		}
		w.Found(c, kit.Finding{Request: r, Payload: up, Detail: "a path that climbs out of " + dir, Evidence: []kit.Evidence{
			{Request: r, Response: answer, Match: string(users.Find(answer.Body)), Note: "the list of the system's users"},
			{Request: control, Response: refused, Note: "a file that does not exist"}},
			Proof: &proof.Program{About: "A path that climbs out of the folder gives a file of the system.", Steps: []proof.Step{
				{ID: "file", Send: r, Expect: []proof.Expect{{What: proof.Matches, Value: users.String()}}},
				{ID: "missing", Send: control, Expect: []proof.Expect{{What: proof.Matches, Value: users.String(), Not: true}}}}}})
		return true, nil
	}
	return false, nil
}

// raw is a request with a path as it is written.
func raw(at *url.URL, text string) *message.Request {
	r := message.From(http.MethodGet, &url.URL{Scheme: at.Scheme, Host: at.Host})
	plain, err := url.PathUnescape(text)
	if err != nil {
		plain = text
	}
	r.URL.Path, r.URL.RawPath = plain, text
	return r
}

// alias asks for a file by the name of its folder with two dots behind it, and the folder again: what lies beside the
// folder is given, too, where that is the same file.
func alias(ctx context.Context, w *kit.World, c *kit.Check, file *message.Request) error {
	parts := strings.Split(strings.TrimPrefix(file.URL.Path, "/"), "/")
	if len(parts) < 2 {
		return nil
	}
	usual, err := w.Ask(ctx, file, nil)
	if err != nil || usual.Status != http.StatusOK || len(usual.Body) < 16 {
		return err
	}
	rest := strings.Join(parts[1:], "/")
	r := raw(file.URL, "/"+parts[0]+"../"+parts[0]+"/"+rest)
	answer, err := w.Ask(ctx, r, nil)
	if err != nil || answer.Status != http.StatusOK || !bytes.Equal(answer.Body, usual.Body) {
		return err
	}
	control := raw(file.URL, "/"+parts[0]+"../"+kit.Word()+"/"+rest)
	refused, err := w.Ask(ctx, control, nil)
	if err != nil || bytes.Equal(refused.Body, usual.Body) {
		return err
	}
	w.Found(c, kit.Finding{Request: r, Detail: "the folder " + parts[0] + " is an alias without a slash at its end",
		Evidence: []kit.Evidence{
			{Request: file, Response: usual, Note: "the file as pages name it"},
			{Request: r, Response: answer, Note: "the same, by the folder above its own"},
			{Request: control, Response: refused, Note: "another name in the folder above"}},
		Proof: &proof.Program{About: "Files beside the folder are given.", Steps: []proof.Step{
			{ID: "usual", Send: file, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
			{ID: "above", Send: r, Expect: []proof.Expect{{What: proof.Same, Of: "usual"}}},
			{ID: "other", Send: control, Expect: []proof.Expect{{What: proof.Same, Of: "usual", Not: true}}}}}})
	return nil
}
