// Package front finds weaknesses of what stands before an application: caches that keep for everybody what one request
// has put into an answer, or what only one user may see, and proxies that do not agree with the application about
// where a request ends.
//
// Every request that may be kept has a word of its own in its query, so that nobody else is given the answer; a cache
// that does not tell requests apart by their query is left alone. What counts is what somebody else then gets, who
// sends neither the header nor the cookie.
//
// Requests for a clean page: two of each kind for poisoning; three of each kind that only a user sees for deception,
// of 30 at most. For a host: eight, each over a connection of its own, for requests that are cut in two ways.
package front

import (
	"bytes"
	"context"
	_ "embed"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{poisoning(), deception(), smuggling(patience)} }

//go:embed cache.yaml
var cacheText []byte

// lists are those of cache.yaml: headers that no cache looks at, and endings that caches keep.
var lists = kit.Lists(cacheText)

// apart is a request with a word of its own in its query.
func apart(r *message.Request) *message.Request {
	out := r.Clone()
	out.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+kit.Word()+"=1", "&")
	return out
}

// fromCache reports whether an answer to a request that was never sent before comes from a cache.
func fromCache(r *message.Response) bool {
	said := strings.ToLower(r.Header.Get("X-Cache") + " " + r.Header.Get("Cf-Cache-Status") + " " +
		r.Header.Get("X-Cache-Status"))
	return strings.Contains(said, "hit") || r.Header.Get("Age") != "" && r.Header.Get("Age") != "0"
}

// shows reports whether an answer has a word in it.
func shows(r *message.Response, word string) bool {
	return bytes.Contains(r.Body, []byte(word)) || strings.Contains(r.Header.Get("Location"), word)
}

