package alert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"go.yaml.in/yaml/v4"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const maxChannels = 20

// Channel is one receiver of alerts.
type Channel struct {
	Provider string // slack, discord, teams, telegram, smtp or webhook
	settings
}

// settings are those of all providers; each uses some of them.
type settings struct {
	ID         string            `yaml:"id"`
	SigningOne secrets           `yaml:"signing_secret"` // another name of Signing
	WebhookURL string            `yaml:"webhook_url"`
	URL        string            `yaml:"url"`
	APIURL     string            `yaml:"api_url"` // of Telegram; the public one when empty
	APIKey     string            `yaml:"api_key"`
	ChatID     string            `yaml:"chat_id"`
	Username   string            `yaml:"username"`
	Password   string            `yaml:"password"`
	Token      string            `yaml:"token"` // bearer token of a webhook
	Headers    map[string]string `yaml:"headers"`
	Signing    secrets           `yaml:"signing_secrets"` // of a webhook: the first is the newest
	Server     string            `yaml:"server"`          // host:port of a mail server
	From       string            `yaml:"from_address"`
	To         []string          `yaml:"to"`
	CC         []string          `yaml:"cc"` // another name of To
	Insecure   bool              `yaml:"disable_starttls"`
	Events     []Kind            `yaml:"events"`   // none: all but running
	Severities []string          `yaml:"severity"` // none: all
}

// Config is a team's alerting configuration.
type Config struct {
	Channels []Channel
}

// Provider are the names of the providers, with commas.
func (c Config) Provider() string {
	var names []string
	for _, channel := range c.Channels {
		names = append(names, channel.Provider)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// defaultEvents are sent when a configuration names none.
var defaultEvents = []Kind{Finished, Failed, NewVuln, NewAsset, SourceDrop, Regression, RiskEnded, DueSoon, Overdue,
	Report}

// Wants reports whether a channel gets alerts of a kind.
func (c Channel) Wants(k Kind) bool {
	if len(c.Events) == 0 {
		return slices.Contains(defaultEvents, k)
	}
	return slices.Contains(c.Events, k)
}

// names are the spellings of providers, and our names.
var names = map[string]string{
	"slack": "slack", "discord": "discord", "telegram": "telegram", "teams": "teams", "msteams": "teams", "smtp": "smtp",
	"email": "smtp", "webhook": "webhook", "custom": "webhook", "generic": "webhook",
}

// Parse reads an alerting configuration (YAML): a mapping of a provider to its settings or to a list of them; keys may
// begin with the provider's name (slack_webhook_url). events and severity beside the providers are defaults for all.
func Parse(text []byte) (Config, error) {
	// Check has seen that keys are unique; the library compares each with all others.
	var top map[string]yaml.Node
	if yamltext.Check(text) != nil || yaml.Load(text, &top, yaml.WithUniqueKeys(false)) != nil {
		return Config{}, errors.New("it is not a mapping of providers")
	}
	var common settings
	var out Config
	for _, one := range []struct {
		key  string
		into any
	}{{"events", &common.Events}, {"severity", &common.Severities}} {
		node, ok := top[one.key]
		if !ok {
			continue
		}
		if err := node.Load(one.into, yaml.WithUniqueKeys(false)); err != nil {
			return out, fmt.Errorf("%s is not a list of words", one.key)
		}
		delete(top, one.key)
	}
	for _, key := range slices.Sorted(maps.Keys(top)) {
		node := top[key]
		provider, ok := names[key]
		if !ok {
			return out, fmt.Errorf("%q is no provider: slack, discord, telegram, teams, smtp, webhook are", key)
		}
		items := []*yaml.Node{&node}
		if node.Kind == yaml.SequenceNode {
			items = node.Content
		}
		for _, item := range items {
			channel, err := readChannel(key, provider, item)
			if err != nil {
				return out, fmt.Errorf("%s: %w", key, err)
			}
			if channel.Events == nil {
				channel.Events = common.Events
			}
			if channel.Severities == nil {
				channel.Severities = common.Severities
			}
			if err := channel.check(); err != nil {
				return out, fmt.Errorf("%s: %w", key, err)
			}
			out.Channels = append(out.Channels, channel)
		}
	}
	switch {
	case len(out.Channels) == 0:
		return out, errors.New("it names no provider: slack, discord, telegram, teams, smtp or webhook")
	case len(out.Channels) > maxChannels:
		return out, fmt.Errorf("it names more than %d channels", maxChannels)
	}
	slices.SortStableFunc(out.Channels, func(a, b Channel) int { return strings.Compare(a.Provider, b.Provider) })
	return out, nil
}

// readChannel reads one channel's settings, whose keys may begin with the provider.
func readChannel(key, provider string, n *yaml.Node) (Channel, error) {
	c := Channel{Provider: provider}
	if n.Kind != yaml.MappingNode {
		return c, errors.New("its settings are not a mapping")
	}
	for i := 0; i < len(n.Content); i += 2 {
		name := strings.ReplaceAll(n.Content[i].Value, "-", "_")
		n.Content[i].Value = strings.TrimPrefix(strings.TrimPrefix(name, key+"_"), provider+"_")
	}
	if err := n.Load(&c.settings, yaml.WithUniqueKeys(false)); err != nil {
		return c, errors.New("a setting is not of its type")
	}
	c.To = append(c.To, c.CC...)
	c.Signing = append(c.Signing, c.SigningOne...)
	c.WebhookURL = cmp.Or(c.WebhookURL, c.URL)
	return c, nil
}

func (c Channel) check() error {
	for _, event := range c.Events {
		if !slices.Contains(Kinds, event) {
			all := strings.ReplaceAll(strings.Trim(fmt.Sprint(Kinds), "[]"), " ", ", ")
			return fmt.Errorf("%q is no event: %s are", event, all)
		}
	}
	switch c.Provider {
	case "telegram":
		if c.APIKey == "" || c.ChatID == "" {
			return errors.New("api_key and chat_id are needed")
		}
		if c.APIURL != "" && !netguard.IsWebURL(c.APIURL) {
			return errors.New("api_url must be an http or https URL")
		}
		return nil
	case "smtp":
		return c.checkMail()
	}
	if !netguard.IsWebURL(c.WebhookURL) {
		return errors.New("webhook_url must be an http or https URL")
	}
	return c.checkSigning()
}

func (c Channel) checkMail() error {
	if !strings.Contains(c.Server, ":") {
		return errors.New("server is needed, as host:port")
	}
	if len(c.To) == 0 {
		return errors.New("to is needed: who gets the mail")
	}
	for _, address := range append([]string{c.From}, c.To...) {
		if _, err := mail.ParseAddress(address); err != nil || strings.ContainsAny(address, "\r\n") {
			return fmt.Errorf("%q is no mail address", address)
		}
	}
	return nil
}
