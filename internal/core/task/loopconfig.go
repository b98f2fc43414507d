package task

import (
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
)

const maxOutputTokens = 8192 // of one answer of a model

// LoopConfig is the part of a run's configuration that depends on the request and the model.
func (t Task) LoopConfig(chosen model.Chosen) loop.Config {
	o := t.Options
	c := loop.Config{
		Model: chosen.Model, ModelName: chosen.Name, Price: chosen.Price, Window: chosen.Window, Turn: t.Index,
		Instruction: t.Instruction, Mode: loop.Mode(o.Mode), AutoExecute: o.AutoExecute, AskQuestion: o.AskQuestion,
		MaxIterations: 1, // findings that are not verified are not reported
	}
	if chosen.Output > 0 {
		c.MaxTokens = min(chosen.Output, maxOutputTokens)
	}
	if o.MaxSteps != nil {
		c.MaxSteps = *o.MaxSteps
	}
	if o.MaxIterations != nil {
		c.MaxIterations = *o.MaxIterations
	}
	if b := o.Budget; b != nil {
		c.Caps = loop.Caps{Micros: b.micros(), Tokens: b.Tokens, Requests: b.Requests, Wall: b.Time()}
	}
	return c
}

// Account is for whom money is set aside while the task runs.
func (t Task) Account(chosen model.Chosen) model.Account {
	return model.Account{TeamID: t.TeamID, UserID: t.UserID, TaskID: t.ID, BYOK: chosen.BYOK}
}

// micros is the budget's money in millionths of a US dollar; anything above zero stays so.
func (b *Budget) micros() int64 {
	if b.MoneyUSD <= 0 {
		return 0
	}
	return max(1, int64(b.MoneyUSD*1e6))
}

// Time is the budget's time; 0 is no limit.
func (b *Budget) Time() time.Duration {
	if b == nil {
		return 0
	}
	return time.Duration(b.Seconds) * time.Second
}

// PlanOf is the plan of several instructions together. What one of them names is in scope of all, and what one
// of them excludes is excluded from all.
func PlanOf(streams []Stream) (all agent.Plan) {
	for _, s := range streams {
		plan := builtin.Plan(s.Instruction)
		all.Targets = append(all.Targets, plan.Targets...)
		all.Excluded = append(all.Excluded, plan.Excluded...)
		all.Ports = append(all.Ports, plan.Ports...)
		if plan.RateLimit > 0 {
			all.RateLimit = plan.RateLimit
		}
	}
	return all
}
