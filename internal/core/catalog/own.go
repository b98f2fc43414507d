package catalog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const (
	maxOwn    = 2000 // templates of a team
	maxPath   = 255  // bytes
	maxPrompt = 8000 // bytes
)

// NewTemplate is a template that a team makes.
type NewTemplate struct {
	Text     string
	Prompt   string // what a person asked for; may be empty
	Filename string // empty: the written id and .yaml
	Dir      string // empty: the top
	Model    string // that wrote it; empty: a person did
}

// Create checks a template as the engine does and stores it for the caller's team. Invalid names the
// line and the key.
func (c *Catalog) Create(ctx context.Context, n NewTemplate) (Template, error) {
	caller, err := account.Writer(ctx)
	if err != nil {
		return Template{}, err
	}
	t, requests, err := c.checkOwn(ctx, n)
	if err != nil {
		return Template{}, err
	}
	now := db.At(c.Now())
	t.Scope, t.ID, t.CreatedAt, t.UpdatedAt = caller.TeamID, ids.New(), now.Time, now.Time
	return t, c.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.lock(ctx, tx, caller.TeamID); err != nil {
			return err
		}
		return add(ctx, tx, row{Template: t, userID: caller.UserID, requests: requests})
	})
}

// add stores one more template of a team.
func add(ctx context.Context, tx *db.Tx, r row) error {
	has, err := db.Value[int](ctx, tx, `SELECT count(*) FROM template WHERE scope = ?`, r.Scope)
	if err != nil {
		return err
	}
	if has >= maxOwn {
		return errs.New(errs.Forbidden, "too_many_templates", "A team can keep %d templates.", maxOwn)
	}
	return insert(ctx, tx, []row{r})
}

// StoreGenerated stores a generated template under its path, over an earlier one that nobody has edited.
// Invalid for what Create would refuse.
func (c *Catalog) StoreGenerated(ctx context.Context, teamID, userID string, n NewTemplate) (Template, error) {
	t, requests, err := c.checkOwn(ctx, n)
	if err != nil {
		return Template{}, err
	}
	err = c.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.lock(ctx, tx, teamID); err != nil {
			return err
		}
		old, err := c.find(ctx, tx, "t.scope = ? AND t.path = ?", teamID, t.Path)
		switch {
		case errs.Is(err, errs.NotFound):
			now := db.At(c.Now())
			t.Scope, t.ID, t.CreatedAt, t.UpdatedAt = teamID, ids.New(), now.Time, now.Time
			return add(ctx, tx, row{Template: t, userID: userID, requests: requests})
		case err != nil:
			return err
		case old.Digest == t.Digest || old.UpdatedAt.After(old.CreatedAt):
			t = old
			return nil
		}
		t.Scope, t.ID, t.CreatedAt, t.UpdatedAt = teamID, old.ID, old.CreatedAt, old.UpdatedAt
		_, err = tx.Exec(ctx, `UPDATE template SET written_id = ?, name = ?, type = ?, info = ?, digest = ?, requests = ?, raw = ? WHERE scope = ? AND id = ?`,
			t.WrittenID, db.Clean(t.Info.Name), t.Type, db.Doc(t.Info), t.Digest, requests, t.Raw, t.Scope, t.ID)
		if err != nil {
			return err
		}
		return index(ctx, tx, row{Template: t, requests: requests})
	})
	return t, err
}

// Check has a child of the engine compile a template that somebody wrote. It fails with Invalid when that ends the
// child, and says nothing of other faults.
func (c *Catalog) Check(ctx context.Context, path, text string) error {
	if c.Engines == nil {
		return nil
	}
	return c.Engines.Check(ctx, path, []byte(text))
}

