// Package object finds values out of which an application makes objects: serialised ones, and members of JSON that
// reach the prototype of all objects of a program in JavaScript.
//
// A value is taken for a serialised object by how it begins, in base64 and packed by zlib or gzip, too. Then the same
// object is written in another way, which only the reader of that format understands: it must be answered as before. A
// stream that is broken in the same place must not be. Where what is read changes nothing, so that both are answered
// alike, objects of two classes of PHP that refuse to be made of nothing stand in the place of a text: reading them
// fails aloud, also where errors are not shown, and objects of no class are answered as before. Where such objects are
// read as one more member without a failure, the application makes none but those of its list, and nothing is
// reported. Of Java, a file that is never opened is sent, to learn whether a list of classes refuses it. No other
// class is named that the value did not name, and nothing is called. Values that are names of classes are replaced by
// others that every program has, and that none has. A text of an object of JSON in a value is replaced by a function
// as node-serialize of Node.js writes it, which computes a product.
//
// Requests for a clean place: none for a value that is no serialised object and no name of a class; two otherwise,
// three for a name, seven for one of PHP, and one for a member of JSON. For a prototype: four for each body of JSON, at
// level intrusive alone, since what is set there is set for everybody until it is set back.
package object

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{serialised(), named(), prototype()} }

//go:embed formats.yaml
var formatsText []byte

// format is a format of serialised objects.
type format struct {
	name          string
	is            *regexp.Regexp // of a text; nil for bytes
	begins        [][]byte
	equal, broken []string
	classes       []string       // objects that cannot be read
	unclassed     string         // an object of no class
	value         *regexp.Regexp // the part that an object may stand in the place of: one of its groups
}

var formats = sync.OnceValue(func() (all []format) {
	value, err := yamltext.Value(formatsText)
	if err != nil {
		panic(err) // it is ours
	}
	for _, entry := range value.([]any) { //nolint:forcetypeassert // it is ours
		fields := entry.(map[string]any) //nolint:forcetypeassert // it is ours
		f := format{equal: kit.Texts(fields["equal"]), broken: kit.Texts(fields["broken"]),
			classes: kit.Texts(fields["classes"])}
		f.unclassed, _ = fields["unclassed"].(string)
		if value, ok := fields["value"].(string); ok {
			f.value = regexp.MustCompile(value)
		}
		f.name, _ = fields["name"].(string)
		if is, ok := fields["is"].(string); ok {
			f.is = regexp.MustCompile(is)
		}
		for _, begins := range kit.Texts(fields["begins"]) {
			f.begins = append(f.begins, unhex(begins))
		}
		all = append(all, f)
	}
	return all
})

// unhex are the bytes of hexadecimal digits, which are ours.
func unhex(text string) []byte {
	raw, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return raw
}

// head is how many bytes of a value say that it is of the format; 0 if it is not.
func (f *format) head(value []byte) int {
	for _, begins := range f.begins {
		if bytes.HasPrefix(value, begins) {
			return len(begins)
		}
	}
	return 0
}

// matches reports whether a value is of the format.
func (f *format) matches(value []byte) bool {
	return f.is != nil && f.is.Match(value) || f.head(value) > 0
}

// write is a value, which is of the format, with one of the texts of the format in it.
func (f *format) write(value []byte, text string) []byte {
	if f.is == nil {
		head := f.head(value)
		return bytes.Join([][]byte{value[:head], unhex(text), value[head:]}, nil)
	}
	at := f.is.FindSubmatchIndex(value)
	length, inner := string(value[at[2]:at[3]]), string(value[at[4]:at[5]])
	with := strings.NewReplacer("{len}", length, "{more}", length+"9", "{text}", inner,
		"{first}", hex.EncodeToString([]byte(inner[:1])), "{rest}", inner[1:]).Replace(text)
	return bytes.Join([][]byte{value[:at[0]], []byte(with), value[at[1]:]}, nil)
}

// serialised is the check for values that are read as serialised objects.
func serialised() kit.Check {
	c := kit.Check{ID: "deserialization", Class: "deserialization", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Inner != "" && !p.Key {
			return functions(ctx, &c, w, t, p)
		}
		if p.Base64 || p.Key {
			return nil
		}
		for _, value := range []string{p.Value, kit.Value(p)} {
			plain, as := decoded(value)
			for i := range formats() {
				if f := &formats()[i]; f.matches(plain) {
					found, err := read(ctx, &c, w, t, p, f, plain, as)
					if err != nil || found || len(f.classes) == 0 {
						return err
					}
					return readObjects(ctx, &c, w, t, p, f, plain, as)
				}
			}
		}
		return nil
	}
	return c
}

// read tells whether a value is read as its format says.
func read(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place, f *format, plain []byte,
	as coding,
) (found bool, err error) {
	base, err := w.Base(ctx, t)
	if err != nil || base.Response.Status >= 400 {
		return false, err
	}
	before := diff.New(base.Response, p.Value)
	user, users := kit.Names(t.User)
	program := &proof.Program{Users: users,
		About: "The same object in another writing of " + f.name + " is understood, a broken one is not.",
		Steps: []proof.Step{{ID: "value", As: user, Send: t.Request.Put(p, as.encode(plain)), Cut: []string{p.Value}}}}
	var evidence []kit.Evidence
	var shown *message.Request
	for i := range f.equal {
		equal, broken := as.encode(f.write(plain, f.equal[i])), as.encode(f.write(plain, f.broken[i]))
		for _, one := range []struct {
			text, id, note string
			same           bool
		}{{equal, "equal", "the same object in another writing of " + f.name + " is answered alike", true},
			{broken, "broken", "a stream that is broken in the same place is not", false}} {
			answer, err := w.Try(ctx, t, p, one.text)
			if err != nil || diff.Same(before, diff.New(answer, one.text, p.Value), base.Noise) != one.same {
				return false, err
			}
			if shown == nil {
				shown = answer.Request
			}
			evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer, Note: one.note})
			id := one.id + string(rune('1'+i))
			program.Steps = append(program.Steps, proof.Step{ID: id, As: user, Send: t.Request.Put(p, one.text),
				Cut: []string{one.text, p.Value}, Expect: []proof.Expect{{What: proof.Same, Of: "value", Not: !one.same}}})
		}
	}
	if listed, err := ofAList(ctx, w, t, p, f, as); err != nil || listed {
		return listed, err
	}
	if listed, err := takesNoOther(ctx, w, t, p, f, plain, as); err != nil || listed {
		return listed, err
	}
	w.Found(c, kit.Finding{Request: shown, Place: p, Payload: as.encode(f.write(plain, f.equal[0])), Detail: f.name,
		Evidence: evidence, Proof: program})
	return true, nil
}
