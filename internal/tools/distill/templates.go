package distill

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/child"
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

// OwnTemplate names a template that is in no catalogue.
const OwnTemplate = "task.yaml"

// Texts are templates as the engine takes them, by the ids that were asked for; those that are missing are left out.
func (ts Templates) Texts(ctx context.Context, ids []string) (map[string]child.Template, error) {
	found, err := ts.Catalog.Texts(ctx, ts.TeamID, ids)
	out := make(map[string]child.Template, len(found))
	for id, t := range found {
		out[id] = scan.TextOf(t)
	}
	return out, err
}

func (ts Templates) keep(ctx context.Context, filename, text string) (task.RetestTemplate, error) {
	kept, err := ts.Catalog.StoreGenerated(ctx, ts.TeamID, ts.UserID,
		catalog.NewTemplate{Text: text, Filename: filename, Dir: findingsDir, Model: model.Builtin})
	return task.RetestTemplate{TemplateID: kept.ID, Compiled: true, Digest: kept.Digest}, err
}
