package stories

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/notify/slack/slacktest"
)

// fromSlack signs a request whose header X-Slack-Signature has one of the words signed, old, pressed (a payload, which is
// sent in a form) or "signed SECRET", and gives the body to send.
func fromSlack(header http.Header, body string) string {
	word, secret, own := strings.Cut(header.Get("X-Slack-Signature"), " ")
	at := time.Now()
	switch word {
	case "old":
		at = at.Add(-6 * time.Minute)
	case "pressed":
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		body = url.Values{"payload": {body}}.Encode()
	case "signed":
	default:
		return body
	}
	if !own {
		secret = slacktest.SigningSecret
	}
	maps.Copy(header, slacktest.SignWith(secret, []byte(body), at))
	return body
}
