package app

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/ratelimit"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// Slack are the options of the Slack app by which teams work with their agents.
type Slack struct {
	SlackID      string `koanf:"slack_client_id"`
	SlackSecret  string `koanf:"slack_client_secret"`
	SlackSigning string `koanf:"slack_signing_secret"`
	SlackAPI     string `koanf:"slack_api_url"`
}

func slackOptions() []Option {
	return []Option{
		{Key: "slack_client_id", Default: "",
			Help: "client id of your Slack app, which teams can connect; needs slack_client_secret and slack_signing_secret; empty: teams connect apps of their own"},
		{Key: "slack_client_secret", Default: "", Help: "secret of that client", Secret: true},
		{Key: "slack_signing_secret", Default: "",
			Help: "secret with which Slack signs what it sends to /hooks/slack", Secret: true},
		{Key: "slack_api_url", Default: slack.DefaultAPI, Help: "URL of Slack's Web API"},
	}
}

// check rejects options that do not go together.
func (s Slack) check() error {
	switch {
	case (s.SlackID == "") != (s.SlackSecret == "") || (s.SlackID == "") != (s.SlackSigning == ""):
		return errors.New("slack_client_id, slack_client_secret and slack_signing_secret go together")
	case !isWebURL(s.SlackAPI):
		return fmt.Errorf("slack_api_url %q: must be an http or https URL", s.SlackAPI)
	}
	return nil
}

// openChats opens the service of chats. An API that the operator names may be in a private network.
func (a *App) openChats(box *seal.Box) {
	s, guard := a.config.Slack, &netguard.Guard{}
	if s.SlackAPI != slack.DefaultAPI {
		guard.Allow = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	a.chats = chat.New(a.db, chat.Config{
		Queue: a.queue, Box: box, Accounts: a.Accounts, Tasks: a.Tasks, Secrets: a.secrets, Audit: a.audit,
		Client:    slack.New(s.SlackAPI, guard),
		App:       slack.App{ClientID: s.SlackID, ClientSecret: s.SlackSecret, SigningSecret: s.SlackSigning},
		PublicURL: a.config.PublicURL, Logger: a.logger, Rate: ratelimit.New(a.config.APIRate, a.config.APIBurst),
	})
}
