package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	Provider string `yaml:"-"` // github, gitlab, jira, linear or custom

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
}

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

var providers = map[string][]string{
	"github": {"owner", "project-name", "token"}, "gitlab": {"project-name", "token"},
	"jira":   {"url", "project-name", "token"},
	"linear": {"api-key", "team-id"}, "custom": {"url"},
}

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
		return out, errors.New("it names no tracker: github, gitlab, jira, linear or custom")
	}
	return out, nil
}

// fold joins settings with two names, and sets defaults.
func (t *Tracker) fold() {
	public := map[string]string{
		"github": "https://api.github.com", "gitlab": "https://gitlab.com", "linear": "https://api.linear.app",
	}
	t.BaseURL = strings.TrimRight(cmp.Or(t.BaseURL, t.URL, public[t.Provider]), "/")
	t.Token = cmp.Or(t.Token, t.APIKey)
	t.Project = cmp.Or(t.Project, t.ProjectID)
}

func (t *Tracker) check(needs []string) error {
	values := map[string]string{
		"owner": t.Owner, "project-name": t.Project, "token": t.Token, "api-key": t.Token, "url": t.BaseURL,
		"team-id": t.TeamID,
	}
	for _, key := range needs {
		if values[key] == "" {
			return fmt.Errorf("%s is needed", key)
		}
	}
	if !netguard.IsWebURL(t.BaseURL) {
		return errors.New("its address must be an http or https URL")
	}
	return nil
}