// checkOwn reads what a team sent.
func (c *Catalog) checkOwn(ctx context.Context, n NewTemplate) (Template, int, error) {
	if len(n.Prompt) > maxPrompt {
		return Template{}, 0, errs.Field("prompt", "prompt must have at most %d bytes.", maxPrompt)
	}
	dir := strings.Trim(n.Dir, "/")
	if dir != "" && (!fs.ValidPath(dir) || len(dir) > maxPath || !plain(dir)) {
		return Template{}, 0, errs.Field("dir", "dir must be a relative path of at most %d bytes.", maxPath)
	}
	if n.Filename != "" && (!fs.ValidPath(n.Filename) || path.Base(n.Filename) != n.Filename ||
		len(n.Filename) > maxPath || !plain(n.Filename)) {
		return Template{}, 0, errs.Field("filename", "filename must be a name without folders, of at most %d bytes.", maxPath)
	}
	name := cmp.Or(n.Filename, "template.yaml")
	parsed, program, err := c.compile(ctx, name, n.Text)
	if e := errs.From(err); e != nil {
		if e.Kind != errs.Invalid {
			return Template{}, 0, err
		}
		return Template{}, 0, errs.New(errs.Invalid, e.Code, "template: %s", e.Message).At("template").Because(err)
	}
	return Template{
		WrittenID: parsed.ID, Path: path.Join(dir, cmp.Or(n.Filename, parsed.ID+".yaml")), Type: parsed.Type(),
		Info: parsed.Info,
		Raw:  []byte(n.Text), Digest: parsed.Digest, Prompt: db.Clean(n.Prompt), Model: n.Model,
	}, program.Requests(), nil
}

// compile has a child compile a template that may name no files, and then this process. An Invalid error is the
// template's, with its line in Extra.
func (c *Catalog) compile(ctx context.Context, name, text string) (*syntax.Template, *program.Program, error) {
	if err := c.Check(ctx, name, text); err != nil {
		return nil, nil, err
	}
	// Nothing is run here: whether a program may run is decided by the signature when it is scanned with.
	return templates.CompileSigned(name, []byte(text), func(string) ([]byte, error) {
		return nil, errors.New("a template of one's own cannot name other files")
	})
}

// plain reports whether a name has no control characters and no backslash.
func plain(name string) bool {
	return db.Clean(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' })
}

// Own is a page of the templates of the caller's team, newest first, and their total.
func (c *Catalog) Own(ctx context.Context, w page.Window, raw bool) ([]Template, int, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	return c.list(ctx, inScopes(caller.TeamID), "e.id DESC", w, raw)
}

// OwnByID is a template of the caller's team. NotFound when it has none such.
func (c *Catalog) OwnByID(ctx context.Context, id string) (Template, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return Template{}, err
	}
	return c.find(ctx, c.db, "t.scope = ? AND t.id = ?", caller.TeamID, db.Clean(id))
}

// Update replaces a template of the caller's team; an empty file name or folder stays what
// it was. NotFound when the team has none such, Invalid for what Create would refuse.
func (c *Catalog) Update(ctx context.Context, id string, n NewTemplate) (Template, error) {
	caller, err := account.Writer(ctx)
	if err != nil {
		return Template{}, err
	}
	old, err := c.OwnByID(ctx, id)
	if err != nil {
		return Template{}, err
	}
	n.Filename, n.Dir, n.Prompt = cmp.Or(n.Filename, path.Base(old.Path)), cmp.Or(n.Dir, old.Dir()),
		cmp.Or(n.Prompt, old.Prompt)
	t, requests, err := c.checkOwn(ctx, n)
	if err != nil {
		return Template{}, err
	}
	now := db.At(c.Now())
	t.Scope, t.ID, t.CreatedAt, t.UpdatedAt, t.Model = old.Scope, old.ID, old.CreatedAt, now.Time, old.Model
	return t, c.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.lock(ctx, tx, caller.TeamID); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE template SET written_id = ?, path = ?, name = ?, type = ?, info = ?, prompt = ?, digest = ?, requests = ?, raw = ?, updated_at = ?
			WHERE scope = ? AND id = ?`, t.WrittenID, t.Path, db.Clean(t.Info.Name), t.Type, db.Doc(t.Info), t.Prompt, t.Digest,
			requests, t.Raw, now, t.Scope, t.ID)
		if err == nil && n == 0 {
			err = missing()
		}
		if err != nil {
			return err
		}
		return index(ctx, tx, row{Template: t, requests: requests})
	})
}

// Delete removes a template of the caller's team, and with it the link under which it was
// shared. NotFound when the team has none such.
func (c *Catalog) Delete(ctx context.Context, id string) error {
	caller, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	id = db.Clean(id)
	return c.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.lock(ctx, tx, caller.TeamID); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM template WHERE scope = ? AND id = ?`, caller.TeamID, id)
		if err == nil && n == 0 {
			err = missing()
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM template_share WHERE team_id = ? AND template_id = ?`, caller.TeamID, id)
		return err
	})
}
