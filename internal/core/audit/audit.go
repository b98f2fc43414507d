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
	"github.com/vedette-sec/vedette/internal/infra/seal"
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

	Seq  int64  // its place in the team's chain: 1, 2, 3, …
	Hash string // of the entry and of all before it
}

// Log is the service of audit entries.
type Log struct {
	db        *db.DB
	box       *seal.Box
	retention time.Duration // 0: for ever
	now       func() time.Time
	logger    *slog.Logger

	writing sync.Mutex // held while a batch is written
	mu      sync.Mutex
	next    *batch // collects entries meanwhile; may be nil
}

// New makes the log. Entries older than retention are removed; 0 keeps them for ever. The ends of chains are sealed
// with box; nil seals none, in tests.
func New(d *db.DB, box *seal.Box, retention time.Duration, now func() time.Time, logger *slog.Logger) *Log {
	return &Log{db: d, box: box, retention: retention, now: now, logger: logger}
}

// Filter picks entries; an empty field picks all.
type Filter struct {
	Email  string // whose; any case
	Action string
	Source Source
	Object string // the id of the changed object
	Method string
	Status int
	Since  time.Time // from then on
	Until  time.Time // before then
	Word   string    // as Search takes it
}

func (f Filter) where(d db.Dialect) (w db.Where, err error) {
	if f.Word != "" {
		if w, err = conditions(f.Word, d); err != nil {
			return w, err
		}
	}
	db.Equal(&w, "email", strings.ToLower(f.Email))
	db.Equal(&w, "action", f.Action)
	db.Equal(&w, "source", f.Source)
	db.Equal(&w, "object_id", f.Object)
	db.Equal(&w, "method", f.Method)
	db.Equal(&w, "status", f.Status)
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	return w, nil
}

// Find are the entries of the caller's team that the filter picks, newest first. A guest may not see them.
func (l *Log) Find(ctx context.Context, f Filter, window page.Window) ([]Entry, error) {
	w, err := f.where(l.db.Dialect())
	if err != nil {
		return nil, err
	}
	return l.find(ctx, w, window)
}

func (l *Log) find(ctx context.Context, w db.Where, window page.Window) ([]Entry, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	w.And("team_id = ?", c.TeamID)
	return db.Select(ctx, l.db, scanEntry, `SELECT `+columns+` FROM audit_entry`+w.String()+
		` ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`, append(w.Args, window.Limit, window.Offset)...)
}

const columns = `id, team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at, seq, hash`

func scanEntry(r db.Row) (e Entry, err error) {
	return e, r.Scan(&e.ID, &e.TeamID, &e.UserID, &e.Email, &e.Action, &e.Object, &e.Method, &e.Path, &e.Status, &e.IP,
		&e.Source, db.Into(&e.CreatedAt), &e.Seq, &e.Hash)
}

const maxQuery = 200 // characters

// Search are the entries of the caller's team that one word picks, newest first. The word may be a status, a
// source, an IP address, an e-mail address, an HTTP method or a path; anything else is searched in paths,
// operations and objects.
func (l *Log) Search(ctx context.Context, q string, window page.Window) ([]Entry, error) {
	w, err := conditions(q, l.db.Dialect())
	if err != nil {
		return nil, err
	}
	return l.find(ctx, w, window)
}

// pathAndName is one text, because searching two costs twice as much.
const pathAndName = "path || '\n' || action"

func conditions(q string, d db.Dialect) (w db.Where, err error) {
	q = strings.TrimSpace(q)
	if n := len([]rune(q)); n == 0 || n > maxQuery {
		return w, errs.Field("q", "q must have 1 to %d characters.", maxQuery)
	}
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
	return w, nil
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

func canonical(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return clip(ip)
	}
	return addr.Unmap().WithZone("").String()
}

const maxText = 1024 // bytes of a text of a request

func clip(s string) string { return db.Clean(s[:min(len(s), maxText)]) }
