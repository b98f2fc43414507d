// Package generate writes templates with a language model: it asks for one in the template language, compiles the
// answer as a scan would, and gives the compiler's error back to the model, twice at most. Each call reserves its
// highest price under the caps of the member and the team before it is made, as those of tasks do.
package generate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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
		usage: models.Stream(chosen, caller.TeamID, caller.UserID, prompt),
	}
	w, err = g.write(ctx, prompt)
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
		answer, err := g.models.Ask(ctx, g.chosen, &g.usage, "template", request)
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
