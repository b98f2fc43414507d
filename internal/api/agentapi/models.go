package agentapi

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/model"
)

// ModelList are the models that a task may name.
type ModelList struct {
	Models []ModelDoc `json:"models" doc:"The models; none when none is configured."`
	Mode   string     `json:"mode" enum:"vedette,byok" doc:"Whose keys pay for them."`
	Auto   string     `json:"auto" doc:"What the model auto means now; builtin: the planner that needs no model."`
}

// ModelDoc is one model.
type ModelDoc struct {
	ID              string     `json:"id" doc:"What a task names in its field model."`
	Name            string     `json:"name"`
	Provider        string     `json:"provider"`
	ProviderModelID string     `json:"provider_model_id" doc:"What the provider calls it."`
	IsDefault       bool       `json:"is_default" doc:"auto means this one."`
	IsBYOK          bool       `json:"is_byok"`
	ContextWindow   int        `json:"context_window" doc:"Tokens of a conversation at this price."`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty" doc:"Tokens of an answer; absent: not known."`
	Priced          bool       `json:"priced" doc:"Whether its price is known. Calls of a model without one count as free."`
	Price           ModelPrice `json:"price" doc:"In US dollars for a million tokens."`
	Capabilities    []string   `json:"capabilities" doc:"What is used of it: tools, streaming, and prompt_caching where the provider bills it apart."`
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

// models is the list of models (agent API, Models).
func (s surface) models() {
	rest.Handle(s.API, op("list-models", "GET /api/v1/models", "Models", "List the models that your tasks may use"),
		func(ctx context.Context, _ *struct{}) (*ModelList, error) {
			found, mode, err := s.Models.Find(ctx)
			out := ModelList{Models: make([]ModelDoc, len(found)), Mode: string(mode), Auto: model.Builtin}
			for i, m := range found {
				facts := m.Chosen
				out.Models[i] = ModelDoc{
					ID: m.ID, Name: m.Title, Provider: string(m.Provider), ProviderModelID: m.WireName, IsDefault: m.Default, IsBYOK: facts.BYOK,
					ContextWindow: facts.Window, MaxOutputTokens: facts.Output, Priced: facts.Priced, Capabilities: []string{"tools", "streaming"},
					Price: ModelPrice{usd(facts.Price.Input), usd(facts.Price.Output), usd(facts.Price.CacheRead), usd(facts.Price.CacheWrite)},
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
