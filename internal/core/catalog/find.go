package catalog

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Public is a window of the public templates, by id, and how many there are.
func (c *Catalog) Public(ctx context.Context, w page.Window, raw bool) ([]Template, int, error) {
	return c.ofSets(ctx, w, raw, func(e *entry) bool { return e.scope != EarlySet })
}

// Early is a window of the early templates, by id, and how many there are. Forbidden for
// a team whose plan has none.
func (c *Catalog) Early(ctx context.Context, w page.Window, raw bool) ([]Template, int, error) {
	if err := mayEarly(ctx); err != nil {
		return nil, 0, err
	}
	return c.ofSets(ctx, w, raw, func(e *entry) bool { return e.scope == EarlySet })
}

func mayEarly(ctx context.Context) error {
	caller, err := account.From(ctx)
	if err == nil && !hasEarly(caller.Plan) {
		err = errs.New(errs.Forbidden, "plan_without_early_templates", "The plan of the team has no early templates.")
	}
	return err
}

func (c *Catalog) ofSets(ctx context.Context, w page.Window, raw bool, in func(*entry) bool) ([]Template, int, error) {
	if _, err := account.From(ctx); err != nil {
		return nil, 0, err
	}
	x, err := c.current(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	var window []*entry
	total := 0
	for i := range x.entries {
		if e := &x.entries[i]; in(e) {
			if total >= w.Offset && len(window) < w.Limit {
				window = append(window, e)
			}
			total++
		}
	}
	found, err := c.fetch(ctx, window, raw)
	return found, total, err
}

// PublicByID is one public template with its text. NotFound when there is none such.
func (c *Catalog) PublicByID(ctx context.Context, id string) (Template, error) {
	return c.ofSetsByID(ctx, id, func(scope string) bool { return scope == PublicSet || scope == StarterSet })
}

// EarlyByID is one early template with its text. NotFound when there is none such,
// Forbidden for a team whose plan has none.
func (c *Catalog) EarlyByID(ctx context.Context, id string) (Template, error) {
	if err := mayEarly(ctx); err != nil {
		return Template{}, err
	}
	return c.ofSetsByID(ctx, id, func(scope string) bool { return scope == EarlySet })
}

func (c *Catalog) ofSetsByID(ctx context.Context, id string, in func(scope string) bool) (Template, error) {
	if _, err := account.From(ctx); err != nil {
		return Template{}, err
	}
	x, err := c.current(ctx, "")
	if err != nil {
		return Template{}, err
	}
	n, ok := x.byID[id]
	if !ok || !in(x.entries[n].scope) {
		return Template{}, missing()
	}
	return c.one(ctx, c.db, "t.scope = ? AND t.id = ?", x.entries[n].scope, id)
}

// one reads the template that a condition picks, with its text.
func (c *Catalog) one(ctx context.Context, q db.Querier, cond string, args ...any) (Template, error) {
	t, err := scanned(q.QueryRow(ctx, selected(true)+` WHERE `+cond, args...), true)
	if db.IsNoRows(err) {
		err = missing()
	}
	return t, err
}