// poisoning is the check for headers that come into answers which a cache keeps.
func poisoning() kit.Check {
	c := kit.Check{ID: "cache-poisoning", Class: "cache-poisoning", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodGet || kit.Static(t.Response) || !w.Once("poison "+t.Request.URL.Host+t.Kind) {
			return nil
		}
		first, err := w.Client.Send(ctx, apart(t.Request), client.Options{})
		if first, err = kit.Broken(ctx, t.Request, first, err); err != nil || fromCache(first) || first.Status >= 400 {
			return err
		}
		r, words := apart(t.Request), map[string]string{}
		for _, name := range lists()["headers"] {
			words[name] = kit.Word()
			r.Header.Set(name, valueOf(name, words[name]))
		}
		answer, err := w.Client.Send(ctx, r, client.Options{})
		if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
			return err
		}
		for _, name := range lists()["headers"] {
			if !shows(answer, words[name]) {
				continue
			}
			if found, err := poisons(ctx, &c, w, t, name); err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

// valueOf is the value of a header with a word in it.
func valueOf(name, word string) string {
	if strings.Contains(name, "Host") || strings.Contains(name, "Server") {
		return word + ".example.org"
	}
	return "/" + word
}

// poisons reports whether what one header says is given to others, twice, and reports it.
func poisons(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, name string) (bool, error) {
	var evidence []kit.Evidence
	var shown *message.Request
	for range 2 {
		plain, word := apart(t.Request), kit.Word()
		bad := plain.With(name, valueOf(name, word))
		if _, err := w.Client.Send(ctx, bad, client.Options{}); err != nil {
			return false, err
		}
		others, err := w.Client.Send(ctx, plain, client.Options{Fresh: true})
		if err != nil || !shows(others, word) {
			return false, err
		}
		control, err := w.Client.Send(ctx, apart(t.Request), client.Options{})
		if err != nil || shows(control, word) {
			return false, err
		}
		shown = bad
		evidence = append(evidence, kit.Evidence{Request: plain, Response: others, Match: word,
			Note: "who does not send " + name + " gets what it said, too"})
	}
	buster, v := kit.Word()+"=VAR_q_VAR", proof.Marker("w")
	plain := t.Request.Clone()
	plain.URL.RawQuery = strings.TrimPrefix(plain.URL.RawQuery+"&"+buster, "&")
	w.Found(c, kit.Finding{Request: shown, Payload: name, Detail: "the header " + name, Evidence: evidence,
		Proof: &proof.Program{About: "What a header of one request says comes to others from the cache.",
			Vars: []proof.Var{{Name: "w", Kind: proof.Word}, {Name: "q", Kind: proof.Word}}, Steps: []proof.Step{
				{ID: "set", Send: plain.With(name, valueOf(name, v))},
				{ID: "others", Send: plain, Expect: []proof.Expect{{What: proof.Contains, Value: v}}}}}})
	return true, nil
}

// maxDeceived are how many pages of a user are looked at.
const maxDeceived = 30

// deception is the check for pages of a user that a cache keeps under an address that looks like that of a file.
func deception() kit.Check {
	c := kit.Check{ID: "cache-deception", Class: "cache-deception", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 {
			w.Skip(nil, c.Class, "it needs a user")
			return nil
		}
		looked := 0
		for _, r := range w.Pages() {
			if r.Method != http.MethodGet || strings.Contains(r.URL.Path, ".") && !strings.HasSuffix(r.URL.Path, ".php") ||
				looked >= maxDeceived || !w.Once("deceive "+r.URL.Host+message.PathShape(r.URL.EscapedPath())) {
				continue
			}
			own, err := w.Shown(ctx, r, w.Users[0])
			if err != nil {
				return err
			}
			nobody, err := w.Shown(ctx, r, nil)
			if err != nil {
				return err
			}
			if own.Status != http.StatusOK || kit.Same(own, nobody) {
				continue
			}
			looked++
			if found, err := deceives(ctx, &c, w, r, own, nobody); err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

// ended is a request for a page under the address of a file, with a word that was never used.
func ended(r *message.Request, ending string) (*message.Request, error) {
	path := strings.TrimSuffix(r.URL.EscapedPath(), "/") + strings.ReplaceAll(ending, "{w}", kit.Word())
	if !strings.HasPrefix(path, "/") { // of the front page
		path = "/" + path
	}
	plain, err := message.New(http.MethodGet, r.URL.Scheme+"://"+r.URL.Host+path)
	if err != nil {
		return nil, err
	}
	out := r.Clone()
	out.URL.Path, out.URL.RawPath = plain.URL.Path, plain.URL.RawPath
	return out, nil
}

// deceives asks for a page of a user under addresses of files, and then as nobody.
func deceives(ctx context.Context, c *kit.Check, w *kit.World, r *message.Request, own, nobody *message.Response) (
	bool, error,
) {
	for _, ending := range lists()["endings"] {
		var evidence []kit.Evidence
		var shown *message.Request
		for range 2 {
			named, err := ended(r, ending)
			if err != nil {
				return false, err
			}
			control, err := ended(r, ending)
			if err != nil {
				return false, err
			}
			mine, err := w.Client.Send(ctx, named, client.Options{As: w.Users[0]})
			if mine, err = kit.Broken(ctx, named, mine, err); err != nil {
				return false, err
			}
			share, _ := diff.Share(diff.New(own), diff.New(mine), diff.New(nobody))
			if mine.Status != http.StatusOK || !kit.Same(mine, own) && share == 0 { // the copy may have another frame
				break
			}
			theirs, err := w.Client.Send(ctx, named, client.Options{Fresh: true})
			if err != nil {
				return false, err
			}
			never, err := w.Client.Send(ctx, control, client.Options{Fresh: true})
			if err != nil {
				return false, err
			}
			if theirs.Status != http.StatusOK || !kit.Same(theirs, mine) || kit.Same(never, mine) {
				break
			}
			shown = named
			evidence = append(evidence, kit.Evidence{Request: named, Response: theirs,
				Note: "nobody gets the page of " + w.Users[0].Name + " after they have opened this address"},
				kit.Evidence{Request: control, Response: never, Note: "and not under an address that they have not opened"})
		}
		if len(evidence) == 4 {
			w.Found(c, kit.Finding{Request: shown, Payload: ending, Evidence: evidence,
				Detail: "addresses that end with " + ending})
			return true, nil
		}
	}
	return false, nil
}
