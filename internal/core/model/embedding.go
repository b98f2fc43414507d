package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Embedding is a model that makes vectors of texts.
type Embedding struct {
	Config llm.Config
	Name   string // the provider's
	Price  llm.Price
	Priced bool // Price is known; else it is 0
	BYOK   bool // the team pays the provider
}

// EmbeddingOf is the embedding model of a team, the same for all its members, as vectors of different models cannot be
// compared: that of the team's keys, else of the keys of its only member, else the server's. Keys that are used without
// an embedding model mean none. nil: the team has none.
func (s *Models) EmbeddingOf(ctx context.Context, teamID string) (*Embedding, error) {
	owners := []string{""}
	members, err := db.Values[string](ctx, s.db, `SELECT user_id FROM member WHERE team_id = ? LIMIT 2`, teamID)
	if err != nil {
		return nil, err
	}
	if len(members) == 1 {
		owners = append(owners, members[0])
	}
	for _, owner := range owners {
		keys, err := s.activeKeys(ctx, teamID, owner)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.embedding != "" {
				return &Embedding{Config: k.config, Name: k.embedding, BYOK: true}, nil
			}
		}
		if len(keys) > 0 {
			return nil, nil
		}
	}
	return s.Embedding, nil
}

// HasEmbedding reports whether any team has an embedding model.
func (s *Models) HasEmbedding(ctx context.Context) (bool, error) {
	if s.Embedding != nil {
		return true, nil
	}
	n, err := db.Value[int](ctx, s.db, `SELECT count(*) FROM (SELECT 1 FROM model_key WHERE embedding_model <> '' LIMIT 1) AS teams`)
	return n > 0, err
}

// Embed makes the vectors of texts and adds the call to usage. It reserves the highest price under the caps of the
// account first. Errors are those of Reserve and of llm.Embed.
func (s *Models) Embed(
	ctx context.Context, e Embedding, who Account, usage *Row, texts []string,
) ([][]float32, error) {
	who.BYOK = e.BYOK
	paid, key := s.Reservations(who), fmt.Sprintf("%s/embedding/%d", usage.StreamID, usage.Steps)
	worst := e.Price.Micros(llm.EmbedEstimate(texts))
	if err := paid.Reserve(ctx, key, worst); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := llm.Embed(ctx, e.Config, e.Name, key, texts)
	cost := e.Price.Micros(answer.Usage)
	if err != nil && ctx.Err() != nil { // the provider may bill it, and has not said how much
		cost = worst
	}
	usage.Steps++
	usage.Usage = usage.Usage.Plus(answer.Usage)
	usage.Micros += cost
	usage.LLM += time.Since(began)
	usage.Total, usage.Status = usage.LLM, "completed"
	if err != nil {
		usage.Status, usage.Error = "error", errs.From(err).Message
	}
	after := context.WithoutCancel(ctx)
	return answer.Vectors, errors.Join(err, paid.Settle(after, key, cost), s.RecordUsage(after, nil, *usage))
}

// EmbeddingUsage is the row of usage of calls of Embed for an account.
func (s *Models) EmbeddingUsage(e Embedding, who Account, title string) Row {
	r := Row{StreamID: ids.New(), TaskID: who.TaskID, TeamID: who.TeamID, UserID: who.UserID, Title: title,
		Model: e.Name, Provider: e.Config.Provider, BYOK: e.BYOK, Priced: e.Priced, CreatedAt: s.Now()}
	r.TaskID = cmp.Or(r.TaskID, r.StreamID)
	return r
}
