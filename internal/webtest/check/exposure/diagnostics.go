package exposure

import (
	"context"
	_ "embed"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

//go:embed diagnostics.yaml
var diagnosticsText []byte

// diagnosis is a page that tells of the machine or the program.
type diagnosis struct {
	about     string
	is, needs *regexp.Regexp
}

var knownDiagnoses = sync.OnceValue(func() (all []diagnosis) {
	value, err := yamltext.Value(diagnosticsText)
	if err != nil {
		panic(err) // it is ours
	}
	for _, entry := range value.([]any) { //nolint:forcetypeassert // it is ours
		fields := entry.(map[string]any) //nolint:forcetypeassert // it is ours
		text := func(name string) string { s, _ := fields[name].(string); return s }
		all = append(all, diagnosis{text("about"), regexp.MustCompile(text("is")), regexp.MustCompile(text("needs"))})
	}
	return all
})

// match is what of an answer tells it; "" for nothing.
func (d *diagnosis) match(r *message.Response) string {
	if r.Status != http.StatusOK || !d.needs.Match(r.Body) {
		return ""
	}
	return string(d.is.Find(r.Body))
}

// diagnostics is the check for pages of the map that tell of the machine or the program, as to any user who is
// logged in. It comes again, and an address of no page in the same folder does not bring it. One that stands at a
// usual address for everybody is found by the check for files. Three requests for such a page.
func diagnostics() kit.Check {
	c := kit.Check{ID: "diagnostics", Class: "exposed-file", Level: client.Safe, Severity: kit.Medium, CWE: 200,
		Title: "A page tells of the machine and the program"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Response == nil || t.Request.Method != http.MethodGet || t.Request.After != nil {
			return nil
		}
		for _, d := range knownDiagnoses() {
			match := d.match(t.Response)
			if match == "" || quoted(t.Response, match) != kit.Proved ||
				!w.Once("diagnostics "+t.Request.URL.Host+t.Request.URL.Path+d.about) {
				continue
			}
			if err := diagnosed(ctx, w, &c, t, d); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// diagnosed confirms a page and reports it.
func diagnosed(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, d diagnosis) error {
	again, err := w.Ask(ctx, t.Request, t.User)
	if err != nil || d.match(again) == "" {
		return err
	}
	missing := t.Request.Clone()
	missing.URL.Path, missing.URL.RawPath, missing.URL.RawQuery = sibling(t.Request.URL.Path), "", ""
	control, err := w.Ask(ctx, missing, t.User)
	if err != nil || d.match(control) != "" {
		return err
	}
	nobody, err := w.Ask(ctx, t.Request, nil)
	if err != nil || d.match(nobody) != "" &&
		slices.ContainsFunc(knownFiles(), func(f file) bool { return f.path == t.Request.URL.Path }) {
		return err
	}
	who := "everybody"
	if d.match(nobody) == "" {
		who = "a user who is logged in"
	}
	match := d.match(again)
	user, users := kit.Names(t.User)
	w.Found(c, kit.Finding{Request: t.Request, Detail: d.about + ", to " + who,
		Impact:      "Paths, versions and settings tell an attacker where to go on; variables of the environment often have passwords.",
		Remediation: "Take the page out, or leave it to those who run the application.",
		Evidence: []kit.Evidence{
			{Request: t.Request, Response: again, Match: match, Note: d.about},
			{Request: missing, Response: control, Note: "an address of no page does not bring it"},
		}, Proof: &proof.Program{About: "The page tells of the machine, and an address of no page does not.", Users: users,
			Steps: []proof.Step{
				{ID: "page", As: user, Send: t.Request, Expect: []proof.Expect{{What: proof.Matches, Value: d.is.String()}}},
				{ID: "nowhere", As: user, Send: missing,
					Expect: []proof.Expect{{What: proof.Matches, Value: d.is.String(), Not: true}}}}}})
	return nil
}
