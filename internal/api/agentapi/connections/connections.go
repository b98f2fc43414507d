// Package connections serves the operations about Slack, GitHub and GitLab. Those that need an app of the operator's
// are refused by name on a server without one, so that a caller can tell that from a wrong path.
package connections

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Area is the area.
type Area struct {
	*rest.API
	Reviews *review.Reviews
	Chats   *chat.Chats
}

const (
	slack  = "/api/v1/slack"
	github = "/api/v1/github"
	gitlab = "/api/v1/gitlab"
)

// Register adds the operations.
func (a Area) Register() {
	a.slack()
	a.installations()
	a.repositories()
	a.reviews()
	a.gitlab()
	a.projects()
	a.defaults()
}

// sentOn documents that browsers are sent on to the console.
func sentOn(of string) map[string]*huma.Response {
	return map[string]*huma.Response{"303": {Description: "A browser is sent on to the console.",
		Headers: map[string]*huma.Param{
			"Location": {Description: "The console's page of " + of + ".", Schema: &huma.Schema{Type: huma.TypeString}}}}}
}

// sendOn is the page of the console that a browser is sent on to, which says how it went. It is empty where no person
// looks at the answer, and for failures of this server, which belong in its log.
func sendOn(r *http.Request, page, connected string, err error) string {
	switch {
	case r == nil || !strings.Contains(r.Header.Get("Accept"), "text/html"):
		return ""
	case err == nil:
		return page + "?connected=" + url.QueryEscape(connected)
	case errs.From(err).Kind == errs.Internal:
		return ""
	}
	return page + "?problem=" + url.QueryEscape(errs.From(err).Code)
}
