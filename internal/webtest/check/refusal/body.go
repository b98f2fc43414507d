package refusal

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// minBody is how many bytes a page has at least; the answers that frameworks write with a redirect have fewer.
const minBody = 200

// body is the check for answers that send a visitor away, and have the page in them all the same: the application goes
// on after it has written the header (CWE-698). With a user, it is the page that the user gets; without one, it has
// forms or tables. bypass runs it.
func body() kit.Check {
	return kit.Check{ID: "page-behind-redirect", Class: "access-bypass", CWE: 698, Level: client.Safe,
		Title: "A redirect has the refused page in it"}.Describe()
}

var content = regexp.MustCompile(`(?i)<(?:form|table|textarea|select|article)[\s>][^\n]{0,80}`)

// behind reports a redirect that has a page in it: of nobody, or of a user who is sent away. Where it is a user, and no
// other gets the page, it is probable.
func (t *trial) behind(ctx context.Context) error {
	away := t.base
	least := minBody
	if len(t.w.Users) > 0 { // who gets the same page
		least = 1
	}
	if to := away.Redirect(); to == nil || len(away.Body) < least || kit.AsksForPassword(away) ||
		strings.TrimSuffix(to.Path, "/") == strings.TrimSuffix(t.page.URL.Path, "/") {
		return nil
	}
	var own *message.Response
	var users []string
	what := string(content.Find(away.Body))
	steps := []proof.Step{}
	if len(t.w.Users) > 0 {
		u, answer, err := t.reader(ctx, away)
		if err != nil {
			return err
		}
		own = answer
		if u == nil && t.as != nil && len(away.Body) >= minBody && what != "" {
			return t.within(ctx, away, nil, what, nil, nil)
		}
		if u == nil {
			return nil
		}
		if what = longest(own, away); what == "" {
			return nil
		}
		users = []string{u.Name}
		steps = append(steps, proof.Step{ID: "user", As: u.Name, Send: t.page, Expect: []proof.Expect{
			{What: proof.Status, Value: "200"}, {What: proof.Contains, Value: what}}})
	}
	return t.within(ctx, away, own, what, users, steps)
}

// reader is the first user who gets the page that a redirect has in it, and what they get; nil if none does.
func (t *trial) reader(ctx context.Context, away *message.Response) (*client.User, *message.Response, error) {
	for _, one := range t.w.Users[:min(len(t.w.Users), maxUsers)] {
		if one == t.as {
			continue
		}
		answer, err := t.w.Shown(ctx, t.page, one)
		if err != nil {
			return nil, nil, err
		}
		if answer.Status == http.StatusOK && kit.Same(answer, page(away)) {
			return one, answer, nil
		}
	}
	return nil, nil, nil
}

// within reports a redirect that has a part of a page in it, again, and that of a page which does not exist has not.
func (t *trial) within(ctx context.Context, away, own *message.Response, what string, users []string,
	steps []proof.Step,
) error {
	if what == "" {
		return nil
	}
	other, err := t.send(ctx, missing(t.page, kit.Word()))
	if err != nil || kit.Same(page(other), page(away)) || strings.Contains(string(other.Body), what) {
		return err
	}
	again, err := t.send(ctx, t.page)
	if err != nil || again.Redirect() == nil || !strings.Contains(string(again.Body), what) {
		return err
	}
	if !t.w.Once("behind a redirect " + t.page.URL.Host + t.page.URL.RequestURI()) {
		return nil // it was found for somebody else
	}
	evidence := []kit.Evidence{{Request: t.page, Response: away, Match: what,
		Note: "the visitor is sent away, and the page is in the answer"},
		{Request: other.Request, Response: other, Note: "a page that does not exist is answered otherwise"}}
	if own != nil {
		evidence = append(evidence, kit.Evidence{Request: t.page, Response: own, Note: "what a user gets"})
	}
	who, confidence, about := "", kit.Proved, "Nobody is logged in, and the page is in the answer that sends away."
	if t.as != nil {
		who, about = t.as.Name, t.as.Name+" is sent away, and the page is in the answer."
		users = append(users, who)
		if own == nil {
			confidence = kit.Probable
		}
	}
	steps = append(steps, proof.Step{ID: "away", As: who, Send: t.page, Expect: []proof.Expect{
		{What: proof.Status, Value: "200", Not: true}, {What: proof.Contains, Value: what}}})
	t.w.Found(t.c, kit.Finding{Request: t.page, Evidence: evidence, Confidence: confidence,
		Proof: &proof.Program{About: about, Users: users, Steps: steps}})
	return nil
}

// page is a redirect as if it were a page.
func page(r *message.Response) *message.Response {
	out := *r
	out.Status, out.Header = http.StatusOK, r.Header.Clone()
	out.Header.Del("Location")
	return &out
}

// longest is the longest line of text that two answers have.
func longest(a, b *message.Response) (line string) {
	other := string(b.Body)
	for l := range strings.SplitSeq(string(a.Body), "\n") {
		if l = strings.TrimSpace(l); len(l) > len(line) && len(l) <= 1000 && strings.Contains(other, l) {
			line = l
		}
	}
	return line
}
