package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Public is a page of the public templates, by id, and their total.
func (c *Catalog) Public(ctx context.Context, w page.Window, raw bool) ([]Template, int, error) {
	if _, err := account.From(ctx); err != nil {
		return nil, 0, err
	}
	return c.list(ctx, inScopes(StarterSet, PublicSet), c.byID(), w, raw)
}

// Early is a page of the early templates, by id, and their total. Forbidden for plans without them.
func (c *Catalog) Early(ctx context.Context, w page.Window, raw bool) ([]Template, int, error) {
	if err := requireEarly(ctx); err != nil {
		return nil, 0, err
	}
	return c.list(ctx, inScopes(EarlySet), c.byID(), w, raw)
}

func requireEarly(ctx context.Context) error {
	caller, err := account.From(ctx)
	if err == nil && !hasEarly(caller.Plan) {
		err = errs.New(errs.Forbidden, "plan_without_early_templates", "The plan of the team has no early templates.")
	}
	return err
}

// PublicByID is a public template with its text.
func (c *Catalog) PublicByID(ctx context.Context, id string) (Template, error) {
	if _, err := account.From(ctx); err != nil {
		return Template{}, err
	}
	return c.find(ctx, c.db, "t.scope IN ('starter', 'public') AND t.id = ? AND "+notReplaced("t"), db.Clean(id))
}

// EarlyByID is an early template with its text. Forbidden for plans without them.
func (c *Catalog) EarlyByID(ctx context.Context, id string) (Template, error) {
	if err := requireEarly(ctx); err != nil {
		return Template{}, err
	}
	return c.find(ctx, c.db, "t.scope = 'early' AND t.id = ? AND "+notReplaced("t"), db.Clean(id))
}

// find reads the template that a condition picks, with its text.
func (c *Catalog) find(ctx context.Context, q db.Querier, cond string, args ...any) (Template, error) {
	t, err := scanTemplate(q.QueryRow(ctx, selectTemplate(true)+` WHERE `+cond, args...), true)
	return t, db.OrMissing(err, "template")
}

// notReplaced is the condition that no later set has a template of the same id.
func notReplaced(table string) string {
	return `(` + table + `.scope = 'public' OR NOT EXISTS (SELECT 1 FROM template o
		WHERE o.scope IN ('public', CASE ` + table + `.scope WHEN 'starter' THEN 'early' ELSE 'public' END) AND o.id = ` +
		table + `.id))`
}

// inScopes picks the rows of template_search, under the name e, of some scopes.
func inScopes(scopes ...string) (w db.Where) {
	db.In(&w, "e.scope", scopes)
	w.And(notReplaced("e"))
	return w
}

// list is a page of the rows that a condition picks, and their total.
func (c *Catalog) list(
	ctx context.Context, where db.Where, order string, w page.Window, raw bool,
) (found []Template, total int, err error) {
	err = c.db.Snapshot(ctx, func(q db.Querier) error {
		total, err = db.Value[int](ctx, q, `SELECT count(*) FROM template_search e`+where.String(), where.Args...)
		if err == nil {
			found, err = c.page(ctx, q, where, order, nil, w, raw)
		}
		return err
	})
	return found, total, err
}

// page reads a page of the templates whose rows a condition picks.
func (c *Catalog) page(
	ctx context.Context, q db.Querier, where db.Where, order string, orderArgs []any, w page.Window, raw bool,
) ([]Template, error) {
	limit, args := db.Limit(w)
	return db.Select(ctx, q, func(r db.Row) (Template, error) { return scanTemplate(r, raw) }, selectTemplate(raw)+` JOIN (
		SELECT e.scope, e.id, row_number() OVER (ORDER BY `+order+`) AS place
		FROM template_search e`+where.String()+` ORDER BY place`+limit+`) p
		ON p.scope = t.scope AND p.id = t.id ORDER BY p.place`, slices.Concat(orderArgs, where.Args, args)...)
}

// Sortable are the fields of an order, as page.Sorts wants them, with the columns of template_search.
var Sortable = map[string]string{
	"id": "e.written_id", "template_id": "e.id", "name": "e.lower_name", "severity": rank, "type": "e.type",
	"dir": "e.dir",
	"uri": "e.path", "vendor": "e.vendor", "product": "e.product", "created_at": created, "updated_at": updated,
}

// The columns of Sortable that are numbers.
const rank, created, updated = "e.severity_rank", "e.created_at", "e.updated_at"

// byID is the order by id.
func (c *Catalog) byID() string {
	return c.db.Dialect().Bytewise("e.written_id") + ", " + c.db.Dialect().Bytewise("e.id")
}

// sorted are the columns of sorts, and then what decides between equal rows.
func (c *Catalog) sorted(sorts []page.Sort, tie string) string {
	sorts = slices.Clone(sorts)
	for i, s := range sorts {
		if s.Column != rank && s.Column != created && s.Column != updated {
			sorts[i].Column = c.db.Dialect().Bytewise(s.Column)
		}
	}
	return strings.TrimPrefix(db.OrderBy(sorts, tie), " ORDER BY ")
}
