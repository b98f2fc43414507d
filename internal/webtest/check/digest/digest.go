// Package digest finds secrets whose digests an application in PHP compares with ==, which takes two texts that look
// like numbers for numbers: "0e12" and "0e34" are both zero. Texts are known whose digests are such zeros; any of them
// is taken for the secret whose digest is one, too.
package digest

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{byDigest()} }

// zeros are texts whose digests are a number to PHP's ==, and the same one: two zeros, an e and digits alone. They are
// known publicly. Of each function there are two; the first two are such numbers themselves.
var zeros = []struct{ of, first, second string }{
	{"the text itself", "0e12345", "0e67890"},
	{"MD5", "240610708", "QNKCDZO"},
	{"SHA-1", "10932435112", "aaroZmOk"},
	{"SHA-256", "34250003024812", "TyNOQHUS"},
}

// codeName are fields with something that only who was given it knows; passwords are others.
var codeName = regexp.MustCompile(`(?i)code|voucher|coupon|token|secret|pass|pin\b|otp|licen[cs]e|serial|signature|digest|hash|` +
	`\bkey|key$|gift|promo|ticket|invitation`)

// byDigest is the check for secrets whose digest is compared by PHP's ==, which takes "0e12" and "0e34" for one number:
// two different texts of one function's list are accepted alike, and two wrong ones of the same form are refused alike,
// before and after. Level active, as what is accepted is done. Six requests for a field of PHP that has a secret and is
// sent in a form or as JSON; two more where one is answered otherwise. Passwords of a name are tried where guessing is
// allowed alone.
func byDigest() kit.Check {
	c := kit.Check{ID: "secret-by-digest", Class: "loose-comparison", Level: client.Active,
		Title: "Digests are compared as numbers"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.IsMessage() || !ofPHP(t) || !w.Once("digests "+t.Request.Method+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		base := t.Request
		if name, ok := nameOf(base); ok {
			if !w.Defaults { // passwords are tried for a name where that is allowed
				return nil
			}
			base = base.Put(name, "admin")
		}
		for _, p := range message.Places(base) {
			if !isField(p) || !codeName.MatchString(p.Name) || len(p.Value) >= longToken ||
				base.Token != nil && p.Same(base.Token.Place) {
				continue
			}
			if found, err := digestsAt(ctx, w, &c, t, base, p); err != nil || found {
				return err
			}
		}
		return nil
	}
	return c
}

// longToken is how long a value is at least that looks like a token against forged requests, which is no digest.
const longToken = 16

func isField(p message.Place) bool {
	return (p.Component == message.Body || p.Component == message.Query) && !p.Key && !p.File
}

var userName = regexp.MustCompile(`(?i)user|login|name|mail|account|handle|nick|member|customer`)

// nameOf is the name of a request that has a password and a name, as logins have; ok is false for others.
func nameOf(r *message.Request) (name message.Place, ok bool) {
	hasPassword := false
	for _, p := range message.Places(r) {
		switch {
		case !isField(p):
		case client.IsSecret(p.Name):
			hasPassword = true
		case userName.MatchString(p.Name) && !ok:
			name, ok = p, true
		}
	}
	return name, ok && hasPassword
}

// ofPHP reports whether a target shows to be one of PHP.
func ofPHP(t *kit.Target) bool {
	if strings.Contains(strings.ToLower(t.Request.URL.Path), ".php") {
		return true
	}
	if t.Response != nil && strings.Contains(strings.ToLower(t.Response.Header.Get("X-Powered-By")), "php") {
		return true
	}
	for _, k := range t.User.Cookies(t.Request.URL) {
		if strings.EqualFold(k.Name, "PHPSESSID") {
			return true
		}
	}
	return strings.Contains(t.Request.Header.Get("Cookie"), "PHPSESSID")
}

// digestsAt tests one field.
func digestsAt(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, base *message.Request, p message.Place) (
	bool, error,
) {
	ask := func(text string) (*message.Response, *diff.Page, error) {
		r := base.Put(p, text)
		as := t.User
		if client.IsPassword(p.Name) {
			as = nil
		}
		answer, err := w.Client.Send(ctx, r, client.Options{As: as, Writes: true})
		if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
			return nil, nil, err
		}
		return answer, diff.New(answer, text), nil
	}
	wrong, refused, err := ask("240610709")
	if err != nil || wrong.Status == 0 || wrong.Status >= 500 || wrong.Status == http.StatusTooManyRequests {
		return false, err
	}
	_, other, err := ask("RNKCDZP")
	if err != nil {
		return false, err
	}
	noise := diff.Learn(refused, other)
	if !diff.Same(refused, other, noise) {
		return false, nil
	}
	for _, z := range zeros {
		first, opened, err := ask(z.first)
		if err != nil {
			return false, err
		}
		if diff.Same(opened, refused, noise) || first.Status >= 400 {
			continue
		}
		second, again, err := ask(z.second)
		if err != nil || second.Status >= 400 || !diff.Same(opened, again, noise) {
			return false, err
		}
		last, still, err := ask(kit.Word())
		if err != nil || !diff.Same(still, refused, noise) {
			return false, err
		}
		user, users := kit.Names(t.User)
		if client.IsPassword(p.Name) {
			user, users = "", nil
		}
		step := func(id, text string, expects ...proof.Expect) proof.Step {
			return proof.Step{ID: id, As: user, Send: base.Put(p, text), Writes: true, Cut: []string{text}, Expect: expects}
		}
		w.Found(c, kit.Finding{Request: first.Request, Place: p, Payload: z.first,
			Detail: "of " + z.of + ", compared by ==",
			Evidence: []kit.Evidence{
				{Request: first.Request, Response: first, Note: "a text whose digest is 0e and digits is accepted"},
				{Request: second.Request, Response: second, Note: "so is another such text"},
				{Request: last.Request, Response: last, Note: "any other is refused"}},
			Proof: &proof.Program{About: "Two different texts whose digests are the same number are accepted, others are not.",
				Users: users, Steps: []proof.Step{step("wrong", "240610709"),
					step("first", z.first, proof.Expect{What: proof.Same, Of: "wrong", Not: true}),
					step("second", z.second, proof.Expect{What: proof.Same, Of: "first"})}}})
		return true, nil
	}
	return false, nil
}
