package kit

import (
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var password = regexp.MustCompile(`(?i)<input[^>]+type\s*=\s*["']?password`)

// AsksForPassword reports whether a page has a field for one.
func AsksForPassword(r *message.Response) bool { return password.Match(r.Body) }

// Refusing are sentences of pages that refuse with status 200; maxRefusing is how many letters such a page shows.
var Refusing = regexp.MustCompile(`(?i)\b(?:access|permission|request)(?: is| was| has been)? (?:denied|forbidden|refused|restricted)` +
	`|\bnot (?:be )?(?:authori[sz]ed|allowed|permitted)\b|\bunauthori[sz]ed\b|\bforbidden\b` +
	`|\b(?:admin(?:istrator)?s?|staff|localhost|internal (?:users|network|hosts?)|local (?:users|network|requests)) only\b` +
	`|\b(?:only|restricted to|reserved for) (?:\w+ ){0,4}(?:admin|staff|localhost|internal|local|127\.0\.0\.1)` +
	`|\b(?:is|are) (?:only )?for (?:\w+ ){0,2}(?:admin\w*|staff|managers|moderators|supervisors)\b` +
	`|\b(?:insufficient|no) (?:rights|privileges?|permissions?)\b` +
	`|\b(?:do not|don.t|must|need to) (?:have|be|log|sign) (?:\w+ ){0,2}(?:access|permission|rights|admin|in)\w*`)

// tags are what a page does not show of itself, and what stands on each page.
var tags = regexp.MustCompile(`(?is)<(?:script|style|nav|header|footer)\b.*?</(?:script|style|nav|header|footer)\s*>|<[^>]*>|\s+`)

const maxRefusing = 800

// Opened reports whether an answer is a page, and no refusal.
func Opened(r *message.Response) bool {
	return r.Status == http.StatusOK && !Static(r) && !AsksForPassword(r) && Refusal(r) == ""
}

// Refusal is the sentence by which a page with status 200 refuses; "" if it is a page.
func Refusal(r *message.Response) string {
	if r.Status != http.StatusOK || AsksForPassword(r) {
		return ""
	}
	if shown := tags.ReplaceAllString(string(r.Body), " "); len(shown) <= maxRefusing {
		return Refusing.FindString(shown)
	}
	return ""
}
