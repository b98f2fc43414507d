package refusal

import (
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var login = regexp.MustCompile(`(?i)log-?_?in|sign-?_?in|auth|sso|session`)

var password = regexp.MustCompile(`(?i)<input[^>]+type\s*=\s*["']?password`)

func asksForPassword(r *message.Response) bool { return password.Match(r.Body) }

// refusing are sentences of pages that refuse with status 200; maxRefusing is how many letters such a page shows.
var refusing = regexp.MustCompile(`(?i)\b(?:access|permission|request)(?: is| was| has been)? (?:denied|forbidden|refused|restricted)` +
	`|\bnot (?:be )?(?:authori[sz]ed|allowed|permitted)\b|\bunauthori[sz]ed\b|\bforbidden\b` +
	`|\b(?:admin(?:istrator)?s?|staff|localhost|internal (?:users|network|hosts?)|local (?:users|network|requests)) only\b` +
	`|\b(?:only|restricted to|reserved for) (?:\w+ ){0,4}(?:admin|staff|localhost|internal|local|127\.0\.0\.1)` +
	`|\b(?:insufficient|no) (?:rights|privileges?|permissions?)\b` +
	`|\b(?:do not|don.t|must|need to) (?:have|be|log|sign) (?:\w+ ){0,2}(?:access|permission|rights|admin|in)\w*`)

// tags are what a page does not show of itself, and what stands on each page.
var tags = regexp.MustCompile(`(?is)<(?:script|style|nav|header|footer)\b.*?</(?:script|style|nav|header|footer)\s*>|<[^>]*>|\s+`)

const maxRefusing = 800

// refusal is the sentence by which a page with status 200 refuses; "" if it is a page.
func refusal(r *message.Response) string {
	if r.Status != http.StatusOK || asksForPassword(r) {
		return ""
	}
	if shown := tags.ReplaceAllString(string(r.Body), " "); len(shown) <= maxRefusing {
		return refusing.FindString(shown)
	}
	return ""
}

// isRefused says whether an answer refuses.
func isRefused(r *message.Response) bool {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || refusal(r) != "" {
		return true
	}
	to := r.Redirect()
	return to != nil && login.MatchString(to.Path)
}

// says is what a proof expects of an answer that refuses.
func says(r *message.Response) proof.Expect {
	if r.Status != http.StatusOK {
		return proof.Expect{What: proof.Status, Value: "200", Not: true}
	}
	return proof.Expect{What: proof.Matches, Value: refusing.String()}
}
