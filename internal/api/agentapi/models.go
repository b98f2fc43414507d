package agentapi

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/model"
)

// ModelList are the models that a task may name.
type ModelList struct {
	Models []ModelDoc `json:"models" doc:"The models; none when none is configured."`
	Mode   string     `json:"mode" enum:"vedette,byok" doc:"Whose keys pay for them."`
	Auto   string     `json:"auto" doc:"The current meaning of auto; builtin: the planner without a model."`
}

// ModelDoc is one model.
type ModelDoc struct {
	ID              string     `json:"id" doc:"The value for the field model of a task."`
	Name            string     `json:"name"`
	Provider        string     `json:"provider"`
	ProviderModelID string     `json:"provider_model_id" doc:"The provider's name for it."`
	IsDefault       bool       `json:"is_default" doc:"Whether auto means this model."`
	IsBYOK          bool       `json:"is_byok"`
	ContextWindow   int        `json:"context_window" doc:"Context window in tokens."`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty" doc:"Largest answer in tokens; absent: unknown."`
	Priced          bool       `json:"priced" doc:"Whether its price is known. Calls of a model without one count as free."`
	Price           ModelPrice `json:"price" doc:"In US dollars for a million tokens."`
	Capabilities    []string   `json:"capabilities" doc:"tools, streaming, and prompt_caching if the provider bills it separately."`
}

// ModelPrice is what a model costs.
type ModelPrice struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

const microsPerUSD = 1e6

func usd(micros int64) float64 { return float64(micros) / microsPerUSD }

func (s surface) models() {
	rest.Handle(s.API, op("list-models", "GET /api/v1/models", "Models", "List the models that your tasks may use"),
		func(ctx context.Context, _ *struct{}) (*ModelList, error) {
			found, mode, err := s.Models.Find(ctx)
			out := ModelList{Models: make([]ModelDoc, len(found)), Mode: string(mode), Auto: model.Builtin}
			for i, m := range found {
				facts := m.Chosen
				out.Models[i] = ModelDoc{
					ID: m.ID, Name: m.Title, Provider: string(m.Provider), ProviderModelID: m.WireName, IsDefault: m.Default,
					IsBYOK:        facts.BYOK,
					ContextWindow: facts.Window, MaxOutputTokens: facts.Output, Priced: facts.Priced,
					Capabilities: []string{"tools", "streaming"},
					Price: ModelPrice{usd(facts.Price.Input), usd(facts.Price.Output), usd(facts.Price.CacheRead),
						usd(facts.Price.CacheWrite)},
				}
				if facts.Price.CacheRead != facts.Price.Input {
					out.Models[i].Capabilities = append(out.Models[i].Capabilities, "prompt_caching")
				}
				if m.Default {
					out.Auto = m.ID
				}
			}
			return &out, err
		})
}

