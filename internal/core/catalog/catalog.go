// Package catalog stores the templates that scans choose from: the binary's starter set, the imported public
// and early sets, each team's own, and those that teams share.
//
// A set is imported in one transaction. Lists and searches scan template_search, a narrow row for each template
// with its words and facets as text: scanning some 10,000 rows is faster than writing an inverted index.
package catalog

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The sets; any other scope is a team's id. A template of a later set replaces one of the same id in an earlier set.
const (
	StarterSet = "starter" // in the binary
	EarlySet   = "early"   // for teams whose plan has them
	PublicSet  = "public"
)

var sets = []string{StarterSet, EarlySet, PublicSet}

// Config is what a catalogue is made with.
type Config struct {
	Guard   *netguard.Guard  // dials for an import from a URL
	Engines *child.Pool      // compile what teams send, before this process does; nil: for imports, which need none
	Now     func() time.Time // time.Now when nil
}

// Template is one template of the catalogue.
type Template struct {
	Scope      string
	ID         string // WrittenID in a set, a uuid in a team
	WrittenID  string // the id in its text
	Path       string // its place in its set, or the name that its team gave it
	Type       string // the protocol, or workflow
	Info       syntax.Info
	Raw        []byte // nil when it was not requested
	Digest     string // sha256 of Raw, lower-case hex
	Prompt     string // the request of a person that it was written for; usually empty
	Model      string // that wrote it; empty: a person did
	ReleaseTag string // the release that brought it first
	Ref        string // the release that it is in now
	Source     string // where its set came from
	IsNew      bool   // the last release brought it
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// IsOwn reports whether a team made the template.
func (t Template) IsOwn() bool { return !slices.Contains(sets, t.Scope) }

// Dir is the folder of the template in its set; empty at the top.
func (t Template) Dir() string { return dirOf(t.Path) }

func dirOf(p string) string {
	if dir := path.Dir(p); dir != "." {
		return dir
	}
	return ""
}

// Catalog is the service that keeps templates.
type Catalog struct {
	Config
	db *db.DB
}

// New makes the service.
func New(d *db.DB, c Config) *Catalog {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Catalog{Config: c, db: d}
}

func setsOf(early bool) []string {
	if early {
		return sets
	}
	return []string{StarterSet, PublicSet}
}

// lock locks a scope until the end of the transaction.
func (c *Catalog) lock(ctx context.Context, tx *db.Tx, scope string) error {
	_, err := tx.Exec(ctx, `INSERT INTO template_scope (scope, updated_at) VALUES (?, ?)
		ON CONFLICT (scope) DO UPDATE SET updated_at = excluded.updated_at`, scope, db.At(c.Now()))
	return err
}

const (
	columns = `t.scope, t.id, t.written_id, t.path, t.type, t.info, t.digest, t.prompt, t.model, t.release_tag, s.release_tag, s.source, t.is_new, t.created_at, t.updated_at`
	tables  = ` FROM template t JOIN template_scope s ON s.scope = t.scope`
)

// scanTemplate reads a row of columns, with raw after them when it is selected.
func scanTemplate(r db.Row, raw bool) (t Template, err error) {
	into := []any{
		&t.Scope, &t.ID, &t.WrittenID, &t.Path, &t.Type, db.Into(&t.Info), &t.Digest, &t.Prompt, &t.Model,
		&t.ReleaseTag, &t.Ref, &t.Source, &t.IsNew, db.Into(&t.CreatedAt), db.Into(&t.UpdatedAt),
	}
	if raw {
		into = append(into, &t.Raw)
	}
	err = r.Scan(into...)
	return t, err
}

func selectTemplate(raw bool) string {
	text := ""
	if raw {
		text = `, t.raw`
	}
	return `SELECT ` + columns + text + tables
}

// IsDraft reports whether a model wrote the template and no person has changed it since.
func (t Template) IsDraft() bool { return t.Model != "" && !t.UpdatedAt.After(t.CreatedAt) }

// missing also hides what the caller may not see.
func missing() error { return errs.Missing("template") }

func hasEarly(p account.Plan) bool { return p != account.Free }
