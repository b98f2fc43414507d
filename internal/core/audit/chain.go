package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/auditfile"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// The entries of a team are a chain: package auditfile says what is hashed. Who appends holds the lock of the row in
// which the chain's end is, so that the chain is one on however many nodes. That row is sealed with the key of the
// server, which is not in the database: who changes the database alone cannot move the end of a chain. A row that is
// not as it was sealed costs a number, and so leaves a gap that every verification reports.

// head is where a chain ends and begins.
type head struct {
	seq, floorSeq   int64
	hash, floorHash string
	adopted         bool
	sealed          []byte
}

func (h *head) text() string {
	return fmt.Sprintf("%d %s %d %s %t", h.seq, h.hash, h.floorSeq, h.floorHash, h.adopted)
}

const sealContext = "audit chain of "

// isSealed reports whether the row is as the server wrote it.
func (l *Log) isSealed(teamID string, h *head) bool {
	if l.box == nil {
		return true
	}
	text, err := l.box.Open(h.sealed, sealContext+teamID)
	return err == nil && string(text) == h.text()
}

const headColumns = `seq, hash, floor_seq, floor_hash, adopted, sealed`

func findHead(ctx context.Context, q db.Querier, teamID, lock string) (h head, err error) {
	err = q.QueryRow(ctx, `SELECT `+headColumns+` FROM audit_chain WHERE team_id = ?`+lock, teamID).
		Scan(&h.seq, &h.hash, &h.floorSeq, &h.floorHash, &h.adopted, &h.sealed)
	return h, err
}

// lock is the end of a team's chain, which nobody else moves until the transaction ends.
func (l *Log) lock(ctx context.Context, tx *db.Tx, teamID string) (h head, err error) {
	forUpdate := tx.Dialect().ForUpdate()
	h, err = findHead(ctx, tx, teamID, forUpdate)
	if err == nil {
		newest, err := db.Value[int64](ctx, tx, `SELECT coalesce(max(seq), 0) FROM audit_entry WHERE team_id = ? AND seq > 0`, teamID)
		if err != nil {
			return h, err
		}
		if newest > h.seq || !l.isSealed(teamID, &h) {
			h.seq = max(h.seq, newest) + 1
			l.logger.ErrorContext(ctx, "the audit log of a team does not end as the server wrote it: a number is left out",
				"team", teamID, "seq", h.seq)
		}
		return h, nil
	}
	if !db.IsNoRows(err) {
		return h, err
	}
	n, err := tx.Exec(ctx, `INSERT INTO audit_chain (team_id, `+headColumns+`) VALUES (?, 0, '', 0, '', ?, ?)
		ON CONFLICT (team_id) DO NOTHING`, teamID, false, []byte{})
	if err != nil {
		return h, err
	}
	if h, err = findHead(ctx, tx, teamID, forUpdate); err != nil || n == 0 {
		return h, err
	}
	// The end of a chain whose row is gone is where its entries end; a number is left out.
	entries, err := db.Select(ctx, tx, scanEntry, `SELECT `+columns+` FROM audit_entry WHERE team_id = ? AND seq > 0
		ORDER BY seq DESC LIMIT 1`, teamID)
	if err == nil && len(entries) > 0 {
		h.seq, h.hash, h.adopted = entries[0].Seq+1, entries[0].Hash, true
		l.logger.ErrorContext(ctx, "the end of the audit log of a team was lost: a number is left out", "team", teamID, "seq", h.seq)
	}
	return h, err
}

// store stores the end of a chain that the transaction has locked.
func (l *Log) store(ctx context.Context, tx *db.Tx, teamID string, h *head) (err error) {
	h.sealed = []byte{}
	if l.box != nil {
		if h.sealed, err = l.box.Seal([]byte(h.text()), sealContext+teamID); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE audit_chain SET seq = ?, hash = ?, floor_seq = ?, floor_hash = ?, adopted = ?, sealed = ?
		WHERE team_id = ?`, h.seq, h.hash, h.floorSeq, h.floorHash, h.adopted, h.sealed, teamID)
	return err
}

// append gives an entry its place.
func (h *head) append(e *Entry) {
	h.seq++
	e.Seq = h.seq
	e.Hash = e.File().Sum(h.hash)
	h.hash = e.Hash
}

// File is the entry as it is hashed and exported.
func (e Entry) File() auditfile.Entry {
	return auditfile.Entry{
		TeamID: e.TeamID, Seq: e.Seq, ID: e.ID, CreatedAt: auditfile.Time(e.CreatedAt), UserID: e.UserID, Email: e.Email,
		Action: e.Action, Object: e.Object, Status: e.Status, Method: e.Method, Path: e.Path, IP: e.IP,
		Source: string(e.Source), Hash: e.Hash,
	}
}

func (l *Log) write(ctx context.Context, entries []Entry) error {
	// In one order everywhere, so that two nodes never wait for each other.
	teams := make([]string, 0, len(entries))
	for _, e := range entries {
		teams = append(teams, e.TeamID)
	}
	slices.Sort(teams)
	teams = slices.Compact(teams)
	return l.db.Tx(ctx, func(tx *db.Tx) error {
		heads := map[string]*head{}
		for _, team := range teams {
			h, err := l.lock(ctx, tx, team)
			if err != nil {
				return err
			}
			if err := l.adopt(ctx, tx, team, &h, 0); err != nil {
				return err
			}
			heads[team] = &h
		}
		for _, e := range entries {
			e.Object, e.Path, e.IP = clip(e.Object), clip(e.Path), canonical(e.IP)
			e.CreatedAt = db.At(e.CreatedAt).Time
			heads[e.TeamID].append(&e)
			_, err := tx.Exec(ctx, `INSERT INTO audit_entry (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				e.ID, e.TeamID, e.UserID, e.Email, e.Action, e.Object, e.Method, e.Path, e.Status, e.IP, e.Source,
				db.At(e.CreatedAt), e.Seq, e.Hash)
			if err != nil {
				return err
			}
		}
		for _, team := range teams {
			if err := l.store(ctx, tx, team, heads[team]); err != nil {
				return err
			}
		}
		return nil
	})
}

