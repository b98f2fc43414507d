package app

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// LLM is the configuration of the server's language model.
type LLM struct {
	Provider string  `koanf:"llm_provider"`
	BaseURL  string  `koanf:"llm_base_url"`
	Key      string  `koanf:"llm_api_key"`
	Model    string  `koanf:"llm_model"`
	Location string  `koanf:"llm_location"`
	Context  int     `koanf:"llm_context"`
	Price    string  `koanf:"llm_price"`
	TeamCap  float64 `koanf:"llm_team_cap"`
	Script   string  `koanf:"llm_script"`

	EmbeddingModel string  `koanf:"embedding_model"`
	EmbeddingURL   string  `koanf:"embedding_base_url"`
	EmbeddingKey   string  `koanf:"embedding_api_key"`
	EmbeddingPrice float64 `koanf:"embedding_price"`
}

// scripted is the provider that reads its answers from a file.
const scripted = "scripted"

// check rejects an unusable configuration.
func (l LLM) check() error {
	if err := l.checkEmbedding(); err != nil {
		return err
	}
	if l.Provider == "" {
		if l != (LLM{TeamCap: l.TeamCap, EmbeddingModel: l.EmbeddingModel, EmbeddingURL: l.EmbeddingURL,
			EmbeddingKey: l.EmbeddingKey, EmbeddingPrice: l.EmbeddingPrice}) {
			return errors.New("llm_provider is missing, but other llm options are set")
		}
		return nil
	}
	if l.BaseURL != "" && !isWebURL(l.BaseURL) {
		return fmt.Errorf("llm_base_url %q: must be a URL, such as http://127.0.0.1:8000/v1", l.BaseURL)
	}
	if _, err := l.price(); err != nil {
		return err
	}
	if !(l.TeamCap >= 0 && l.TeamCap <= 1e9) || l.Context < 0 {
		return errors.New("llm_team_cap and llm_context must be 0 or more")
	}
	if l.Provider == scripted {
		if l.Script == "" {
			return errors.New("llm_provider scripted needs llm_script, a file")
		}
		return nil
	}
	service, known := llm.ServiceOf(llm.Provider(l.Provider))
	if known && l.Model == "" && (service.Default == "" || l.BaseURL != "") {
		return errors.New("llm_model is missing: a server at llm_base_url has no default model")
	}
	if _, err := llm.Open(l.config()); err != nil {
		return fmt.Errorf("llm_provider %q: %w", l.Provider, err)
	}
	return nil
}

// checkEmbedding rejects an unusable embedding model.
func (l LLM) checkEmbedding() error {
	switch {
	case l.EmbeddingModel == "" && (l.EmbeddingURL != "" || l.EmbeddingKey != "" || l.EmbeddingPrice != 0):
		return errors.New("embedding_model is missing, but other embedding options are set")
	case len(l.EmbeddingModel) > maxEmbeddingModel:
		return fmt.Errorf("embedding_model: must have at most %d bytes", maxEmbeddingModel)
	case l.EmbeddingURL != "" && !isWebURL(l.EmbeddingURL):
		return fmt.Errorf("embedding_base_url %q: must be a URL, such as http://127.0.0.1:8000/v1", l.EmbeddingURL)
	case !(l.EmbeddingPrice >= 0 && l.EmbeddingPrice <= 1e6):
		return errors.New("embedding_price must be US dollars per million tokens, 0 or more")
	}
	return nil
}

const maxEmbeddingModel = 200 // bytes

// embedding is the server's embedding model; nil: none.
func (l LLM) embedding() *model.Embedding {
	if l.EmbeddingModel == "" {
		return nil
	}
	price := llm.Price{Input: int64(math.Ceil(l.EmbeddingPrice * 1e6))}
	return &model.Embedding{
		Config: llm.Config{Provider: llm.ProviderOpenAI, BaseURL: l.EmbeddingURL, Key: l.EmbeddingKey},
		Name:   l.EmbeddingModel, Price: price, Priced: l.EmbeddingPrice > 0,
	}
}

func (l LLM) config() llm.Config {
	return llm.Config{Provider: llm.Provider(l.Provider), BaseURL: l.BaseURL, Location: l.Location, Key: l.Key}
}

// price parses llm_price; nil when it is empty. Missing cache prices are those of other input.
func (l LLM) price() (*llm.Price, error) {
	if l.Price == "" {
		return nil, nil
	}
	parts := strings.Split(l.Price, ",")
	micros := make([]int64, 0, 4)
	for _, part := range parts {
		dollars, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(dollars >= 0 && dollars <= 1e6) || len(parts) < 2 || len(parts) > 4 {
			return nil, fmt.Errorf("llm_price %q: must be INPUT,OUTPUT[,CACHE_READ[,CACHE_WRITE]] in US dollars, such as 3,15",
				l.Price)
		}
		micros = append(micros, int64(math.Ceil(dollars*1e6)))
	}
	for len(micros) < 4 {
		micros = append(micros, micros[0])
	}
	p := llm.Price{Input: micros[0], Output: micros[1], CacheRead: micros[2], CacheWrite: micros[3]}
	if most := p.Input + p.Input/4; p.CacheRead > most || p.CacheWrite > most {
		return nil, fmt.Errorf("llm_price %q: the cache may cost at most a quarter more than input, because that much is reserved for a call", l.Price)
	}
	return &p, nil
}

// openModels opens the service of language models.
func (a *App) openModels(box *seal.Box, guard *netguard.Guard) (*model.Models, error) {
	l := a.config.LLM
	c := model.Config{Guard: guard, TeamCap: int64(l.TeamCap * 1e6), Embedding: l.embedding()}
	if l.Provider != "" {
		price, err := l.price()
		if err != nil {
			return nil, err
		}
		c.Server = &model.Server{Config: l.config(), Model: l.Model, Price: price, Window: l.Context}
	}
	if l.Provider == scripted {
		script, err := llm.ReadScript(l.Script)
		if err != nil {
			return nil, fmt.Errorf("llm_script: %w", err)
		}
		c.Server.Script = &script
		if c.Server.Model == "" {
			c.Server.Model = scripted
		}
	}
	return model.New(a.db, box, a.Accounts, c), nil
}
