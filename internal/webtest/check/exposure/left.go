package exposure

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
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

//go:embed left-programs.yaml
var leftProgramsText []byte

var leftPrograms = kit.List(leftProgramsText)

// leftEndings are what editors and people put behind the name of a file that they keep a copy of.
var leftEndings = []string{".bak", "~", ".old"}

// leftCopies is the check for copies of the files in which an application begins, which no page names where addresses
// are those of routes. The copy must be source text; a random name of the same form must not bring such. Some forty
// requests for a host, and two for each copy.
func leftCopies() kit.Check {
	c := kit.Check{ID: "old-file-of-framework", Class: "old-file", Level: client.Safe,
		Title: "A copy of a file of the application"}.Describe()
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		for _, program := range leftPrograms() {
			for _, ending := range leftEndings {
				if err := leftCopy(ctx, w, &c, root, program, ending); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// leftCopy asks for one copy, and reports it.
func leftCopy(ctx context.Context, w *kit.World, c *kit.Check, root *url.URL, program, ending string) error {
	answer, err := get(ctx, w, root, "/"+program+ending)
	if err != nil || !isSource(answer) {
		return err
	}
	control, err := get(ctx, w, root, "/"+kit.Word()+path.Ext(program)+ending)
	if err != nil || isSource(control) {
		return err
	}
	again, err := get(ctx, w, root, answer.Request.URL.Path)
	if err != nil || !isSource(again) {
		return err
	}
	w.Found(c, kit.Finding{Request: answer.Request, Detail: "a copy of " + program + " with its source",
		Payload: answer.Request.URL.Path, Evidence: []kit.Evidence{
			{Request: answer.Request, Response: answer, Match: string(leftSource.Find(answer.Body)), Note: "it is source text"},
			{Request: control.Request, Response: control, Note: "a random name of the same form brings none"},
		}, Proof: exists(answer.Request, control.Request, leftSource.String())})
	return nil
}

// leftSource are lines of programs: of what they import, and how PHP begins.
var leftSource = regexp.MustCompile(`<\?php|(?m)^\s*(?:(?:import|from) [\w.]+|(?:const|let|var) [\w{} ,]+ = require\(|` +
	`import [\w{}* ,]+ from ['"]|require(?:_relative)? ['"]|package main\b|[A-Z_]{3,40} = ['"\[{(])`)

// isSource reports whether an answer is the source text of a program, and no page.
func isSource(r *message.Response) bool {
	head := bytes.ToLower(r.Body[:min(len(r.Body), 1000)])
	isPage := bytes.Contains(head, []byte("<html")) || bytes.Contains(head, []byte("<!doctype"))
	return r.Status == http.StatusOK && !isPage && leftSource.Match(r.Body)
}

// sourceMaps is the check for source maps of scripts that have the sources themselves: comments and names that the
// script has not. Many a site means to give them away, so that this is information alone. No requests; the map of
// the site has read what scripts name.
func sourceMaps() kit.Check {
	c := kit.Check{ID: "source-map", Class: "exposed-file", Severity: kit.Info,
		Title: "A source map has the sources of a script"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		if t.Response == nil || t.Response.Status != http.StatusOK || !strings.HasSuffix(t.Request.URL.Path, ".map") {
			return
		}
		var sources struct {
			Version  int      `json:"version"`
			Sources  []string `json:"sources"`
			Contents []string `json:"sourcesContent"`
		}
		if json.Unmarshal(t.Response.Body, &sources) != nil || sources.Version == 0 {
			return
		}
		for i, text := range sources.Contents {
			if strings.TrimSpace(text) == "" || i < len(sources.Sources) && isLibrary.MatchString(sources.Sources[i]) ||
				!w.Once("source map "+t.Request.URL.Host+t.Request.URL.Path) {
				continue
			}
			about := "the source of a script"
			if i < len(sources.Sources) {
				about = "the source of " + sources.Sources[i]
			}
			report(w, &c, t, t.Response, `"sourcesContent"`, about, kit.Finding{Proof: &proof.Program{
				About: "The source map has sources.", Steps: []proof.Step{{ID: "map", Send: t.Request,
					Expect: []proof.Expect{{What: proof.Contains, Value: `"sourcesContent"`}}}}}})
			return
		}
	}
	return c
}

// isLibrary are names of sources that others publish.
var isLibrary = regexp.MustCompile(`node_modules|bower_components|/vendor/|^webpack/|\(webpack\)`)
