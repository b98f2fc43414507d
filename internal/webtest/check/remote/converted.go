package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxConverted are how many values of a body are tested as XML.
const maxConverted = 6

// asXML is the check for applications that take XML where their pages send JSON: frameworks choose a parser by the type
// that a request names. A body of JSON is sent as XML; where it is answered with the same status, and a document that
// is not closed is answered otherwise, it is read, and its values are tested as those of XML are. One request for each
// address that takes JSON, two where the status is the same.
func asXML() kit.Check {
	c := kit.Check{ID: "xxe-of-other-type", Class: "xxe", Level: client.Safe,
		Title: "XML external entities, where pages send JSON"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		r, ok := converted(t.Request)
		if !ok || !w.Once("json as xml "+r.Method+" "+r.URL.Host+r.URL.Path) {
			return nil
		}
		base, err := w.Base(ctx, t)
		if err != nil || base.Response.Status >= http.StatusInternalServerError {
			return err
		}
		whole, err := w.Send(ctx, t, r)
		if err != nil || whole.Status != base.Response.Status {
			return err
		}
		unclosed := r.Clone()
		unclosed.Body = r.Body[:bytes.LastIndexByte(r.Body, '<')]
		refused, err := w.Send(ctx, t, unclosed)
		if err != nil || diff.Same(diff.New(whole), diff.New(refused), base.Noise) {
			return err
		}
		as := &kit.Target{Request: r, Places: message.Places(r), Response: whole, User: t.User, From: t.From, Kind: t.Kind}
		tested := 0
		for _, p := range as.Places {
			if p.Component != message.Body || tested >= maxConverted {
				continue
			}
			tested++
			e := entities{World: w, Target: as, c: &c, place: p,
				with: func(address string) *message.Request { return entity(r, p, address) }}
			if found, err := e.read(ctx); err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

// converted is a request with its body of JSON as XML; false for another body, and for one without a value.
func converted(r *message.Request) (*message.Request, bool) {
	var body map[string]any
	if r.IsMessage() || !strings.Contains(r.Header.Get("Content-Type"), "json") || json.Unmarshal(r.Body, &body) != nil ||
		len(body) == 0 {
		return nil, false
	}
	root := strings.TrimSuffix(path.Base(r.URL.Path), "s")
	if !elementName.MatchString(root) {
		root = "root"
	}
	out := r.Clone()
	out.Body = element([]byte(`<?xml version="1.0"?>`), root, body)
	out.Header.Set("Content-Type", "application/xml")
	return out, slices.ContainsFunc(message.Places(out), func(p message.Place) bool { return p.Component == message.Body })
}

var elementName = regexp.MustCompile(`^[A-Za-z_][\w.-]{0,60}$`)

// element adds a value of JSON as an element; lists as one for each of their values.
func element(out []byte, name string, value any) []byte {
	if list, ok := value.([]any); ok {
		for _, one := range list {
			out = element(out, name, one)
		}
		return out
	}
	out = fmt.Appendf(out, "<%s>", name)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if elementName.MatchString(key) {
				out = element(out, key, v[key])
			}
		}
	case nil:
	case string:
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(v)) // a buffer takes everything
		out = append(out, text.Bytes()...)
	default:
		out = fmt.Append(out, v)
	}
	return fmt.Appendf(out, "</%s>", name)
}
