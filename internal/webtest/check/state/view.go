package state

import (
	"bytes"
	"context"
	"encoding/base64"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const (
	maxMembers = 4  // of a state that are changed
	minState   = 20 // letters that a state has at least
	rounds     = 2
)

var (
	// decided are names of what an application decides, not its user.
	decided = regexp.MustCompile(`(?i)role|level|plan|price|amount|limit|discount|total|admin|owner|user|person` +
		`|customer|account|status|approv|right|permission|quota|balance|credit|tariff|tier`)
	javaText = regexp.MustCompile(`t\x00[\x01-\x7f]`)
	inJSON   = regexp.MustCompile(`"(\w{2,40})"\s*:\s*"?([\w.@-]{3,60})`)
	inPHP    = regexp.MustCompile(`s:\d+:"(\w{2,40})";(?:s:\d+:"|[id]:)([\w.@-]{3,60})`)
)

// member is a value in a state, and where it stands.
type member struct {
	name, value string
	at          int
}

// views is the check for states of a form that the page keeps, such as views of JSF, and that nothing seals. A value in
// it that the application decides, by its name, and that the page shows, is replaced by another of the same length: the
// next page must show that, twice, in place of the first. One request for a state in base64, and up to two for each of
// four values in it.
func views() kit.Check {
	c := kit.Check{ID: "client-state", Class: "client-state", Level: client.Active}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		for _, p := range message.Places(t.Request) {
			if p.Key || p.Component != message.Body || len(p.Value) < minState || t.Request.Method != http.MethodPost {
				continue
			}
			plain, write := opened(p.Value)
			if plain == nil {
				continue
			}
			usual, err := send(ctx, w, t.Request, t.User)
			if err != nil || usual.Status >= 400 {
				return err
			}
			tried := 0
			for _, m := range members(plain) {
				if !decided.MatchString(m.name) || len(m.value) < 4 || !strings.Contains(textOf(usual), m.value) ||
					tried >= maxMembers {
					continue
				}
				tried++
				if found, err := rewritten(ctx, w, &c, t, p, plain, write, m, usual); err != nil || found {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// rewritten sends a state with other values of a member, and reports it when the page shows them.
func rewritten(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, p message.Place, plain []byte,
	write func([]byte) string, m member, usual *message.Response,
) (bool, error) {
	user, users := kit.Names(t.User)
	program := &proof.Program{About: "The page shows a state that nobody has sealed.", Users: users}
	evidence := []kit.Evidence{{Request: t.Request, Response: usual, Match: m.value,
		Note: "the state says " + m.name + " = " + m.value}}
	var shown *message.Request
	for i := range rounds {
		word := likeIt(m.value)
		changed := bytes.Join([][]byte{plain[:m.at], []byte(word), plain[m.at+len(m.value):]}, nil)
		shown = t.Request.Put(p, write(changed))
		answer, err := send(ctx, w, shown, t.User)
		if err != nil || !strings.Contains(textOf(answer), word) || strings.Contains(textOf(usual), word) {
			return false, err
		}
		evidence = append(evidence, kit.Evidence{Request: shown, Response: answer, Match: word,
			Note: "with another text in it, the page shows that"})
		program.Steps = append(program.Steps, proof.Step{ID: "changed" + strconv.Itoa(i+1), As: user, Send: shown,
			Writes: true,
			Expect: []proof.Expect{{What: proof.Contains, Value: word}}})
	}
	w.Found(c, kit.Finding{Request: shown, Place: p, Payload: m.name,
		Detail:   "the value of " + m.name + " in the state of the form",
		Evidence: evidence, Proof: program})
	return true, nil
}

// opened is a state that is written in base64, or whose part before a dot is, and how another is written; nil for none.
func opened(value string) (plain []byte, write func([]byte) string) {
	head, rest, sealed := strings.Cut(value, ".")
	if sealed && strings.Contains(rest, ".") { // a token of another kind
		return nil, nil
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		if raw, err := e.DecodeString(head); err == nil {
			return raw, func(b []byte) string { return strings.Replace(value, head, e.EncodeToString(b), 1) }
		}
	}
	return nil, nil
}

// members are the named values of a state: of an object of JSON, of PHP, or of a map of Java, whose names stand before
// their values.
func members(plain []byte) (all []member) {
	if bytes.HasPrefix(plain, []byte("\xac\xed\x00\x05")) {
		last, end := "", 0
		for _, at := range javaText.FindAllIndex(plain, 200) {
			from := at[1]
			to := from + int(plain[at[1]-1])
			if to > len(plain) || at[0] < end {
				continue
			}
			text := string(plain[from:to])
			if last != "" && at[0] == end {
				all = append(all, member{last, text, from})
			}
			last, end = text, to
		}
		return all
	}
	for _, pattern := range []*regexp.Regexp{inJSON, inPHP} {
		for _, m := range pattern.FindAllSubmatchIndex(plain, 100) {
			all = append(all, member{string(plain[m[2]:m[3]]), string(plain[m[4]:m[5]]), m[4]})
		}
	}
	return all
}

// likeIt is another value of the same length, of digits for digits and of letters for letters.
func likeIt(value string) string {
	letters, digits := kit.Word()[1:10], strconv.Itoa(kit.Number())
	out := []byte(value)
	for i, b := range out {
		switch {
		case b >= '0' && b <= '9':
			out[i] = digits[i%len(digits)]
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
			out[i] = letters[i%len(letters)]
		}
	}
	return string(out)
}

// textOf is what a page shows, without its fields.
func textOf(r *message.Response) string { return html.UnescapeString(kit.Text(r)) }
