package llm

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Provider is a service for models, as in the agent API's BYOK operations.
type Provider string

// The providers. All but Anthropic have OpenAI's chat completions.
const (
	ProviderOpenAI     Provider = "openai"
	ProviderAnthropic  Provider = "anthropic"
	ProviderOpenRouter Provider = "openrouter"
	ProviderGoogle     Provider = "google"
	ProviderXAI        Provider = "xai"
	ProviderVercel     Provider = "vercel-gateway"
	ProviderBedrock    Provider = "amazon-bedrock"
	ProviderAzure      Provider = "azure-foundry"
	ProviderCompatible Provider = "openai-compatible" // by base URL
)

// Service describes a provider.
type Service struct {
	Provider Provider
	// BaseURL is empty when the user must give one. {location} is the region of a key, by default Location.
	BaseURL  string
	Location string
	Default  string // meaning of "auto"; empty: the user must choose
}

// Services are all providers, those that need only a key first.
func Services() []Service {
	return []Service{
		{Provider: ProviderOpenAI, BaseURL: openAIURL, Default: "gpt-5.4-high"},
		{Provider: ProviderAnthropic, BaseURL: anthropicURL, Default: "sonnet-4.6"},
		{Provider: ProviderOpenRouter, BaseURL: "https://openrouter.ai/api/v1", Default: "sonnet-4.6"},
		{Provider: ProviderGoogle, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
			Default: "gemini-3-pro"},
		{Provider: ProviderXAI, BaseURL: "https://api.x.ai/v1", Default: "grok-4.1-fast"},
		{Provider: ProviderVercel, BaseURL: "https://ai-gateway.vercel.sh/v1", Default: "sonnet-4.6"},
		{Provider: ProviderBedrock, BaseURL: "https://bedrock-runtime.{location}.amazonaws.com/openai/v1",
			Location: "us-east-1"},
		{Provider: ProviderAzure},
		{Provider: ProviderCompatible},
	}
}

// ServiceOf finds a provider.
func ServiceOf(p Provider) (Service, bool) {
	all := Services()
	if i := slices.IndexFunc(all, func(s Service) bool { return s.Provider == p }); i >= 0 {
		return all[i], true
	}
	return Service{}, false
}

const (
	openAIURL    = "https://api.openai.com/v1"
	anthropicURL = "https://api.anthropic.com"
)

// Config says how to reach a provider. Zero values are defaults.
type Config struct {
	Provider Provider // empty: models are sent as named
	// BaseURL is the API's, such as http://127.0.0.1:8000/v1. Its query is sent with each request (older Azure endpoints
	// need api-version).
	BaseURL  string
	Location string // default Service.Location
	Key      string // may be empty
	// HTTP is a netguard.Guard's client for a base URL of a user. Nil: a client that follows no redirect.
	HTTP     *http.Client
	Deadline time.Duration // of a call with its retries; 0: 10 minutes
	Idle     time.Duration // longest silence; 0: 2 minutes
	Retries  int           // 0: 5; negative: none
	// Wait sleeps between tries, or fails when ctx ends. For tests.
	Wait func(ctx context.Context, d time.Duration) error
}

func (c Config) withDefaults(baseURL string) Config {
	c.BaseURL = cmp.Or(c.BaseURL, baseURL)
	if c.HTTP == nil {
		c.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	c.Deadline = cmp.Or(c.Deadline, 10*time.Minute)
	c.Idle = cmp.Or(c.Idle, 2*time.Minute)
	c.Retries = cmp.Or(c.Retries, 5)
	if c.Wait == nil {
		c.Wait = sleep
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-timed.Done()
	return ctx.Err()
}

// Open makes the model of a provider. It fails with Invalid for an unknown provider or a missing base URL.
func Open(c Config) (Model, error) {
	c, err := c.resolve()
	switch {
	case err != nil:
		return nil, err
	case c.Provider == ProviderAnthropic:
		return Anthropic(c), nil
	}
	return OpenAI(c), nil
}

// resolve fills in the base URL of the provider's service.
func (c Config) resolve() (Config, error) {
	s, ok := ServiceOf(c.Provider)
	if !ok {
		return c, errs.Field("provider", "There is no provider %.40q.", string(c.Provider))
	}
	if c.BaseURL == "" && s.BaseURL == "" {
		return c, errs.Field("base_url", "%s needs a base_url.", s.Provider)
	}
	location := cmp.Or(c.Location, s.Location)
	if strings.Trim(location, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(location) > 40 {
		return c, errs.Field("location", "location must be a region such as us-east-1.")
	}
	c.BaseURL = cmp.Or(c.BaseURL, strings.ReplaceAll(s.BaseURL, "{location}", location))
	return c, nil
}
