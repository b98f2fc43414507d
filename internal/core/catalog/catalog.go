// Package catalog keeps the templates that scans choose from: the starter set of the
// binary, the public and the early set that an operator imports, the templates of each
// team, and what teams share of theirs.
//
// A set is imported as a whole, in one transaction. Lists and searches come from an index
// in memory, so that both databases give the same answers; the index holds what the
// database holds at its revision and is made anew when that has changed.
package catalog

import (
	"context"
	"maps"
	"path"
	"slices"
	"sync"
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

	mu      sync.Mutex
	indexes map[string]*kept // by team; "" is that of the sets
}

// kept is an index and when it was last used.
type kept struct {
	sync.Mutex
	index *index
	used  time.Time // guarded by Catalog.mu
}

// New makes the service.
func New(d *db.DB, c Config) *Catalog {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Catalog{Config: c, db: d, indexes: map[string]*kept{}}
}

// idleAfter is after how long without use an index is dropped.
const idleAfter = time.Hour

// current gives the index of a team's templates, or with "" of the sets, as of what was
// committed before the call.
func (c *Catalog) current(ctx context.Context, teamID string) (*index, error) {
	scopes := sets
	if teamID != "" {
		scopes = []string{teamID}
	}
	revs, err := c.revisions(ctx, scopes)
	if err != nil {
		return nil, err
	}
	k := c.keep(teamID)
	k.Lock()
	defer k.Unlock()
	if k.index != nil && maps.Equal(k.index.revs, revs) {
		return k.index, nil
	}
	made, err := c.load(ctx, scopes, revs)
	if err == nil {
		k.index = made
	}
	return made, err
}

func (c *Catalog) keep(teamID string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	maps.DeleteFunc(c.indexes, func(_ string, k *kept) bool { return now.Sub(k.used) > idleAfter })
	k := c.indexes[teamID]
	if k == nil {
		k = &kept{}
		c.indexes[teamID] = k
	}
	k.used = now
	return k
}

func (c *Catalog) revisions(ctx context.Context, scopes []string) (map[string]int64, error) {
	var w db.Where
	db.In(&w, "scope", scopes)
	rows, err := c.db.Query(ctx, `SELECT scope, rev FROM template_scope`+w.String(), w.Args...)
	revs := map[string]int64{}
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var scope string
		var rev int64
		err := r.Scan(&scope, &rev)
		revs[scope] = rev
		return struct{}{}, err
	})
	return revs, err
}

// hold locks a scope until the end of the transaction and gives it the next revision.
func (c *Catalog) hold(ctx context.Context, tx *db.Tx, scope string) error {
	_, err := tx.Exec(ctx, `INSERT INTO template_scope (scope, rev, updated_at) VALUES (?, 1, ?)
		ON CONFLICT (scope) DO UPDATE SET rev = template_scope.rev + 1, updated_at = excluded.updated_at`, scope, db.At(c.Now()))
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
