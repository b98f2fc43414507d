package distill

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Templates are those that a language model may choose from: the team's catalogue.
type Templates struct {
	Catalog        *catalog.Catalog
	TeamID, UserID string // of the task
	Shared         bool   // new templates of the task belong to the team; false for a private task
}

const findingsDir = "findings"

// Known lists the templates.
func (ts Templates) Known(ctx context.Context) ([]catalog.ScanTemplate, error) {
	return ts.Catalog.ForScan(ctx, ts.TeamID)
}

// Text is a template's text; NotFound when there is none.
func (ts Templates) Text(ctx context.Context, id string) ([]byte, error) {
	texts, err := ts.Catalog.Texts(ctx, ts.TeamID, []string{id})
	if err != nil {
		return nil, err
	}
	text, ok := texts[id]
	if !ok {
		return nil, errs.Missing("template")
	}
	return text.Data, nil
}

// Find compiles templates; those that fail are left out.
func (ts Templates) Find(ctx context.Context, ids []string) (map[string]*program.Program, error) {
	found, err := ts.Catalog.Programs(ctx, ts.TeamID, ids)
	out := make(map[string]*program.Program, len(found))
	for id, m := range found {
		if m.Err == nil {
			out[id] = m.Program
		}
	}
	return out, err
}

// Compile compiles a text that is in no catalogue, first in a child of the engine, since a model may have written it.
func (ts Templates) Compile(ctx context.Context, text string) (*program.Program, error) {
	const name = "task.yaml"
	if err := ts.Catalog.Check(ctx, name, text); err != nil {
		return nil, err
	}
	_, p, err := templates.Compile(name, []byte(text), nil)
	return p, err
}

func (ts Templates) keep(ctx context.Context, filename, text string) (task.RetestTemplate, error) {
	kept, err := ts.Catalog.StoreGenerated(ctx, ts.TeamID, ts.UserID,
		catalog.NewTemplate{Text: text, Filename: filename, Dir: findingsDir, Model: model.Builtin})
	return task.RetestTemplate{TemplateID: kept.ID, Compiled: true, Digest: kept.Digest}, err
}
