package owned

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const people = `(?:admin(?:istrator)?|staff|chief|manager|moderator|supervisor|superuser)s?`

var (
	// saysStaff are words of a description by which only those who run the application may do something.
	saysStaff = regexp.MustCompile(`(?i)\b(?:for|by|only|requires?|needs?) (?:the |an? )?(?:role )?["'` + "`]?" + people +
		`\b|\b` + people + `[ -](?:only|rights|privileges)\b`)
	// saysRole are members by which an answer says that its reader runs the application.
	saysRole = regexp.MustCompile(`(?i)"(?:is_?)?(?:admin|staff|superuser)"\s*:\s*true|"(?:user_?)?role"\s*:\s*"` + people + `"`)
)

// maxDescribed are how many such requests are asked for.
const maxDescribed = 40

// forStaff is the check for data that the description of an interface says is for those who run the application, and
// that each of two users gets, none of whom any answer says to run it; nobody without a login gets it, or another
// weakness is meant. Three requests for each GET that is so described, and one for each answer of the map that is data
// where there is one.
func forStaff() kit.Check {
	c := kit.Check{ID: "described-for-staff", Class: "bfla", Level: client.Safe,
		Title: "Users get what the description of the interface says is for others"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if w.About == nil || len(w.Users) < 2 {
			return nil
		}
		var rooms []*message.Request
		for _, r := range w.Pages() {
			if r.Method == http.MethodGet && saysStaff.MatchString(w.About(r)) && len(rooms) < maxDescribed &&
				w.Once("described "+r.URL.String()) {
				rooms = append(rooms, r)
			}
		}
		if runs, err := isStaff(ctx, w, rooms); err != nil || runs {
			return err
		}
		for _, r := range rooms {
			if err := opened(ctx, w, &c, r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// isStaff reports whether an answer to one of two users, but for those that are tested, says that they run the
// application.
func isStaff(ctx context.Context, w *kit.World, but []*message.Request) (bool, error) {
	asked := 0
	for _, r := range w.Pages() {
		if len(but) == 0 || r.Method != http.MethodGet || asked >= maxPages || saysStaff.MatchString(w.About(r)) {
			continue
		}
		asked++
		for _, u := range w.Users[:2] {
			answer, err := w.Shown(ctx, r, u)
			if err != nil {
				return false, err
			}
			var value any
			if !kit.Describes(answer) && json.Unmarshal(answer.Body, &value) == nil && runsIt(value, u.Name) {
				return true, nil
			}
		}
	}
	return false, nil
}

// runsIt reports whether JSON says of the user of a name that they run the application. Each object in a list is about
// somebody of its own: that one of them runs it says nothing of the others.
func runsIt(value any, name string) bool {
	var lists []any
	about := withoutLists(value, &lists)
	text, err := json.Marshal(about)
	if err == nil && saysRole.Match(text) && bytes.Contains(text, []byte(name)) {
		return true
	}
	return slices.ContainsFunc(lists, func(item any) bool { return runsIt(item, name) })
}

// withoutLists is a value without the lists in it, whose items are added to items.
func withoutLists(value any, items *[]any) any {
	switch v := value.(type) {
	case []any:
		*items = append(*items, v...)
		return nil
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			out[name] = withoutLists(inner, items)
		}
		return out
	}
	return value
}

// opened reports a request that both users and nobody else may send.
func opened(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request) error {
	about := w.About(r)
	says := saysStaff.FindString(about)
	var evidence []kit.Evidence
	var steps []proof.Step
	var users []string
	for _, u := range w.Users[:2] {
		answer, err := w.Ask(ctx, r, u)
		if err != nil || answer.Status != http.StatusOK || len(bytes.TrimSpace(answer.Body)) < 3 || kit.Static(answer) ||
			kit.Refusal(answer) != "" {
			return err
		}
		users = append(users, u.Name)
		evidence = append(evidence, kit.Evidence{Request: r, Response: answer,
			Note: "what " + u.Name + " gets, though the description says \"" + says + "\""})
		steps = append(steps, proof.Step{ID: "user " + u.Name, As: u.Name, Send: r,
			Expect: []proof.Expect{{What: proof.Status, Value: "200"}}})
	}
	nobody, err := w.Ask(ctx, r, nil)
	if err != nil || nobody.Status == 0 || nobody.Status == http.StatusOK || nobody.Status >= 500 {
		return err
	}
	w.Found(c, kit.Finding{Request: r, Detail: "its description: " + about,
		Evidence: append(evidence, kit.Evidence{Request: r, Response: nobody, Note: "what nobody gets"}),
		Proof: &proof.Program{About: "Users get what the description says is for those who run the application.", Users: users,
			Steps: append(steps, proof.Step{ID: "nobody", Send: r,
				Expect: []proof.Expect{{What: proof.Status, Value: "200", Not: true}}})}})
	return nil
}
