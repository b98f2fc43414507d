package object

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// readObjects tells whether a value is read with objects of any class in it: two of classes that fail when they are
// read are answered otherwise than the value, and two of no class are not.
func readObjects(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place, f *format,
	plain []byte, as coding,
) error {
	base, err := w.Base(ctx, t)
	if err != nil || base.Response.Status >= 400 || f.value.FindSubmatchIndex(plain) == nil {
		return err
	}
	before := diff.New(base.Response, p.Value)
	user, users := kit.Names(t.User)
	program := &proof.Program{Users: users,
		About: "An object of a class of " + f.name + " that cannot be read is answered otherwise, one of no class is not.",
		Steps: []proof.Step{{ID: "value", As: user, Send: t.Request.Put(p, as.encode(plain)), Cut: []string{p.Value}}}}
	var evidence []kit.Evidence
	var shown *message.Request
	payload := ""
	for i, class := range f.classes {
		unclassed := strings.ReplaceAll(f.unclassed, "{word}", kit.Word())
		for _, one := range []struct {
			text, id, note string
			same           bool
		}{{as.encode(f.instead(plain, unclassed)), "unclassed", "an object of no class is answered as the value is", true},
			{as.encode(f.instead(plain, class)), "class", "reading an object of a class fails, and so it is read", false}} {
			answer, err := w.Try(ctx, t, p, one.text)
			if err != nil || diff.Same(before, diff.New(answer, one.text, p.Value), base.Noise) != one.same {
				return err
			}
			if !one.same && payload == "" {
				shown, payload = answer.Request, one.text
			}
			evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer, Note: one.note})
			program.Steps = append(program.Steps, proof.Step{ID: one.id + string(rune('1'+i)), As: user,
				Send: t.Request.Put(p, one.text), Cut: []string{one.text, p.Value},
				Expect: []proof.Expect{{What: proof.Same, Of: "value", Not: !one.same}}})
		}
	}
	w.Found(c, kit.Finding{Request: shown, Place: p, Payload: payload, Detail: f.name + ", with objects of any class",
		Evidence: evidence, Proof: program})
	return nil
}

// instead is a value with an object in the place of the first text that is no key.
func (f *format) instead(value []byte, object string) []byte {
	at := f.value.FindSubmatchIndex(value)
	from, to := at[2], at[3]
	if from < 0 {
		from, to = at[4], at[5]
	}
	return bytes.Join([][]byte{value[:from], []byte(object), value[to:]}, nil)
}

// takesNoOther reports whether an application that reads objects makes none of a class that it does not expect: objects
// of the format's classes, which cannot be read, are answered as one more member like one of no class is, and like the
// value is. Two requests, and one for each class.
func takesNoOther(ctx context.Context, w *kit.World, t *kit.Target, p message.Place, f *format, plain []byte,
	as coding,
) (bool, error) {
	base, err := w.Base(ctx, t)
	if err != nil || len(f.classes) == 0 || f.more(plain, "N;") == nil {
		return false, err
	}
	before := diff.New(base.Response, p.Value)
	for _, object := range append([]string{strings.ReplaceAll(f.unclassed, "{word}", kit.Word())}, f.classes...) {
		text := as.encode(f.more(plain, object))
		answer, err := w.Try(ctx, t, p, text)
		if err != nil || !diff.Same(before, diff.New(answer, text, p.Value), base.Noise) {
			return false, err
		}
	}
	return true, nil
}

// members is how a list or an object of PHP begins, with the number of its members.
var members = regexp.MustCompile(`^(?:a|O:\d{1,4}:"[^"]{1,200}"):(\d{1,4}):\{`)

// more is a value of PHP with one more member, which is an object; nil for a value that has no members.
func (f *format) more(value []byte, object string) []byte {
	at := members.FindSubmatchIndex(value)
	if at == nil || value[len(value)-1] != '}' {
		return nil
	}
	n, err := strconv.Atoi(string(value[at[2]:at[3]]))
	if err != nil {
		return nil
	}
	word := kit.Word()
	return fmt.Appendf(nil, `%s%d%ss:%d:"%s";%s}`, value[:at[2]], n+1, value[at[3]:len(value)-1], len(word), word, object)
}
