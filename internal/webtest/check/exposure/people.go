package exposure

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Members of objects that only their owner should read, and those by which a person is reached or logs in. A name alone
// may be that of anything.
var (
	keyMember = regexp.MustCompile(`(?i)^(?:(?:user|account|member)_?)?(?:api_?(?:key|token|secret)|secret_?(?:key|token)?|private_?key|` +
		`(?:access|auth|refresh|session|reset|remember|recovery|login)_?(?:token|key|code|secret)|(?:otp|totp|mfa|two_?factor)_?(?:secret|key|seed)|` +
		`ssn|social_?security_?(?:number|no)?|card_?number|credit_?card(?:_?number)?|passport(?:_?(?:number|no))?)$`) // that of a bank account many give to everybody
	reachMember = regexp.MustCompile(`(?i)^(?:e-?_?mail(?:_?address)?|phone(?:_?number)?|mobile|user_?name|login|first_?name|last_?name|birth_?da(?:y|te))$`)
)

// minKey is how long such a value is at least.
const minKey = 6

// openKeys is the check for interfaces that tell everybody the keys of people, or the numbers of their cards and
// passports: objects of JSON with such a member beside one that reaches the person, in an answer to who is not logged
// in. The same value must come again, so that it was not made for who asks. What was sent itself, descriptions and
// changes do not count. One request for such an answer; none otherwise.
func openKeys() kit.Check {
	c := kit.Check{ID: "keys-of-people", Class: "bfla", CWE: 862, Level: client.Safe,
		Title: "Everybody is told the keys of people"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if kit.Known(t.User) || t.Response == nil || t.Request.After != nil || !onlyAsks(t.Request) {
			return nil
		}
		name, secret := keyOf(t.Response, t.Request)
		if secret == "" || !w.Once("keys of people "+t.Request.URL.Host+t.Request.URL.Path+name) {
			return nil
		}
		again, err := w.Ask(ctx, t.Request, nil)
		if err != nil {
			return err
		}
		if _, second := keyOf(again, t.Request); second != secret {
			return nil
		}
		is := `"` + regexp.QuoteMeta(name) + `"\s*:\s*"[^"]{6,}"`
		w.Found(&c, kit.Finding{Request: t.Request, Detail: "the member " + name + ", beside what reaches the person",
			Impact:      "Whoever asks acts as the people whose keys are told, or knows what only they should.",
			Remediation: "Let only its owner read such a member, and ask who reads; answer others by a list of what is sent.",
			Evidence: []kit.Evidence{{Request: t.Request, Response: again, Match: hide(kit.Around(again.Body, secret)),
				Note: "nobody is logged in, and the value of " + name + " comes each time"}},
			Proof: &proof.Program{About: "Who is not logged in is told the value.", Steps: []proof.Step{{ID: "keys",
				Send: t.Request, Expect: []proof.Expect{{What: proof.Matches, Value: is}}}}}})
		return nil
	}
	return c
}

// asksFor is a request of GraphQL that changes nothing.
var asksFor = regexp.MustCompile(`^\s*\{.*"query"\s*:\s*"\s*(?:query\b|\{)`)

// onlyAsks reports whether a request asks for something and changes nothing.
func onlyAsks(r *message.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodPost && asksFor.Match(r.Body) &&
		!bytes.Contains(r.Body, []byte("mutation"))
}

// keyOf is the first member of a person in an answer that only they should read, and its value; "" for none.
func keyOf(r *message.Response, sent *message.Request) (name, value string) {
	var all any
	if r.Status != http.StatusOK || !strings.Contains(r.Type(), "json") || describes(r.Body) ||
		json.Unmarshal(r.Body, &all) != nil {
		return "", ""
	}
	return keyIn(all, sent.URL.String()+string(sent.Body), maxNested)
}

func keyIn(value any, sent string, depth int) (name, secret string) {
	if depth == 0 {
		return "", ""
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if name, secret := keyIn(one, sent, depth-1); secret != "" {
				return name, secret
			}
		}
	case map[string]any:
		isPerson := false
		for key, member := range v {
			text, isText := member.(string)
			if reachMember.MatchString(key) && isText && text != "" && !masked.MatchString(strings.ToLower(text)) {
				isPerson = true
			}
			if isText && len(text) >= minKey && keyMember.MatchString(key) && !strings.Contains(text, "*") &&
				!masked.MatchString(strings.ToLower(text)) && !strings.Contains(sent, text) && (secret == "" || key < name) {
				name, secret = key, text
			}
		}
		if isPerson && secret != "" {
			return name, secret
		}
		for _, key := range slices.Sorted(maps.Keys(v)) { // the same each time
			if name, secret := keyIn(v[key], sent, depth-1); secret != "" {
				return name, secret
			}
		}
	}
	return "", ""
}
