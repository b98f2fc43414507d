// Package audit keeps who did what in a team: one entry for each request that asked for a
// change, whatever came of it. Entries are written before the answer leaves, are never
// changed, and hold neither bodies nor secrets.
package audit

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Source is how a caller proved who they are.
type Source string

// The sources. Unknown is what nothing else fits; no entry of ours has it.
const (
	API      Source = "api"      // an API key
	Platform Source = "platform" // a bearer token, as people have who signed in
	Unknown  Source = "unknown"
)

// Entry is one request that asked for a change.
type Entry struct {
	ID        string // of the request: the log and error_id have the same
	TeamID    string
	UserID    string
	Email     string // as it was then
	Action    string // the operation's id, such as create-config
	Object    string // the id of what it was about; empty: none, or several
	Method    string
	Path      string // without the query
	Status    int    // of the answer
	IP        string // where the request came from
	Source    Source
	CreatedAt time.Time
}

// Log writes, finds and sweeps audit entries.
type Log struct {
	db     *db.DB
	keep   time.Duration // 0: for ever
	now    func() time.Time
	logger *slog.Logger

	writing sync.Mutex // held by who writes a batch
	mu      sync.Mutex
	next    *batch // gathers entries while one is written; nil: none do
}

// New makes the log. Entries older than keep are removed; 0 keeps them for ever. now is
// the clock.
func New(d *db.DB, keep time.Duration, now func() time.Time, logger *slog.Logger) *Log {
	return &Log{db: d, keep: keep, now: now, logger: logger}
}

// Filter picks entries; what is empty picks all.
type Filter struct {
	Email  string // whose; any case
	Action string
	Source Source
	Since  time.Time // from then on
	Until  time.Time // before then
}

// Find are the entries of the caller's team that the filter picks, newest first. A guest
// may not see them.
func (l *Log) Find(ctx context.Context, f Filter, window page.Window) ([]Entry, error) {
	var w db.Where
	if f.Email != "" {
		w.And("email = ?", strings.ToLower(f.Email))
	}
	if f.Action != "" {
		w.And("action = ?", f.Action)
	}
	if f.Source != "" {
		w.And("source = ?", f.Source)
	}
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	return l.find(ctx, w, window)
}

// find are the entries of the caller's team for which w holds.
func (l *Log) find(ctx context.Context, w db.Where, window page.Window) ([]Entry, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	w.And("team_id = ?", c.TeamID)
	limit, args := db.Limit(window)
	rows, err := l.db.Query(ctx, `SELECT id, team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at
		FROM audit_entry`+w.String()+` ORDER BY created_at DESC, id DESC`+limit, append(w.Args, args...)...)
	return db.Collect(rows, err, func(r db.Row) (e Entry, err error) {
		var at db.Time
		err = r.Scan(&e.ID, &e.TeamID, &e.UserID, &e.Email, &e.Action, &e.Object, &e.Method, &e.Path, &e.Status, &e.IP, &e.Source, &at)
		e.CreatedAt = at.Time
		return e, err
	})
}
