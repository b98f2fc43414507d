package access

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var (
	saidRole = regexp.MustCompile(`(?i)\b(?:user_?|account_?)?(?:role|type|group|level|rank` +
		`|tier)s?["']?\s*(?:[:=]\s*(?:</\w+>\s*<\w+>)?|</\w+>\s*<\w+>)\s*\[?\s*["']?([a-z_]{3,20})\b`)
	saidAdmin = regexp.MustCompile(`(?i)\b(?:is_?)?(?:admin|staff|superuser)["']?\s*[:=]\s*["']?(true|1|false|0)\b`)
	ofAdmins  = regexp.MustCompile(`(?i)admin|root|super|owner|manager|staff|operator`)
)

// offices is the check for pages whose address says that they are for those who run the application, which no page
// leads a user to, and which the user can open all the same and nobody else can. It is proved where the application
// says that the user has another role, and probable where it says nothing of roles. Two requests for each such address
// and user, and one for each page of the map where there is one.
func offices() kit.Check {
	c := kit.Check{ID: "pages-of-staff", Class: "bfla", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, u := range w.Users[:min(len(w.Users), 3)] {
			if err := officesOf(ctx, w, &c, u); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func officesOf(ctx context.Context, w *kit.World, c *kit.Check, u *client.User) error {
	var rooms, pages []*message.Request
	for _, r := range w.Pages() {
		switch {
		case r.Method != http.MethodGet:
		case ofStaff(r):
			rooms = append(rooms, r)
		case len(pages) < maxPages:
			pages = append(pages, r)
		}
	}
	if len(rooms) == 0 {
		return nil
	}
	var texts []*message.Response
	for _, r := range pages {
		answer, err := w.Shown(ctx, r, u)
		if err != nil {
			return err
		}
		if kit.Describes(answer) {
			continue
		}
		texts = append(texts, answer)
	}
	runs, says := roleOf(u, texts)
	if runs {
		return nil
	}
	for _, r := range rooms[:min(len(rooms), maxRefused)] {
		if led(texts, r) {
			continue
		}
		own, err := w.Client.Send(ctx, r, client.Options{As: u})
		if errors.Is(err, client.ErrScope) {
			continue
		}
		if own, err = kit.Broken(ctx, r, own, err); err != nil {
			return err
		}
		if own.Status != http.StatusOK || kit.Static(own) {
			continue
		}
		nobody, err := w.Client.Send(ctx, r, client.Options{})
		if nobody, err = kit.Broken(ctx, r, nobody, err); err != nil {
			return err
		}
		if nobody.Status == 0 || nobody.Status == http.StatusOK || nobody.Status >= 500 {
			continue
		}
		user, users := kit.Names(u)
		f := kit.Finding{Request: r, Confidence: kit.Probable,
			Detail: "the application says nothing of the role of " + u.Name,
			Evidence: []kit.Evidence{{Request: r, Response: own, Note: u.Name + " can open it, whom no page leads there"},
				{Request: r, Response: nobody, Note: "nobody can"}},
			Proof: &proof.Program{About: u.Name + " opens a page of those who run the application.", Users: users,
				Steps: []proof.Step{
					{ID: "user", As: user, Send: r, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
					{ID: "nobody", Send: r, Expect: []proof.Expect{{What: proof.Status, Value: "200", Not: true}}}}}}
		if says != nil {
			f.Confidence, f.Detail = kit.Proved, ""
			f.Evidence = append(f.Evidence, kit.Evidence{Request: says.Request, Response: says,
				Match: string(saidRole.Find(says.Body)),
				Note:  "the application says which role " + u.Name + " has"})
		}
		w.Found(c, f)
	}
	return nil
}

// roleOf reports whether pages say that a user is one of those who run the application, and the page that says that
// they are not; nil if none says either.
func roleOf(u *client.User, texts []*message.Response) (runs bool, says *message.Response) {
	for _, text := range texts {
		body := string(text.Body)
		if text.Status != http.StatusOK || !strings.Contains(strings.ToLower(body), strings.ToLower(u.Name)) {
			continue
		}
		if m := saidAdmin.FindStringSubmatch(body); m != nil {
			if m[1] == "true" || m[1] == "1" {
				return true, nil
			}
			says = text
		}
		for _, m := range saidRole.FindAllStringSubmatch(body, 20) {
			if ofAdmins.MatchString(m[1]) {
				return true, nil
			}
			if roleValue.MatchString(m[1]) {
				says = text
			}
		}
	}
	return false, says
}

// led reports whether a page leads to a request.
func led(texts []*message.Response, to *message.Request) bool {
	for _, name := range ways(to) {
		for _, text := range texts {
			if contains(text, name) {
				return true
			}
		}
	}
	return false
}
