// Package catalog keeps the templates that scans choose from: the starter set of the
// binary, the public and the early set that an operator imports, the templates of each
// team, and what teams share of theirs.
//
// A set is imported as a whole, in one transaction. Lists and searches read the table
// template_search, which has a narrow row for each template, with its words and the values
// of its facets as text: a few ten thousand rows are read through faster than an inverted index
// of all their words could be written.
package catalog

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The sets. Any other scope is the id of a team, for its own templates. A template of a
// later set replaces one of the same id in an earlier one: an early template becomes a
// public one.
const (
	StarterSet = "starter" // in the binary
	EarlySet   = "early"   // for teams whose plan has them
	PublicSet  = "public"
)

var sets = []string{StarterSet, EarlySet, PublicSet}

// Config is what a catalogue is made with.
type Config struct {
	Guard *netguard.Guard  // dials for an import from a URL
	Now   func() time.Time // time.Now when nil
}

// Template is one template of the catalogue.
type Template struct {
	Scope      string
	ID         string // under which the catalogue knows it: of a set the written one, of a team a uuid
	WrittenID  string // the id in its text
	Path       string // its place in its set, or the name that its team gave it
	Type       string // the protocol, or workflow
	Info       syntax.Info
	Raw        []byte // nil when it was not requested
	Digest     string // sha256 of Raw, lower-case hex
	Prompt     string // the request of a person that it was written for; usually empty
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
	db       *db.DB
	compiled templates.Cache
}

// New makes the service.
func New(d *db.DB, c Config) *Catalog {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Catalog{Config: c, db: d}
}

// setsOf are the sets of a plan with or without early templates.
func setsOf(early bool) []string {
	if early {
		return []string{StarterSet, PublicSet, EarlySet}
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
	columns = `t.scope, t.id, t.written_id, t.path, t.type, t.info, t.digest, t.prompt, t.release_tag, s.release_tag, s.source, t.is_new, t.created_at, t.updated_at`
	tables  = ` FROM template t JOIN template_scope s ON s.scope = t.scope`
)

// scanned reads a row of columns, with raw after them when it is selected.
func scanned(r db.Row, raw bool) (t Template, err error) {
	var info db.JSON[syntax.Info]
	var created, updated db.Time
	into := []any{&t.Scope, &t.ID, &t.WrittenID, &t.Path, &t.Type, &info, &t.Digest, &t.Prompt, &t.ReleaseTag, &t.Ref, &t.Source, &t.IsNew, &created, &updated}
	if raw {
		into = append(into, &t.Raw)
	}
	err = r.Scan(into...)
	t.Info, t.CreatedAt, t.UpdatedAt = info.V, created.Time, updated.Time
	return t, err
}

func selected(raw bool) string {
	if raw {
		return `SELECT ` + columns + `, t.raw` + tables
	}
	return `SELECT ` + columns + tables
}

// missing is the error for an id that does not exist, or that the caller may not see.
func missing() error { return errs.Missing("template") }

// hasEarly reports whether a plan has early templates.
func hasEarly(p account.Plan) bool { return p != account.Free }
