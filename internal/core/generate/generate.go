// Package generate writes templates with a language model: it asks for one in the template language, compiles the
// answer as a scan would, and gives the compiler's error back to the model, twice at most. Each call reserves its
// highest price under the caps of the member and the team before it is made, as those of tasks do.
package generate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Written is what a model wrote.
type Written struct {
	Text    string // of the template, or what the model said instead of one
	ID      string // written in it; empty when it is not valid
	Name    string
	Valid   bool   // it is a template
	CanRun  bool   // this server's engine runs it
	Repairs int    // how often the model was told that it is not
	Problem string // why it is not valid or cannot run
	Model   string
}

const (
	maxRepairs = 2
	maxAnswer  = 4096            // tokens
	timeout    = 2 * time.Minute // for all calls
)

// Template has the caller's model write a template that finds what prompt describes. It fails with Forbidden, no_model,
// without a model, with the codes of caps (package model), and with FailedDependency and a code of package llm when the
// model cannot be asked.
func Template(
	ctx context.Context, models *model.Models, templates *catalog.Catalog, prompt string,
) (w Written, err error) {
	caller, err := account.Writer(ctx)
	if err != nil {
		return w, err
	}
	chosen, err := models.Resolve(ctx, caller.TeamID, caller.UserID, model.Auto)
	if errors.Is(err, model.ErrBuiltin) {
		return w, errs.New(errs.Forbidden, "no_model",
			"No language model is configured on this server, so templates cannot be generated. Write one and send it to POST /v1/template.")
	}
	if err != nil {
		return w, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	g := &generation{
		models: models, templates: templates, chosen: chosen,
		usage: model.Row{
			StreamID: ids.New(), TeamID: caller.TeamID, UserID: caller.UserID, Title: prompt, Model: chosen.Name,
			Provider: chosen.Provider, BYOK: chosen.BYOK, Priced: chosen.Priced, CreatedAt: models.Now(),
		},
	}
	g.usage.TaskID = g.usage.StreamID // a stream of its own, of no task
	w, err = g.write(ctx, prompt)
	g.usage.Status = "completed"
	if err != nil {
		g.usage.Status, g.usage.Error = "error", errs.From(err).Message
	}
	if g.usage.Steps > 0 {
		err = errors.Join(err, models.RecordUsage(context.WithoutCancel(ctx), nil, g.usage))
	}
	return w, err
}

// generation is the conversation about one template.
type generation struct {
	models    *model.Models
	templates *catalog.Catalog
	chosen    model.Chosen
	usage     model.Row
}

func (g *generation) write(ctx context.Context, prompt string) (w Written, err error) {
	request := llm.Request{
		Model: g.chosen.Name, System: instruction, MaxTokens: maxAnswer,
		Messages: []llm.Message{{Role: llm.User, Text: prompt}},
	}
	for {
		answer, err := g.ask(ctx, request)
		if err != nil {
			return w, err
		}
		repairs := w.Repairs
		if w, err = g.check(ctx, answer.Text); err != nil {
			return w, err
		}
		w.Repairs, w.Model = repairs, g.chosen.Name
		if w.CanRun || w.Repairs == maxRepairs || answer.Stop == llm.StopRefusal {
			return w, nil
		}
		w.Repairs++
		complaint := "This cannot be run: " + w.Problem + "\nSend the whole template again, corrected."
		request.Messages = append(request.Messages, llm.Message{Role: llm.Assistant, Text: answer.Text},
			llm.Message{Role: llm.User, Text: complaint})
	}
}

// ask makes one call, paid for.
func (g *generation) ask(ctx context.Context, request llm.Request) (llm.Response, error) {
	account := model.Account{
		TeamID: g.usage.TeamID, UserID: g.usage.UserID, TaskID: g.usage.TaskID, BYOK: g.chosen.BYOK,
	}
	paid := g.models.Reservations(account)
	key := fmt.Sprintf("template/%d", g.usage.Steps)
	worst := g.chosen.Price.Micros(llm.Estimate(request))
	if err := paid.Reserve(ctx, key, worst); err != nil {
		return llm.Response{}, err
	}
	began := time.Now()
	request.Key = g.usage.StreamID + "/" + key
	answer, err := g.chosen.Complete(ctx, request, nil)
	cost := g.chosen.Price.Micros(answer.Usage)
	if err != nil && ctx.Err() != nil { // the provider bills what it had written, and has not said how much
		cost = worst
	}
	g.usage.Steps++
	g.usage.Usage = g.usage.Usage.Plus(answer.Usage)
	g.usage.Micros += cost
	g.usage.LLM += time.Since(began)
	g.usage.Total = g.usage.LLM
	if failed := paid.Settle(context.WithoutCancel(ctx), key, cost); failed != nil {
		err = errors.Join(err, failed)
	}
	return answer, err
}

const written = "template.yaml" // the name of what a model wrote

// check is read for a template that does not end the engine when it is compiled.
func (g *generation) check(ctx context.Context, answer string) (Written, error) {
	text := inFences(answer)
	switch err := g.templates.Check(ctx, written, text); {
	case errs.Is(err, errs.Invalid):
		return Written{Text: text, Problem: errs.From(err).Message}, nil
	case err != nil:
		return Written{}, err
	}
	return read(answer), nil
}

// inFences is the template in an answer as text.
func inFences(answer string) string {
	text := strings.TrimSpace(answer)
	if _, fenced, ok := strings.Cut(text, "```"); ok {
		_, fenced, _ = strings.Cut(fenced, "\n") // the name of the language
		fenced, _, _ = strings.Cut(fenced, "```")
		text = strings.TrimSpace(fenced)
	}
	return text + "\n"
}

// read is the template in an answer.
func read(answer string) Written {
	w := Written{Text: inFences(answer)}
	t, p, err := templates.Compile(written, []byte(w.Text), nil)
	if err != nil {
		w.Problem = errs.From(err).Message
	}
	if t != nil {
		w.ID, w.Name, w.Valid, w.CanRun = t.ID, t.Info.Name, true, p != nil && err == nil
	}
	return w
}
