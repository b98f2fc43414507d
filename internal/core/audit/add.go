package audit

import (
	"context"
	"net/netip"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// batch are entries that are written in one transaction, so that requests that end at
// once wait for the disk once. The first of them writes for all.
type batch struct {
	entries []Entry
	written chan struct{} // closed when they are on disk, or err says why not
	err     error
}

// Add keeps an entry; its time is now. When it returns nil, the entry is on disk.
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
	l.next = nil // who comes now waits for the next one
	l.mu.Unlock()
	defer close(b.written)
	b.err = l.write(ctx, b.entries)
	return b.err
}

func (l *Log) write(ctx context.Context, entries []Entry) error {
	return l.db.Tx(ctx, func(tx *db.Tx) error {
		for _, e := range entries {
			if _, err := tx.Exec(ctx, `INSERT INTO audit_entry (id, team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				e.ID, e.TeamID, e.UserID, e.Email, e.Action, clip(e.Object), e.Method, clip(e.Path), e.Status, canonical(e.IP), e.Source, db.At(e.CreatedAt)); err != nil {
				return err
			}
		}
		return nil
	})
}

// canonical is an address in the form in which it is searched for.
func canonical(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return clip(ip)
	}
	return addr.Unmap().WithZone("").String()
}

// maxText is how much is kept of a text that a request brought, in bytes.
const maxText = 1024

// clip bounds a text, at the boundary of a character.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
	}
	return db.Clean(s)
}
