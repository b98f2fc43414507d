// Package serial finds cookies that number those who get them: whoever has one knows those of the others.
//
// Package access compares cookies whose name says that they are tokens. Here the name says nothing, and what a cookie
// is for has to be seen: scripts must not read it (HttpOnly), so that the server alone uses it, and one counter numbers
// all who ask. For that two visitors ask in turn, and each number follows that of the other; a counter of what each has
// done begins anew for each. Numbers that tell the time, and names that speak of counting, are left out.
//
// Requests: six for each such cookie.
package serial

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{numbered()} }

const (
	turns   = 6  // answers that are compared
	maxStep = 20 // between two numbers: others are numbered meanwhile
	latest  = 24 * time.Hour
)

var counts = regexp.MustCompile(`(?i)count|hits|views|visits|visitors|total|seen|page|cart|items|offset|version|rev|step|tries|attempt|stat`)

// numbered is the check. It sends again what the map has sent.
func numbered() kit.Check {
	c := kit.Check{ID: "serial-cookie", Class: "predictable-token", Level: client.Safe, Severity: kit.Medium,
		Title: "A cookie is the next number of a counter"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Response == nil {
			return nil
		}
		for _, k := range cookiesOf(t.Response) {
			if _, ok := number(k); !ok || counts.MatchString(k.Name) || !w.Once("serial "+t.Request.URL.Host+k.Name) {
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

// number is the number that a cookie is, which no script reads: as it is, or in base64; false for another cookie, and
// for a time in seconds or milliseconds.
func number(k *http.Cookie) (int, bool) {
	text := k.Value
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(text)%4 == 0 {
		if _, err := strconv.Atoi(string(raw)); err == nil {
			text = string(raw)
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || !k.HttpOnly || k.MaxAge < 0 {
		return 0, false
	}
	for _, at := range []time.Time{time.Unix(int64(n), 0), time.UnixMilli(int64(n))} {
		if since := time.Since(at); since < latest && since > -latest {
			return 0, false
		}
	}
	return n, true
}

// draw has two visitors ask in turn, and reports a cookie that one counter numbers.
func draw(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, name string) error {
	visitors := []*client.User{t.User, nil}
	if len(w.Users) > 1 {
		visitors = w.Users[:2]
	}
	last := -1
	var evidence []kit.Evidence
	for turn := range turns {
		answer, err := w.Ask(ctx, t.Request, visitors[turn%len(visitors)])
		if err != nil {
			return err
		}
		next := -1
		for _, k := range cookiesOf(answer) {
			if n, ok := number(k); ok && k.Name == name {
				next = n
			}
		}
		if next < 0 || last >= 0 && (next <= last || next-last > maxStep) {
			return nil
		}
		last = next
		evidence = append(evidence, kit.Evidence{Request: t.Request, Response: answer, Match: name,
			Note: "visitor " + strconv.Itoa(turn%len(visitors)+1) + " gets " + strconv.Itoa(next)})
	}
	w.Found(c, kit.Finding{Request: t.Request, Place: message.Place{Component: message.Cookie, Name: name},
		Evidence: evidence, Detail: "one counter numbers the cookie " + name + " of all who ask"})
	return nil
}
