package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ScanTemplate is what a scan needs to know of a template to choose it.
type ScanTemplate struct {
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
func (k ScanTemplate) Is(id string) bool { return k.ID == id || k.WrittenID == id && id != "" }

// ForScan lists what a team may scan with, except what others share with it: public templates, early
// ones if its plan has them, and its own. Without a team, the public ones.
func (c *Catalog) ForScan(ctx context.Context, teamID string) ([]ScanTemplate, error) {
	early, err := c.teamHasEarly(ctx, teamID)
	if err != nil {
		return nil, err
	}
	where := inScopes(append(setsOf(early), teamID)...)
	return c.scanTemplates(ctx, where, "CASE e.scope WHEN ? THEN 1 ELSE 0 END, "+c.byID(), teamID)
}

// scanTemplates reads what scans need to know of the templates that a condition picks.
func (c *Catalog) scanTemplates(
	ctx context.Context, where db.Where, order string, args ...any,
) (out []ScanTemplate, err error) {
	text := `SELECT e.scope, e.id, e.written_id, e.name, e.path, e.type, e.requests, e.facets FROM template_search e` +
		where.String() + ` ORDER BY ` + order
	for r, err := range c.db.Rows(ctx, text, append(where.Args, args...)...) {
		var k ScanTemplate
		var scope, facets string
		if err == nil {
			err = r.Scan(&scope, &k.ID, &k.WrittenID, &k.Name, &k.Path, &k.Type, &k.Requests, &facets)
		}
		if err != nil {
			return nil, err
		}
		k.Named = scope != PublicSet && scope != StarterSet
		for line := range strings.SplitSeq(facets, "\n") {
			if tag, ok := strings.CutPrefix(line, "tags="); ok {
				k.Tags = append(k.Tags, tag)
			} else if severity, ok := strings.CutPrefix(line, "severity="); ok {
				k.Severity = severity
			}
		}
		out = append(out, k)
	}
	return out, nil
}

func (c *Catalog) teamHasEarly(ctx context.Context, teamID string) (bool, error) {
	plan, err := db.Value[account.Plan](ctx, c.db, `SELECT plan FROM team WHERE id = ?`, teamID)
	if db.IsNoRows(err) {
		return false, nil
	}
	return hasEarly(plan), err
}

// SharedForScan is a template that is shared with a team, or with one of its members, by
// its link. NotFound when nothing is.
func (c *Catalog) SharedForScan(ctx context.Context, teamID, id string) (ScanTemplate, error) {
	t, err := c.sharedWithTeam(ctx, teamID, id)
	if err != nil {
		return ScanTemplate{}, err
	}
	var where db.Where
	where.And("e.scope = ? AND e.id = ?", t.Scope, t.ID)
	found, err := c.scanTemplates(ctx, where, "e.id")
	if err != nil || len(found) == 0 {
		return ScanTemplate{}, cmp.Or(err, missing())
	}
	found[0].ID = id
	return found[0], nil
}

func (c *Catalog) sharedWithTeam(ctx context.Context, teamID, id string) (Template, error) {
	emails, err := db.Values[string](ctx, c.db, `SELECT u.email FROM member m JOIN user_account u ON u.id = m.user_id
		WHERE m.team_id = ?`, teamID)
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

	files  map[string][]byte
	public string
}

// PublicPath is where the API of this server answers a template of a public set; empty for one of a team.
func (t Text) PublicPath() string { return t.public }

// Files are the texts of the files that the template names.
func (t Text) Files() map[string][]byte { return t.files }

// Texts reads templates that a team may scan with, by the ids of ForScan and SharedForScan and by
// written ids. It leaves out templates that were deleted or that the team may no longer see.
func (c *Catalog) Texts(ctx context.Context, teamID string, ids []string) (map[string]Text, error) {
	early, err := c.teamHasEarly(ctx, teamID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Text, len(ids))
	for part := range slices.Chunk(ids, 500) {
		var w, own db.Where
		db.In(&w, "t.scope", append(setsOf(early), teamID))
		db.In(&w, "t.written_id", part) // of a set, that is the id
		w.And(notReplaced("t"))
		own.And("t.scope = ?", teamID)
		db.In(&own, "t.id", part)
		or := strings.Replace(own.String(), " WHERE ", " OR ", 1)
		found, err := c.texts(ctx, w.String()+or, append(w.Args, own.Args...)...)
		if err != nil {
			return nil, err
		}
		// By an id a set's template is meant, else a team's own, else the oldest of its own that
		// has it in its text.
		byName := map[string]Text{}
		for _, t := range found {
			byName[t.writtenID] = t.Text
		}
		for _, t := range found {
			byName[t.id] = t.Text
		}
		for _, t := range found {
			if t.scope != teamID {
				byName[t.id] = t.Text
			}
		}
		for _, id := range part {
			t, ok := byName[id]
			if !ok {
				t, err = c.sharedText(ctx, teamID, id)
			}
			if err == nil {
				out[id] = t
			} else if !errs.Is(err, errs.NotFound) {
				return nil, err
			}
		}
	}
	return out, nil
}

// WithDigest are the ids of the templates that a team may scan with, shared ones left out, that have a written id and a
// digest: of a set that id itself, of the team's own the catalogue's.
func (c *Catalog) WithDigest(ctx context.Context, teamID, writtenID, digest string) ([]string, error) {
	var w db.Where
	db.In(&w, "scope", append(setsOf(true), teamID))
	w.And("written_id = ? AND digest = ?", writtenID, digest)
	return db.Values[string](ctx, c.db, `SELECT DISTINCT id FROM template`+w.String()+` ORDER BY id`, w.Args...)
}

func (c *Catalog) sharedText(ctx context.Context, teamID, id string) (Text, error) {
	t, err := c.sharedWithTeam(ctx, teamID, id)
	if err != nil {
		return Text{}, err
	}
	found, err := c.texts(ctx, " WHERE t.scope = ? AND t.id = ?", t.Scope, t.ID)
	if err != nil || len(found) == 0 {
		return Text{}, cmp.Or(err, missing())
	}
	return found[0].Text, nil
}

// stored is a template as texts reads it.
type stored struct {
	Text
	scope, id, writtenID string
	names                map[string]string // of files → their paths in the set
}

// texts reads templates, the newest first, with the files that they name.
func (c *Catalog) texts(ctx context.Context, where string, args ...any) ([]stored, error) {
	var scopes, paths []string
	found, err := db.Select(ctx, c.db, func(r db.Row) (one stored, err error) {
		err = r.Scan(&one.scope, &one.id, &one.writtenID, &one.Path, &one.Digest, db.Into(&one.names), &one.Data)
		switch one.scope {
		case StarterSet, PublicSet:
			one.public = "/v1/template/public/" + url.PathEscape(one.id)
		case EarlySet:
			one.public = "/v1/template/early/" + url.PathEscape(one.id)
		}
		for _, path := range one.names {
			scopes, paths = append(scopes, one.scope), append(paths, path)
		}
		return one, err
	}, `SELECT t.scope, t.id, t.written_id, t.path, t.digest, t.files, t.raw FROM template t`+where+` ORDER BY t.id DESC`,
		args...)
	if err != nil || len(paths) == 0 {
		return found, err
	}
	type location struct{ scope, path string }
	files := map[location][]byte{}
	var w db.Where
	db.In(&w, "scope", unique(scopes))
	db.In(&w, "path", unique(paths))
	_, err = db.Select(ctx, c.db, func(r db.Row) (at location, err error) {
		var text []byte
		err = r.Scan(&at.scope, &at.path, &text)
		files[at] = text
		return at, err
	}, `SELECT scope, path, text FROM template_file`+w.String(), w.Args...)
	for i := range found {
		one := &found[i]
		one.files = make(map[string][]byte, len(one.names))
		for _, name := range slices.Sorted(maps.Keys(one.names)) {
			text, ok := files[location{one.scope, one.names[name]}]
			if !ok {
				return nil, fmt.Errorf("%s: its file %s was replaced meanwhile", one.Path, name)
			}
			one.files[name] = text
			one.Digest += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
	}
	return found, err
}

func unique(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }
