package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"go.yaml.in/yaml/v4"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Severities is an allow list or a deny list.
type Severities struct {
	Severity []string `yaml:"severity"`
}

// Tracker is one provider with its settings, under the names of nuclei's reporting configuration.
type Tracker struct {
	Provider string `yaml:"-"` // one of Providers

	BaseURL     string            `yaml:"base-url"`
	URL         string            `yaml:"url"` // another name of BaseURL (Jira, webhooks)
	Username    string            `yaml:"username"`
	Owner       string            `yaml:"owner"`
	Token       string            `yaml:"token"`
	APIKey      string            `yaml:"api-key"` // another name of Token (Linear)
	Project     string            `yaml:"project-name"`
	ProjectID   string            `yaml:"project-id"`
	Label       string            `yaml:"issue-label"`
	SeverityTag bool              `yaml:"severity-as-label"`
	AccountID   string            `yaml:"account-id"`
	Email       string            `yaml:"email"`
	IssueType   string            `yaml:"issue-type"`
	Closed      string            `yaml:"status-not"` // Jira: issues with this status are closed; Done when empty
	TeamID      string            `yaml:"team-id"`
	OpenStateID string            `yaml:"open-state-id"`
	Fields      map[string]any    `yaml:"custom-fields"`
	Headers     map[string]string `yaml:"headers"`
	Allow       Severities        `yaml:"allow-list"`
	Deny        Severities        `yaml:"deny-list"`

	Synced        *bool  `yaml:"sync"`           // statuses follow each other both ways; nil: see Syncs
	Comments      bool   `yaml:"comments"`       // comments are copied both ways
	WebhookSecret string `yaml:"webhook-secret"` // what proves that a webhook is the tracker's; empty: none are taken
	PollMinutes   int    `yaml:"poll-minutes"`   // between two questions for what has changed; 5 when 0
	APIVersion    string `yaml:"api-version"`    // Jira: 2 or 3; by its address when empty
	ProgressLabel string `yaml:"progress-label"` // GitHub, GitLab: the label of an issue that somebody works on
	DeclinedLabel string `yaml:"declined-label"` // GitLab: the label of an issue that is closed and not solved
	ToDo          string `yaml:"status-open"`    // Jira: a status by its name, where several are of one category
	Doing         string `yaml:"status-progress"`
	Closing       string `yaml:"status-closed"`
	Table         string `yaml:"table"` // ServiceNow: incident when empty
	Password      string `yaml:"password"`
	CloseCode     string `yaml:"close-code"`    // ServiceNow: of what is resolved
	DeclinedCode  string `yaml:"declined-code"` // ServiceNow: of what is closed and not solved
}

// Syncs reports whether statuses follow each other both ways: unless the configuration says otherwise, everywhere but
// at a webhook of one's own, which may not know how.
func (t Tracker) Syncs() bool {
	if t.Synced != nil {
		return *t.Synced
	}
	return t.Provider != "custom"
}

// PollEvery is the time between two questions for what has changed.
func (t Tracker) PollEvery() time.Duration { return time.Duration(t.PollMinutes) * time.Minute }

// Config is a team's reporting configuration.
type Config struct{ Trackers []Tracker }

// Provider are the names of the providers, with commas.
func (c Config) Provider() string {
	var names []string
	for _, t := range c.Trackers {
		names = append(names, t.Provider)
	}
	return strings.Join(names, ",")
}

// Providers are the trackers, with the settings that each needs.
var providers = map[string][]string{
	"github": {"owner", "project-name", "token"}, "gitlab": {"project-name", "token"},
	"jira":   {"url", "project-name", "token"},
	"linear": {"api-key", "team-id"}, "azure": {"owner", "project-name", "token"},
	"servicenow": {"url", "username", "password"}, "custom": {"url"},
}

// Providers are the names of the trackers, sorted.
func Providers() []string { return slices.Sorted(maps.Keys(providers)) }

// Parse reads a reporting configuration (YAML): allow-list and deny-list beside the providers are defaults for all.
// Other keys, for exporters of files, are ignored.
func Parse(text []byte) (Config, error) {
	// Check has seen that keys are unique; the library compares each with all others.
	var top map[string]yaml.Node
	if yamltext.Check(text) != nil || yaml.Load(text, &top, yaml.WithUniqueKeys(false)) != nil {
		return Config{}, errors.New("it is not a mapping of trackers")
	}
	var common struct {
		Allow Severities `yaml:"allow-list"`
		Deny  Severities `yaml:"deny-list"`
	}
	if err := yaml.Load(text, &common, yaml.WithUniqueKeys(false)); err != nil {
		return Config{}, errors.New("allow-list and deny-list have a list named severity")
	}
	var out Config
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		node, ok := top[name]
		if !ok {
			continue
		}
		t := Tracker{Allow: common.Allow, Deny: common.Deny}
		if err := node.Load(&t, yaml.WithUniqueKeys(false)); err != nil {
			return out, fmt.Errorf("%s: a setting is not of its type", name)
		}
		t.Provider = name
		t.fold()
		if err := t.check(providers[name]); err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		out.Trackers = append(out.Trackers, t)
	}
	if len(out.Trackers) == 0 {
		return out, errors.New("it names no tracker: " + strings.Join(Providers(), ", ") + " are")
	}
	return out, nil
}

// fold joins settings with two names, and sets defaults.
func (t *Tracker) fold() {
	public := map[string]string{
		"github": "https://api.github.com", "gitlab": "https://gitlab.com", "linear": "https://api.linear.app",
		"azure": "https://dev.azure.com",
	}
	t.BaseURL = strings.TrimRight(cmp.Or(t.BaseURL, t.URL, public[t.Provider]), "/")
	t.Token = cmp.Or(t.Token, t.APIKey)
	t.Project = cmp.Or(t.Project, t.ProjectID)
	t.ProgressLabel = cmp.Or(t.ProgressLabel, "in progress")
	t.DeclinedLabel = cmp.Or(t.DeclinedLabel, "wontfix")
	t.PollMinutes = cmp.Or(t.PollMinutes, 5)
	t.Table = cmp.Or(t.Table, "incident")
	t.CloseCode = cmp.Or(t.CloseCode, "Solution provided")
	t.DeclinedCode = cmp.Or(t.DeclinedCode, "No resolution provided")
	if t.Provider == "jira" && t.APIVersion == "" {
		t.APIVersion = "2"
		if u, err := url.Parse(t.BaseURL); err == nil && strings.HasSuffix(u.Hostname(), ".atlassian.net") {
			t.APIVersion = "3"
		}
	}
}

func (t *Tracker) check(needs []string) error {
	values := map[string]string{
		"owner": t.Owner, "project-name": t.Project, "token": t.Token, "api-key": t.Token, "url": t.BaseURL,
		"team-id": t.TeamID, "username": cmp.Or(t.Username, t.Token), "password": cmp.Or(t.Password, t.Token),
	}
	for _, key := range needs {
		if values[key] == "" {
			return fmt.Errorf("%s is needed", key)
		}
	}
	switch {
	case !netguard.IsWebURL(t.BaseURL):
		return errors.New("its address must be an http or https URL")
	case t.PollMinutes < 1 || t.PollMinutes > maxPoll:
		return fmt.Errorf("poll-minutes must be from 1 to %d", maxPoll)
	case t.WebhookSecret != "" && len(t.WebhookSecret) < minSecret:
		return fmt.Errorf("webhook-secret must have at least %d characters", minSecret)
	case t.Provider == "jira" && t.APIVersion != "2" && t.APIVersion != "3":
		return errors.New("api-version must be 2 or 3")
	case strings.Trim(t.Table, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return errors.New("table must be the name of a table, such as incident")
	}
	return nil
}

const (
	maxPoll   = 1440 // minutes
	minSecret = 16   // characters
)
