package object

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// indented is an answer of JSON whose first member stands so many spaces in.
var indented = regexp.MustCompile(`^[\[{]\r?\n( +)\S`)

// spaces are how far the JSON of an answer is indented; -1 if it is none.
func spaces(r *message.Response) int {
	if !strings.Contains(r.Type(), "json") {
		return -1
	}
	if m := indented.FindSubmatch(r.Body); m != nil {
		return len(m[1])
	}
	return 0
}

// prototype is the check for members that reach the prototype of all objects: Express indents its JSON by a setting
// that is looked for there as well. A number of spaces is set, and set back; the control sets it under a name that
// means nothing.
func prototype() kit.Check {
	c := kit.Check{ID: "prototype-pollution", Class: "prototype-pollution", Level: client.Intrusive}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		var body map[string]any
		if json.Unmarshal(t.Request.Body, &body) != nil || len(body) == 0 || t.Response == nil || spaces(t.Response) < 0 ||
			!w.Once("prototype "+t.Request.Method+t.Request.URL.Host+t.Request.URL.Path) {
			return nil //nolint:nilerr // its body is no object
		}
		send := func(name string, value int) (*message.Response, error) {
			return w.Send(ctx, t, with(t.Request, name, value))
		}
		usual := spaces(t.Response)
		control, err := send("__prot0__", 7)
		if err != nil || spaces(control) != usual {
			return err
		}
		var evidence []kit.Evidence
		for _, value := range []int{7, 5} {
			if _, err := send("__proto__", value); err != nil {
				return err
			}
			answer, err := w.Send(ctx, t, t.Request)
			if err != nil {
				return err
			}
			if spaces(answer) != value {
				break
			}
			evidence = append(evidence, kit.Evidence{Request: with(t.Request, "__proto__", value), Response: answer,
				Note: "an answer to a request without that member is indented as it said"})
		}
		if len(evidence) == 0 {
			return nil
		}
		if _, err := send("__proto__", usual); err != nil { // as it was
			return err
		}
		last, err := w.Send(ctx, t, t.Request)
		if err != nil || len(evidence) < 2 || spaces(last) != usual {
			return err
		}
		user, users := kit.Names(t.User)
		w.Found(&c, kit.Finding{Request: with(t.Request, "__proto__", 7), Payload: `{"__proto__":{"json spaces":7}}`,
			Place: message.Place{Component: message.Body, Format: message.JSON, Name: "__proto__"}, Evidence: append(evidence,
				kit.Evidence{Request: t.Request, Response: last, Note: "it was set back"}),
			Proof: &proof.Program{About: "A member of a body changes how all answers are written.", Users: users,
				Steps: []proof.Step{
					{ID: "set", As: user, Send: with(t.Request, "__proto__", 7)},
					{ID: "after", As: user, Send: t.Request, Expect: []proof.Expect{{What: proof.Matches, Value: `^[\[{]\r?\n {7}\S`}}},
					{ID: "back", As: user, Send: with(t.Request, "__proto__", usual)},
					{ID: "as before", As: user, Send: t.Request,
						Expect: []proof.Expect{{What: proof.Matches, Value: `^[\[{]\r?\n {7}\S`, Not: true}}},
				}}})
		return nil
	}
	return c
}

// with is a request whose body, an object, has one member more.
func with(r *message.Request, name string, value int) *message.Request {
	out := r.Clone()
	member, err := json.Marshal(map[string]any{name: map[string]int{"json spaces": value}})
	if err != nil {
		return out
	}
	body := bytes.TrimSpace(r.Body)
	out.Body = bytes.Join([][]byte{member[:len(member)-1], []byte(","), body[1:]}, nil)
	return out
}
