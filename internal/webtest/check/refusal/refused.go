package refusal

import (
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var login = regexp.MustCompile(`(?i)log-?_?in|sign-?_?in|auth|sso|session`)

// isRefused says whether an answer refuses.
func isRefused(r *message.Response) bool {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || kit.Refusal(r) != "" {
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
	return proof.Expect{What: proof.Matches, Value: kit.Refusing.String()}
}