const adoptBatch = 1000 // entries that one transaction takes into a chain

// adopt takes the entries that a team had before there was a chain into it, the oldest first: at most so many, 0 for
// all.
func (l *Log) adopt(ctx context.Context, tx *db.Tx, teamID string, h *head, most int) error {
	for done := 0; !h.adopted && (most == 0 || done < most); {
		entries, err := db.Select(ctx, tx, scanEntry, `SELECT `+columns+` FROM audit_entry WHERE team_id = ? AND seq = 0
			ORDER BY created_at, id LIMIT ?`, teamID, cmp.Or(most, adoptBatch))
		if err != nil {
			return err
		}
		for _, e := range entries {
			h.append(&e)
			if _, err := tx.Exec(ctx, `UPDATE audit_entry SET seq = ?, hash = ? WHERE id = ?`, e.Seq, e.Hash, e.ID); err != nil {
				return err
			}
		}
		done += len(entries)
		h.adopted = len(entries) < cmp.Or(most, adoptBatch)
	}
	return nil
}

// Adopt takes the entries from before there were chains into them. Several nodes may do it at once.
func (l *Log) Adopt(ctx context.Context) error {
	teams, err := db.Values[string](ctx, l.db, `SELECT DISTINCT team_id FROM audit_entry e WHERE seq = 0 AND NOT EXISTS
		(SELECT 1 FROM audit_chain c WHERE c.team_id = e.team_id AND c.adopted)`)
	for _, team := range teams {
		for whole := false; err == nil && !whole; {
			whole, err = l.adoptTeam(ctx, team, adoptBatch)
		}
	}
	return err
}

func (l *Log) adoptTeam(ctx context.Context, teamID string, most int) (whole bool, err error) {
	return whole, l.db.Tx(ctx, func(tx *db.Tx) error {
		h, err := l.lock(ctx, tx, teamID)
		if err != nil {
			return err
		}
		if err := l.adopt(ctx, tx, teamID, &h, most); err != nil {
			return err
		}
		whole = h.adopted
		return l.store(ctx, tx, teamID, &h)
	})
}

// ready takes a team's entries into its chain if that was not done yet, so that who reads by number sees all.
func (l *Log) ready(ctx context.Context, teamID string) error {
	waiting, err := db.Value[int](ctx, l.db, `SELECT count(*) FROM (SELECT 1 FROM audit_entry WHERE team_id = ? AND seq = 0
		AND NOT EXISTS (SELECT 1 FROM audit_chain c WHERE c.team_id = ? AND c.adopted) LIMIT 1) w`, teamID, teamID)
	if err == nil && waiting > 0 {
		_, err = l.adoptTeam(ctx, teamID, 0)
	}
	return err
}

const sweepBatch = 1000 // entries that one transaction removes, so that it delays no other

// Run takes old entries into the chains, and then calls Sweep every hour until ctx ends. Several nodes may do it at
// once.
func (l *Log) Run(ctx context.Context) {
	if err := l.Adopt(ctx); err != nil && ctx.Err() == nil {
		l.logger.ErrorContext(ctx, "taking the audit log into its chain", "error", err) // the next entry of a team does it
	}
	if l.retention > 0 {
		queue.Every(ctx, time.Hour, l.logger, "removing old entries of the audit log", l.Sweep)
	}
}

// Sweep removes old entries: of each chain its beginning.
func (l *Log) Sweep(ctx context.Context) error {
	if l.retention == 0 {
		return nil
	}
	before := db.At(l.now().Add(-l.retention))
	teams, err := db.Values[string](ctx, l.db, `SELECT DISTINCT team_id FROM audit_entry WHERE created_at < ?`, before)
	for _, team := range teams {
		for n := sweepBatch; err == nil && n == sweepBatch; {
			n, err = l.sweepTeam(ctx, team, before)
		}
	}
	return err
}

// sweepTeam removes a batch of a team's oldest entries, up to the first one that is not old: nodes whose clocks differ
// may have written some out of order.
func (l *Log) sweepTeam(ctx context.Context, teamID string, before db.Time) (n int, err error) {
	return n, l.db.Tx(ctx, func(tx *db.Tx) error {
		h, err := l.lock(ctx, tx, teamID)
		if err != nil {
			return err
		}
		if err := l.adopt(ctx, tx, teamID, &h, 0); err != nil {
			return err
		}
		entries, err := db.Select(ctx, tx, scanEntry, `SELECT `+columns+` FROM audit_entry WHERE team_id = ? AND seq > 0
			ORDER BY seq LIMIT ?`, teamID, sweepBatch)
		if err != nil {
			return err
		}
		for n < len(entries) && entries[n].CreatedAt.Before(before.Time) {
			n++
		}
		if n > 0 {
			h.floorSeq, h.floorHash = entries[n-1].Seq, entries[n-1].Hash
			if _, err := tx.Exec(ctx, `DELETE FROM audit_entry WHERE team_id = ? AND seq > 0 AND seq <= ?`, teamID, h.floorSeq); err != nil {
				return err
			}
		}
		return l.store(ctx, tx, teamID, &h)
	})
}