// ProviderKey is a key of a provider of models, without its value.
type ProviderKey struct {
	ID          string    `json:"id"`
	Provider    string    `json:"provider"`
	Owner       string    `json:"owner" enum:"user,team" doc:"Whose key it is: yours, or your team's."`
	IsValidated bool      `json:"is_validated" doc:"The provider accepted the key when it was stored."`
	DisplayName string    `json:"display_name"`
	Location    string    `json:"location" doc:"The region of the key, where the provider has some."`
	BaseURL     string    `json:"base_url" doc:"Where the provider's API is; empty: the provider's own address."`
	Model       string    `json:"model" doc:"The model that auto means with this key; empty: the provider's default."`
	Embedding   string    `json:"embedding_model" doc:"The model that makes vectors of your knowledge with this key; empty: none."`
	MaskedKey   string    `json:"masked_key" doc:"The beginning and the end of the key."`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func providerKey(k model.Key) ProviderKey {
	return ProviderKey{
		ID: k.ID, Provider: string(k.Provider), Owner: string(k.Owner), IsValidated: true, DisplayName: k.DisplayName,
		Location: k.Location,
		BaseURL:  k.BaseURL, Model: k.Model, Embedding: k.Embedding, MaskedKey: k.Masked,
		CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt,
	}
}

// ProviderKeys are the keys that the caller manages.
type ProviderKeys struct {
	Providers []ProviderKey `json:"providers" doc:"The keys, without their values; yours before your team's."`
	Mode      string        `json:"mode" enum:"vedette,byok" doc:"Whose keys pay for your tasks."`
}

// ProviderKeyRequest is a key to validate or store.
type ProviderKeyRequest struct {
	APIKey      string `json:"api_key" minLength:"1" maxLength:"20000" doc:"The key. A server that wants none takes any."`
	DisplayName string `json:"display_name,omitempty" maxLength:"128"`
	Location    string `json:"location,omitempty" maxLength:"40" doc:"The region of the key, for amazon-bedrock; us-east-1 when absent."`
	BaseURL     string `json:"base_url,omitempty" maxLength:"500" doc:"Where the API is. Required for azure-foundry and openai-compatible; private and local addresses are refused."`
	Model       string `json:"model,omitempty" maxLength:"200" doc:"The model that auto means with this key, where the provider has no default."`
	Embedding   string `json:"embedding_model,omitempty" maxLength:"200" doc:"The model that makes vectors of your knowledge with this key, by OpenAI's /embeddings; without one, knowledge is searched by words alone. anthropic has none."`
}

func (r ProviderKeyRequest) key(provider string) model.NewKey {
	return model.NewKey{Provider: model.Provider(provider), Key: r.APIKey, DisplayName: r.DisplayName,
		Location: r.Location, BaseURL: r.BaseURL, Model: r.Model, Embedding: r.Embedding}
}

// KeyValidation is the result of validating a key.
type KeyValidation struct {
	Valid   bool   `json:"valid"`
	Details string `json:"details,omitempty" doc:"What the provider offers with it."`
	Error   string `json:"error,omitempty" doc:"Why it is not valid."`
}

func keyValidation(v model.Validation) KeyValidation {
	out := KeyValidation{Valid: v.Valid, Error: v.Error}
	if v.Valid {
		out.Details = fmt.Sprintf("The provider lists %d models.", len(v.Models))
	}
	return out
}

// StoredKey is a new key.
type StoredKey struct {
	ProviderKey ProviderKey   `json:"provider_key"`
	Validation  KeyValidation `json:"validation"`
}

// DeletedKey is the answer about a deleted key.
type DeletedKey struct {
	Provider      string `json:"provider"`
	Deleted       bool   `json:"deleted"`
	RemainingKeys int    `json:"remaining_keys" doc:"Keys that their owner still has."`
	AutoSwitched  bool   `json:"auto_switched" doc:"It was the last one: the server's model is used again."`
}

// ModeRequest says whose keys pay, in requests and answers.
type ModeRequest struct {
	Mode string `json:"mode" enum:"vedette,byok" doc:"vedette: the server's. byok: those you manage."`
}

// ProviderPath names a provider of models.
type ProviderPath struct {
	Provider string `path:"provider" maxLength:"64" doc:"openai, anthropic, openrouter, google, xai, vercel-gateway, amazon-bedrock, azure-foundry, or openai-compatible for any server by its base_url."`
}

// byok are the operations on users' own keys (bring your own key).
func (s surface) byok() {
	const path, tag = "/api/v1/byok", "BYOK"
	list := op("list-provider-keys", "GET "+path+"/providers", tag, "List the keys of model providers that you manage")
	list.Description = "In a team of one, the member manages their own keys; in a larger team, admins manage the team's and other members get 403."
	rest.Handle(s.API, list, func(ctx context.Context, _ *struct{}) (*ProviderKeys, error) {
		keys, mode, err := s.Models.FindKeys(ctx)
		return &ProviderKeys{rest.Each(keys, providerKey), string(mode)}, err
	})

	set := op("set-provider-key", "PATCH "+path+"/providers/{provider}", tag, "Store a provider's key, or replace it", 404)
	set.Description = "The key is validated with a call that costs nothing, and stored encrypted if the provider accepts it. " +
		"No answer shows it again."
	rest.Handle(s.API, set, func(ctx context.Context, in *struct {
		ProviderPath
		Body ProviderKeyRequest
	}) (*StoredKey, error) {
		k, v, err := s.Models.SetKey(ctx, in.Body.key(in.Provider))
		return &StoredKey{providerKey(k), keyValidation(v)}, err
	})

	rest.Handle(s.API, op("validate-provider-key", "POST "+path+"/providers/{provider}/validate", tag,
		"Validate a provider's key without storing it", 404),
		func(ctx context.Context, in *struct {
			ProviderPath
			Body ProviderKeyRequest
		}) (*KeyValidation, error) {
			return bodyOf(keyValidation)(s.Models.Validate(ctx, in.Body.key(in.Provider)))
		})

	rest.Handle(s.API, op("delete-provider-key", "DELETE "+path+"/providers/{provider}", tag,
		"Delete a provider's key: yours, or else your team's", 404),
		func(ctx context.Context, in *struct{ ProviderPath }) (*DeletedKey, error) {
			d, err := s.Models.DeleteKey(ctx, model.Provider(in.Provider))
			return &DeletedKey{Provider: in.Provider, Deleted: err == nil, RemainingKeys: d.Remaining,
				AutoSwitched: d.Switched}, err
		})

	mode := op("set-byok-mode", "PATCH "+path+"/mode", tag, "Choose whose keys pay for models")
	mode.Description = "byok needs at least one key. Deleting the last one switches back to vedette."
	rest.Handle(s.API, mode, func(ctx context.Context, in *struct{ Body ModeRequest }) (*ModeRequest, error) {
		return new(in.Body), s.Models.SetMode(ctx, model.Mode(in.Body.Mode))
	})
	rest.Handle(s.API, op("get-byok-mode", "GET "+path+"/mode", tag, "Get whose keys pay for models"),
		func(ctx context.Context, _ *struct{}) (*ModeRequest, error) {
			_, mode, err := s.Models.FindKeys(ctx)
			return &ModeRequest{string(mode)}, err
		})
}
