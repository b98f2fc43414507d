package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Stream is the usage of a few calls of a model outside of a task, by a user of a team, under a title.
func (s *Models) Stream(c Chosen, teamID, userID, title string) Row {
	id := ids.New() // a stream of its own, of no task
	return Row{StreamID: id, TaskID: id, TeamID: teamID, UserID: userID, Title: title, Model: c.Name, Provider: c.Provider,
		BYOK: c.BYOK, Priced: c.Priced, CreatedAt: s.Now(), Status: "completed"}
}

// Ask makes one call of a stream, paid for: its highest price is reserved before, and usage counts what it cost. what
// names it. It fails with the codes of caps, or of package llm.
func (s *Models) Ask(ctx context.Context, c Chosen, usage *Row, what string, request llm.Request) (llm.Response,
	error) {
	paid := s.Reservations(Account{TeamID: usage.TeamID, UserID: usage.UserID, TaskID: usage.TaskID, BYOK: usage.BYOK})
	key := fmt.Sprintf("%s/%d", what, usage.Steps)
	worst := c.Price.Micros(llm.Estimate(request))
	if err := paid.Reserve(ctx, key, worst); err != nil {
		return llm.Response{}, err
	}
	began := time.Now()
	request.Key = usage.StreamID + "/" + key
	answer, err := c.Complete(ctx, request, nil)
	cost := c.Price.Micros(answer.Usage)
	if err != nil && ctx.Err() != nil { // the provider bills what it had written, and has not said how much
		cost = worst
	}
	usage.Steps++
	usage.Usage = usage.Usage.Plus(answer.Usage)
	usage.Micros += cost
	usage.LLM += time.Since(began)
	usage.Total = usage.LLM
	if failed := paid.Settle(context.WithoutCancel(ctx), key, cost); failed != nil {
		err = errors.Join(err, failed)
	}
	return answer, err
}
