package catalog

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Known is what a scan needs to know of a template to choose it.
type Known struct {
	ID        string // the catalogue's; of a shared one its link
	WrittenID string
	Name      string
	Path      string
	Tags      []string
	Severity  string
	Type      string
	Requests  int  // on one target; 0: this build cannot run it
	Named     bool // the sets recommended and all do not include it: a scan must name it
}

// Is reports whether an id is the template's.
func (k Known) Is(id string) bool { return k.ID == id || k.WrittenID == id && id != "" }

// ForScan lists what a team may scan with, except what others share with it: the public
// and, as its plan has it, the early templates, and its own. Without a team, the public
// ones.
func (c *Catalog) ForScan(ctx context.Context, teamID string) ([]Known, error) {
	early, err := c.teamHasEarly(ctx, teamID)
	if err != nil {
		return nil, err
	}
	var out []Known
	for _, scope := range slices.Compact([]string{"", teamID}) {
		x, err := c.current(ctx, scope)
		if err != nil {
			return nil, err
		}
		out = slices.Grow(out, len(x.entries))
		for i := range x.entries {
			e := &x.entries[i]
			if e.scope == EarlySet && !early {
				continue
			}
			out = append(out, Known{e.id, e.writtenID, e.name, e.path, e.tags, e.severity, e.typ, e.requests, e.scope != PublicSet && e.scope != StarterSet})
		}
	}
	return out, nil
}

func (c *Catalog) teamHasEarly(ctx context.Context, teamID string) (bool, error) {
	var plan account.Plan
	err := c.db.QueryRow(ctx, `SELECT plan FROM team WHERE id = ?`, teamID).Scan(&plan)
	if db.IsNoRows(err) {
		return false, nil
	}
	return hasEarly(plan), err
}

// SharedForScan is a template that is shared with a team, or with one of its members, by
// its link. NotFound when nothing is.
func (c *Catalog) SharedForScan(ctx context.Context, teamID, id string) (Known, error) {
	t, err := c.sharedWithTeam(ctx, teamID, id)
	if err != nil {
		return Known{}, err
	}
	k := Known{ID: id, WrittenID: t.WrittenID, Name: t.Info.Name, Path: t.Path, Tags: t.Info.Tags, Severity: string(t.Info.Severity), Type: t.Type, Named: true}
	return k, c.db.QueryRow(ctx, `SELECT requests FROM template WHERE scope = ? AND id = ?`, t.Scope, t.ID).Scan(&k.Requests)
}

func (c *Catalog) sharedWithTeam(ctx context.Context, teamID, id string) (Template, error) {
	rows, err := c.db.Query(ctx, `SELECT u.email FROM member m JOIN user_account u ON u.id = m.user_id WHERE m.team_id = ?`, teamID)
	emails, err := db.Collect(rows, err, func(r db.Row) (email string, err error) { return email, r.Scan(&email) })
	if err != nil {
		return Template{}, err
	}
	_, t, err := c.sharedWith(ctx, id, teamID, emails)
	return t, err
}

// Text is a template as it is compiled.
type Text struct {
	Path   string
	Digest string // of Data and of all files that it names
	Data   []byte

	files map[string][]byte
}

// File gives the text of a file that the template names.
func (t Text) File(name string) ([]byte, error) {
	text, ok := t.files[name]
	if !ok {
		return nil, fmt.Errorf("there is no file %.200s that the template may read", name)
	}
	return text, nil
}

// Program is what a scan runs of a template, or why there is none.
type Program struct {
	*program.Program
	Err    error
	Digest string // of the template and all files that it names
}

// Programs compiles templates that a team may scan with, by the ids that Texts takes; each
// text is compiled once. A template that was deleted is not in the answer.
func (c *Catalog) Programs(ctx context.Context, teamID string, ids []string) (map[string]Program, error) {
	texts, err := c.Texts(ctx, teamID, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Program, len(texts))
	for id, t := range texts {
		p := Program{Digest: t.Digest}
		p.Program, p.Err = c.compiled.Compile(t.Digest, t.Path, t.Data, t.File)
		out[id] = p
	}
	return out, nil
}

// Texts reads templates that a team may scan with, by the ids of ForScan and SharedForScan
// and by written ids. A template that was deleted, or that the team may no
// longer see, is not in the answer.
func (c *Catalog) Texts(ctx context.Context, teamID string, ids []string) (map[string]Text, error) {
	early, err := c.teamHasEarly(ctx, teamID)
	if err != nil {
		return nil, err
	}
	public, err := c.current(ctx, "")
	if err != nil {
		return nil, err
	}
	own, err := c.current(ctx, teamID)
	if err != nil {
		return nil, err
	}
	type location struct{ scope, id string }
	asked := map[location][]string{} // → the names under which it was asked for
	byScope := map[string][]string{}
	for _, name := range ids {
		var at location
		if n, ok := public.byID[name]; ok && (early || public.entries[n].scope != EarlySet) {
			at = location{public.entries[n].scope, public.entries[n].id}
		} else if n, ok := own.byID[name]; ok {
			at = location{teamID, own.entries[n].id}
		} else {
			t, err := c.sharedWithTeam(ctx, teamID, name)
			if errs.Is(err, errs.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			at = location{t.Scope, t.ID}
		}
		if asked[at] == nil {
			byScope[at.scope] = append(byScope[at.scope], at.id)
		}
		asked[at] = append(asked[at], name)
	}
	out := map[string]Text{}
	for scope, ids := range byScope {
		for part := range slices.Chunk(ids, 500) {
			if err := c.texts(ctx, scope, part, func(id string, t Text) {
				for _, name := range asked[location{scope, id}] {
					out[name] = t
				}
			}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// texts reads templates of a scope with the files that they name.
func (c *Catalog) texts(ctx context.Context, scope string, ids []string, give func(id string, t Text)) error {
	type read struct {
		Text
		id    string
		names map[string]string
	}
	var w db.Where
	w.And("scope = ?", scope)
	db.In(&w, "id", ids)
	rows, err := c.db.Query(ctx, `SELECT id, path, digest, files, raw FROM template`+w.String(), w.Args...)
	found, err := db.Collect(rows, err, func(r db.Row) (one read, err error) {
		var names db.JSON[map[string]string]
		err = r.Scan(&one.id, &one.Path, &one.Digest, &names, &one.Data)
		one.names = names.V
		return one, err
	})
	if err != nil {
		return err
	}
	for _, one := range found {
		one.files = make(map[string][]byte, len(one.names))
		for _, name := range slices.Sorted(maps.Keys(one.names)) {
			var text []byte
			if err := c.db.QueryRow(ctx, `SELECT text FROM template_file WHERE scope = ? AND path = ?`, scope, one.names[name]).Scan(&text); err != nil {
				return err
			}
			one.files[name] = text
			one.Digest += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		give(one.id, one.Text)
	}
	return nil
}
