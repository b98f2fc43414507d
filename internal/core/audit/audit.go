// Package audit records who did what in a team: one entry for each request that asked for a change, whatever
// its result. Entries are written before the response is sent, are never changed, and contain neither bodies
// nor secrets.
package audit

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Source is how a caller authenticated.
type Source string

// The sources. No entry of ours has Unknown.
const (
	API      Source = "api"      // an API key
	Platform Source = "platform" // a bearer token of a person
	Unknown  Source = "unknown"
)

// Entry is one request that asked for a change.
type Entry struct {
	ID        string // of the request: the log and error_id have the same
	TeamID    string
	UserID    string
	Email     string // as it was then
	Action    string // the operation's id, such as create-config
	Object    string // the id of the changed object; empty: none, or several
	Method    string
	Path      string // without the query
	Status    int    // of the answer
	IP        string // where the request came from
	Source    Source
	CreatedAt time.Time
}

// Log is the service of audit entries.
type Log struct {
	db        *db.DB
	retention time.Duration // 0: for ever
	now       func() time.Time
	logger    *slog.Logger

	writing sync.Mutex // held while a batch is written
	mu      sync.Mutex
	next    *batch // collects entries meanwhile; may be nil
}

// New makes the log. Entries older than keep are removed; 0 keeps them for ever.
func New(d *db.DB, retention time.Duration, now func() time.Time, logger *slog.Logger) *Log {
	return &Log{db: d, retention: retention, now: now, logger: logger}
}

// Filter picks entries; an empty field picks all.
type Filter struct {
	Email  string // whose; any case
	Action string
	Source Source
	Since  time.Time // from then on
	Until  time.Time // before then
}

// Find are the entries of the caller's team that the filter picks, newest first. A guest may not see them.
func (l *Log) Find(ctx context.Context, f Filter, window page.Window) ([]Entry, error) {
	var w db.Where
	db.Equal(&w, "email", strings.ToLower(f.Email))
	db.Equal(&w, "action", f.Action)
	db.Equal(&w, "source", f.Source)
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	return l.find(ctx, w, window)
}

func (l *Log) find(ctx context.Context, w db.Where, window page.Window) ([]Entry, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	w.And("team_id = ?", c.TeamID)
	scan := func(r db.Row) (e Entry, err error) {
		err = r.Scan(&e.ID, &e.TeamID, &e.UserID, &e.Email, &e.Action, &e.Object, &e.Method, &e.Path, &e.Status, &e.IP,
			&e.Source, db.Into(&e.CreatedAt))
		return e, err
	}
	return db.Select(ctx, l.db, scan, `SELECT `+columns+` FROM audit_entry`+w.String()+
		` ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`, append(w.Args, window.Limit, window.Offset)...)
}

const columns = `id, team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at`

const maxQuery = 200 // characters

// Search are the entries of the caller's team that one word picks, newest first. The word may be a status, a
// source, an IP address, an e-mail address, an HTTP method or a path; anything else is searched in paths,
// operations and objects.
func (l *Log) Search(ctx context.Context, q string, window page.Window) ([]Entry, error) {
	q = strings.TrimSpace(q)
	if n := len([]rune(q)); n == 0 || n > maxQuery {
		return nil, errs.Field("q", "q must have 1 to %d characters.", maxQuery)
	}
	return l.find(ctx, conditions(q, l.db.Dialect()), window)
}

// pathAndName is one text, because searching two costs twice as much.
const pathAndName = "path || '\n' || action"

func conditions(q string, d db.Dialect) (w db.Where) {
	contains := func(column string) { w.And(d.Contains(column, q)) }
	addr, notAddr := netip.ParseAddr(q)
	status, notNumber := strconv.Atoi(q)
	switch {
	case notNumber == nil && len(q) == 3 && status >= 100 && status <= 599:
		w.And("status = ?", status)
	case slices.Contains([]Source{API, Platform, Unknown}, Source(strings.ToLower(q))):
		w.And("source = ?", strings.ToLower(q))
	case notAddr == nil:
		w.And("ip = ?", addr.Unmap().WithZone("").String())
	case strings.Contains(q, "@"):
		contains("email")
	case slices.Contains(methods, strings.ToUpper(q)):
		w.And("method = ?", strings.ToUpper(q))
	case strings.Contains(q, "/"):
		contains(pathAndName)
	default:
		contains(pathAndName + " || '\n' || object_id")
	}
	return w
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// batch are the entries of concurrent requests, which the first of them writes in one transaction.
type batch struct {
	entries []Entry
	written chan struct{} // closed when they are on disk, or err says why not
	err     error
}

// Add stores an entry with the present time. When it returns nil, the entry is on disk.
func (l *Log) Add(ctx context.Context, e Entry) error {
	e.CreatedAt = l.now()
	l.mu.Lock()
	first := l.next == nil
	if first {
		l.next = &batch{written: make(chan struct{})}
	}
	b := l.next
	b.entries = append(b.entries, e)
	l.mu.Unlock()
	if !first {
		<-b.written
		return b.err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.next = nil // later entries go into the next one
	l.mu.Unlock()
	defer close(b.written)
	b.err = l.write(ctx, b.entries)
	return b.err
}

func (l *Log) write(ctx context.Context, entries []Entry) error {
	return l.db.Tx(ctx, func(tx *db.Tx) error {
		for _, e := range entries {
			_, err := tx.Exec(ctx, `INSERT INTO audit_entry (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				e.ID, e.TeamID, e.UserID, e.Email, e.Action, clip(e.Object), e.Method, clip(e.Path), e.Status, canonical(e.IP),
				e.Source, db.At(e.CreatedAt))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func canonical(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return clip(ip)
	}
	return addr.Unmap().WithZone("").String()
}

const maxText = 1024 // bytes of a text of a request

func clip(s string) string { return db.Clean(s[:min(len(s), maxText)]) }

const sweepBatch = 1000 // entries that one transaction removes, so that it delays no other

// SweepRegularly calls Sweep every hour until ctx ends. Several nodes may do it at once.
func (l *Log) SweepRegularly(ctx context.Context) {
	if l.retention == 0 {
		return
	}
	queue.Every(ctx, time.Hour, l.logger, "removing old entries of the audit log", l.Sweep)
}

// Sweep removes old entries.
func (l *Log) Sweep(ctx context.Context) error {
	if l.retention == 0 {
		return nil
	}
	before := db.At(l.now().Add(-l.retention))
	for {
		n, err := l.db.Exec(ctx, `DELETE FROM audit_entry WHERE id IN
			(SELECT id FROM audit_entry WHERE created_at < ? ORDER BY created_at LIMIT ?)`, before, sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
