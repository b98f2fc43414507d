package access

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// tokenCookie are names of cookies whose value is a secret.
var tokenCookie = regexp.MustCompile(`(?i)sess|sid$|^sid|token|auth|ticket|remember|(?:^|[_-])key$|[_-]id$|user_?key`)

// drawn are how many values of one cookie are compared.
const drawn = 5

// maxStep is how far the next value of a counter or a clock is at most.
func maxStep(n int) int { return min(max(n/100_000, 20), 10_000) }

// predictable is the check for tokens that count, or tell the time: the values that several equal requests get are
// numbers, as they are, in base64 or as a digest, that grow by little from each to the next, as random ones do not.
// Five requests for each cookie whose name is that of a token and whose value changes; two for one whose value does
// not.
func predictable() kit.Check {
	c := kit.Check{ID: "predictable-token", Class: "predictable-token", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Response == nil {
			return nil
		}
		for _, k := range cookiesOf(t.Response) {
			if !tokenCookie.MatchString(k.Name) || !w.Once("predictable "+t.Request.URL.Host+k.Name) {
				continue
			}
			if err := draw(ctx, w, &c, t, k.Name); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func cookiesOf(r *message.Response) []*http.Cookie {
	return (&http.Response{Header: r.Header}).Cookies()
}

// draw compares values of one cookie.
func draw(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, name string) error {
	user := t.User
	var numbers []int
	var evidence []kit.Evidence
	for len(numbers) < drawn {
		answer, err := w.Client.Send(ctx, t.Request, client.Options{As: user})
		if answer, err = kit.Broken(ctx, t.Request, answer, err); err != nil {
			return err
		}
		value := ""
		for _, k := range cookiesOf(answer) {
			if k.Name == name {
				value = k.Value
			}
		}
		if value == "" && user != nil && len(numbers) == 0 { // it is given to those who have none
			user = nil
			continue
		}
		n, ok := counted(value)
		if !ok || len(numbers) > 0 && (n <= numbers[len(numbers)-1] || n-numbers[len(numbers)-1] > maxStep(n)) {
			return nil
		}
		numbers = append(numbers, n)
		evidence = append(evidence, kit.Evidence{Request: t.Request, Response: answer, Match: value,
			Note: "it says " + strconv.Itoa(n)})
	}
	w.Found(c, kit.Finding{Request: t.Request, Place: message.Place{Component: message.Cookie, Name: name},
		Evidence: evidence, Detail: "the next values of the cookie " + name + " can be told from the last"})
	return nil
}

// counted is the number that a value says: as it is, in base64, or as the digest of a small number.
func counted(value string) (int, bool) {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 && len(value) < 18 {
		return n, true
	}
	if raw, err := base64.StdEncoding.DecodeString(value); err == nil && len(raw) > 0 && len(raw) < 18 {
		if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 {
			return n, true
		}
	}
	if s := seriesOf(value); s != nil {
		return s.number, true
	}
	return 0, false
}
