package app

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/review/program"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/github"
	"github.com/vedette-sec/vedette/internal/notify/gitlab"
)

// GitHub are the options of the GitHub App that reviews pull requests, and of all reviews.
type GitHub struct {
	AppID         int64  `koanf:"github_app_id"`
	KeyFile       string `koanf:"github_private_key_file"`
	WebhookSecret string `koanf:"github_webhook_secret"`
	ClientID      string `koanf:"github_client_id"`
	ClientSecret  string `koanf:"github_client_secret"`
	API           string `koanf:"github_api_url"`
	SemgrepRules  string `koanf:"semgrep_rules"`
}

func githubOptions() []Option {
	return []Option{
		{Key: "github_app_id", Default: int64(0),
			Help: "id of your GitHub App, which reviews pull requests; needs github_private_key_file and github_webhook_secret; 0: none"},
		{Key: "github_private_key_file", Default: "", Help: "file with the private key of the App, in PEM"},
		{Key: "github_webhook_secret", Default: "",
			Help: "secret of the App's webhooks, which GitHub sends to /hooks/github", Secret: true},
		{Key: "github_client_id", Default: "",
			Help: "client of the App, with which teams prove that an installation is theirs; empty: operators alone connect installations"},
		{Key: "github_client_secret", Default: "", Help: "secret of that client", Secret: true},
		{Key: "github_api_url", Default: github.DefaultAPI,
			Help: "URL of GitHub's API; of GitHub Enterprise https://HOST/api/v3"},
		{Key: "semgrep_rules", Default: "",
			Help: "file or folder of rules with which semgrep, if it is installed, looks at pull and merge requests; everybody must be able to read it"},
	}
}

// check rejects options that do not go together.
func (g GitHub) check() error {
	switch {
	case g.AppID < 0:
		return fmt.Errorf("github_app_id %d: must be 0 or more", g.AppID)
	case g.AppID == 0 && (g.KeyFile != "" || g.WebhookSecret != "" || g.ClientID != ""):
		return errors.New("github_private_key_file, github_webhook_secret and github_client_id need github_app_id")
	case g.AppID != 0 && (g.KeyFile == "" || g.WebhookSecret == ""):
		return errors.New("github_app_id needs github_private_key_file and github_webhook_secret")
	case (g.ClientID == "") != (g.ClientSecret == ""):
		return errors.New("github_client_id and github_client_secret go together")
	case !isWebURL(g.API):
		return fmt.Errorf("github_api_url %q: must be an http or https URL", g.API)
	}
	return nil
}

// openReviews reads the App's key. The operator names the API, so it may be in a private network; people name GitLabs.
func (a *App) openReviews(box *seal.Box, users *netguard.Guard) (*review.Reviews, error) {
	g := a.config.GitHub
	if g.SemgrepRules != "" {
		at, err := filepath.Abs(g.SemgrepRules)
		if err == nil {
			_, err = os.Stat(at)
		}
		if err != nil {
			return nil, fmt.Errorf("semgrep_rules: %w", err)
		}
		g.SemgrepRules = at
	}
	deps := review.Deps{Lab: gitlab.New(users), Box: box, Models: a.Models, Secrets: a.secrets,
		Programs: program.New(g.SemgrepRules)}
	if g.AppID == 0 {
		return review.New(a.db, a.queue, deps), nil
	}
	key, err := os.ReadFile(g.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("github_private_key_file: %w", err)
	}
	anywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	deps.App, err = github.New(github.Config{AppID: g.AppID, Key: key, WebhookSecret: g.WebhookSecret,
		ClientID:     g.ClientID,
		ClientSecret: g.ClientSecret, API: g.API}, &netguard.Guard{Allow: anywhere})
	if err != nil {
		return nil, fmt.Errorf("github_app_id: %w", err)
	}
	return review.New(a.db, a.queue, deps), nil
}
