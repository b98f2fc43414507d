// Package connections serves the documented operations about Slack and GitHub. There is no Slack: each of its
// operations refuses by name, so that a caller can tell that from a wrong path. So do those of GitHub on a server
// without an App.
package connections

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

var errNoSlack = errs.New(errs.Conflict, "slack_not_configured",
	"This server does not connect to Slack. Use a webhook or an alerting configuration to be told there.")

// Setup is the body of POST /api/v1/slack/oauth/claim.
type Setup struct {
	Token string `json:"setup_token" minLength:"1" maxLength:"2000" doc:"What Slack's page gave."`
}

// Area is the area.
type Area struct {
	*rest.API
	Reviews *review.Reviews
}

type claim struct{ Body Setup }

const (
	slack  = "/api/v1/slack/oauth"
	github = "/api/v1/github"
)

// Register adds the operations.
func (a Area) Register() {
	const noSlack = "Slack is not connected to this server"
	refuse[struct{}](a, "get-slack-status", "GET "+slack+"/status", "Slack", noSlack, errNoSlack)
	refuse[struct{}](a, "finish-slack", "GET "+slack+"/callback", "Slack", noSlack, errNoSlack)
	refuse[claim](a, "claim-slack", "POST "+slack+"/claim", "Slack", noSlack, errNoSlack)
	a.installations()
	a.repositories()
	a.reviews()
}

// refuse adds an operation that answers 409 to everybody who may call it.
func refuse[I any](a Area, id, path, tag, summary string, why error) {
	op := rest.NewOp(id, path, tag, summary, 409)
	op.Description = "It answers 409 with the code " + errs.From(why).Code + "."
	signin.Act(a.API, op, "", func(ctx context.Context, _ *I) error {
		if op.Method != http.MethodGet {
			if _, err := account.Writer(ctx); err != nil {
				return err
			}
		}
		return why
	})
}
