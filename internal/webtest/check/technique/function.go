package technique

import (
	"context"
	"encoding/hex"
	"hash/crc32"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// functions are functions of PHP that change nothing and take one text, with what they make of a word.
var functions = []struct {
	name string
	of   func(word string) string
}{
	{"bin2hex", func(word string) string { return hex.EncodeToString([]byte(word)) }},
	{"crc32", func(word string) string { return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(word))), 10) }},
	{"str_rot13", func(word string) string { return strings.Map(rot13, word) }},
}

func rot13(c rune) rune {
	if c < 'a' || c > 'z' {
		return c
	}
	return 'a' + (c-'a'+13)%26
}

var (
	functionValue = regexp.MustCompile(`^[A-Za-z_]\w{2,40}$`)
	functionName  = regexp.MustCompile(`(?i)func|callback|handler|method|filter|format|how|transform|convert|operation|^(?:fn|op|cb|do|call)$`)
	knownFunction = regexp.MustCompile(`^(?:str(?:to(?:upper|lower|time)|rev|len|ip_tags|ipslashes)|uc(?:first|words)|lcfirst|trim|[lr]trim|nl2br|` +
		`md5|sha1|crc32|base64_(?:en|de)code|(?:raw)?url(?:en|de)code|html(?:specialchars|entities)|addslashes|intval|floatval|` +
		`json_(?:en|de)code|number_format|date|count|abs|floor|ceil|round|sqrt|print_r|var_dump|mb_\w+|array_\w+)$`)
)

// maxArguments are how many other fields are tried as what a function is called with.
const maxArguments = 3

// functionOfField is the check for fields whose value names the function that is called (CWE-470): a function that the
// page does not offer is named, and what it makes of a random word in another field comes back; so does that of a
// second function, and a name that is none brings neither. No requests but for a field of an application in PHP that
// names a function, or is called so; one for its form and one for each of three other fields, two more where one
// shows.
func functionOfField() kit.Check {
	c := kit.Check{ID: "function-of-field", Class: "code-injection", CWE: 470, Level: client.Safe,
		Title: "A field names the function that is called"}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		isField := p.Component == message.Body || p.Component == message.Query || p.Component == message.Cookie
		if !isField || p.Key || p.File || !functionValue.MatchString(p.Value) ||
			!knownFunction.MatchString(p.Value) && !functionName.MatchString(p.Name) || kit.Static(t.Response) {
			return nil
		}
		o := &probe{World: w, Target: t, place: p, value: kit.Value(p)}
		var err error
		if o.base, err = w.Base(ctx, t); err != nil || kit.Refused(o.base.Response) || !o.looksLike("php") {
			return err
		}
		tried := 0
		for _, q := range message.Places(t.Request) {
			if q.Component != message.Body && q.Component != message.Query || q.Key || q.File || q.Same(p) ||
				client.IsPassword(q.Name) || t.Request.Token != nil && q.Same(t.Request.Token.Place) || tried >= maxArguments {
				continue
			}
			tried++
			if found, err := o.calls(ctx, &c, q); err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

// calls reports the place if it names a function that is called with what another place says.
func (o *probe) calls(ctx context.Context, c *kit.Check, argument message.Place) (bool, error) {
	ask := func(name string) (answer *message.Response, word string, err error) {
		word = kit.Word()
		r := o.Request.Put(o.place, name).Put(argument, word)
		answer, err = o.Send(ctx, o.Target, r)
		return answer, word, err
	}
	page, err := o.form(ctx)
	if err != nil {
		return false, err
	}
	var evidence []kit.Evidence
	var steps []proof.Step
	named := ""
	var shown *message.Request
	for _, f := range functions {
		if strings.Contains(page, f.name) {
			continue // it is one of those that may be called
		}
		answer, word, err := ask(f.name)
		if err != nil {
			return false, err
		}
		result := f.of(word)
		if !strings.Contains(string(answer.Body), result) {
			return false, nil
		}
		if named == "" {
			named, shown = f.name, answer.Request
		}
		evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer,
			Match: kit.Around(answer.Body, result),
			Note:  "the answer has what " + f.name + " makes of " + word})
		steps = append(steps, proof.Step{ID: f.name, As: o.user(), Send: answer.Request,
			Expect: []proof.Expect{{What: proof.Contains, Value: result}}})
		if len(evidence) == 2 {
			break
		}
	}
	if len(evidence) < 2 {
		return false, nil
	}
	answer, word, err := ask(kit.Word())
	if err != nil {
		return false, err
	}
	for i, f := range functions {
		if strings.Contains(string(answer.Body), f.of(word)) {
			return false, nil
		}
		if i == 0 {
			steps = append(steps, proof.Step{ID: "none", As: o.user(), Send: answer.Request,
				Expect: []proof.Expect{{What: proof.Contains, Value: f.of(word), Not: true}}})
		}
	}
	evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer,
		Note: "a name that is no function brings none"})
	o.Found(c, kit.Finding{Request: shown, Place: o.place, Payload: named, Detail: "called with " + argument.Name,
		Evidence: evidence,
		Proof: &proof.Program{About: "A function that the page does not offer is called by its name.", Users: o.users(),
			Steps: steps}})
	return true, nil
}

// form is the text of the page whose form a request is, and of the answer to it, where functions may stand to be
// chosen.
func (o *probe) form(ctx context.Context) (string, error) {
	text := string(o.base.Response.Body)
	from := o.Request.Header.Get("Referer")
	at, err := o.Request.URL.Parse(from)
	if from == "" || err != nil || at.Host != o.Request.URL.Host {
		return text, nil //nolint:nilerr // there is no such page
	}
	key := "form at " + at.String()
	if known, ok := o.World.Memo.Load(key); ok {
		return text + known.(string), nil //nolint:forcetypeassert // it is stored below
	}
	answer, err := o.Send(ctx, o.Target, message.From(http.MethodGet, at))
	if err != nil {
		return "", err
	}
	o.World.Memo.Store(key, string(answer.Body))
	return text + string(answer.Body), nil
}
