package object

import (
	"context"
	"encoding/base64"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// javaFile is a serialised object of Java: a file named qqq.
const javaFile = "rO0ABXNyAAxqYXZhLmlvLkZpbGUELaRFDg3k/wMAAUwABHBhdGh0ABJMamF2YS9sYW5nL1N0cmluZzt4cHQAA3FxcXcCAC94"

// listing is what filters of classes say.
var listing = regexp.MustCompile(`(?i)filter status|InvalidClassException|REJECTED|not (?:in the ` +
	`|on the )?(?:allow|white)-?list`)

// ofAList reports whether an application that reads objects of Java says that it reads those of a list of classes
// alone.
func ofAList(ctx context.Context, w *kit.World, t *kit.Target, p message.Place, f *format, as coding) (bool, error) {
	raw, err := base64.StdEncoding.DecodeString(javaFile)
	if err != nil || !f.matches(raw) {
		return false, nil //nolint:nilerr // it is ours
	}
	answer, err := w.Try(ctx, t, p, as.encode(raw))
	return err == nil && listing.Match(answer.Body), err
}

var (
	className = regexp.MustCompile(`^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*\.[A-Z]\w*(?:\$\w+)?$`)
	known     = []string{"java.lang.Object", "java.util.ArrayList"}
	unknown   = []string{"java.lang.Objeqt", "java.util.ArrayLisq"}
)

// named is the check for names of classes that an application loads as a request says (CWE-470): classes that every
// program of Java has are answered otherwise than those that none has, each twice. Five requests for a value that is
// the name of a class.
func named() kit.Check {
	c := kit.Check{ID: "class-of-request", Class: "unsafe-reflection", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Key || !className.MatchString(p.Value) {
			return nil
		}
		var missing, there []*diff.Page
		var evidence []kit.Evidence
		for i := range known {
			for _, one := range []struct {
				name, note string
				pages      *[]*diff.Page
			}{{unknown[i], "a class that no program has", &missing}, {known[i], "a class that every program has", &there}} {
				answer, err := w.Try(ctx, t, p, one.name)
				if err != nil || answer.Status == 0 {
					return err
				}
				*one.pages = append(*one.pages, diff.New(answer, one.name))
				evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer, Note: one.note})
			}
		}
		var noise diff.Noise
		if !diff.Same(missing[0], missing[1], noise) || diff.Same(missing[0], there[0], noise) ||
			diff.Same(missing[1], there[1], noise) {
			return nil
		}
		again, err := w.Try(ctx, t, p, "java.lanq.Object")
		if err != nil || !diff.Same(missing[0], diff.New(again, "java.lanq.Object"), noise) {
			return err
		}
		user, users := kit.Names(t.User)
		w.Found(&c, kit.Finding{Request: t.Request.Put(p, known[0]), Place: p, Payload: known[0],
			Detail:   "the class that the value names is loaded",
			Evidence: evidence, Proof: &proof.Program{
				About: "A class that exists is answered otherwise than one that does not.", Users: users,
				Steps: []proof.Step{{ID: "missing", As: user, Send: t.Request.Put(p, unknown[0]), Cut: []string{unknown[0]}},
					{ID: "there", As: user, Send: t.Request.Put(p, known[0]), Cut: []string{known[0]},
						Expect: []proof.Expect{{What: proof.Same, Of: "missing", Not: true}}},
					{ID: "missing2", As: user, Send: t.Request.Put(p, unknown[1]), Cut: []string{unknown[1]},
						Expect: []proof.Expect{{What: proof.Same, Of: "missing"}}}}}})
		return nil
	}
	return c
}
