package finding

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// A ticket belongs to a weakness (its column hash has the weakness's name), a reporting configuration and one of its
// trackers. core/ticket keeps it in step with the issue in the tracker; this file has what the two sides do in one
// transaction with a change of the finding.

// Tracker is one tracker of a reporting configuration, in which a finding is filed as an issue.
type Tracker struct {
	ConfigID string
	Provider string // one of tracker.Providers
	SeenIn   string // what saw the finding, such as a run of a scan; it is reported once in an issue
}

// Ticket is an issue of a finding in a tracker, and the configuration that led there.
type Ticket struct {
	ConfigID, ConfigName, Provider string
	Issue                          engine.IssueTracker
}

// TicketNews is what there is to tell the issues of a finding.
type TicketNews struct {
	Kind   string // status, seen, comment or regrouped
	Text   string // the status, what saw it, the comment, or what it became part of
	Author string // an email; empty: the service
}

// The kinds of TicketNews.
const (
	NewsStatus    = "status"
	NewsSeen      = "seen"
	NewsComment   = "comment"
	NewsRegrouped = "regrouped" // the finding is part of another, or one of its own again
)

// ticketGrace is when a job that was queued for a ticket is taken for lost.
const ticketGrace = 10 * time.Minute

// TellTickets puts news into the outbox of each ticket of some weaknesses, in the transaction of the change that they
// are about, with a job for each ticket that has none waiting.
func (fs *Findings) TellTickets(
	ctx context.Context, tx *db.Tx, teamID string, weaknesses []string, news TicketNews,
) error {
	if fs.queue == nil || len(weaknesses) == 0 {
		return nil
	}
	w := db.InTeam(teamID, "hash", weaknesses)
	type row struct {
		to     TicketArgs
		no     int64
		queued bool
	}
	now := fs.now()
	told, err := db.Select(ctx, tx, func(r db.Row) (row, error) {
		one := row{to: TicketArgs{TeamID: teamID}}
		return one, r.Scan(&one.to.Hash, &one.to.ConfigID, &one.to.Provider, &one.no, &one.queued)
	}, `UPDATE ticket SET last_no = last_no + 1`+w.String()+` AND NOT is_gone
		RETURNING hash, config_id, provider, last_no, is_queued`, w.Args...)
	if err != nil {
		return err
	}
	for _, one := range told {
		if _, err := tx.Exec(ctx, `INSERT INTO ticket_outbox (team_id, hash, config_id, provider, no, kind, text, author, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, teamID, one.to.Hash, one.to.ConfigID, one.to.Provider, one.no, news.Kind,
			db.Clean(news.Text), news.Author, db.At(now)); err != nil {
			return err
		}
		if one.queued {
			continue
		}
		if err := fs.QueueTicket(ctx, tx, one.to); err != nil {
			return err
		}
	}
	return nil
}

// QueueTicket queues the job of a ticket, and notes when to look whether it was lost.
func (fs *Findings) QueueTicket(ctx context.Context, tx *db.Tx, a TicketArgs) error {
	if _, err := tx.Exec(ctx, `UPDATE ticket SET is_queued = ?, retry_at = ?
		WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ?`, true, db.At(fs.now().Add(ticketGrace)),
		a.TeamID, a.Hash, a.ConfigID, a.Provider); err != nil {
		return err
	}
	_, err := fs.queue.Insert(ctx, tx, a.TeamID, a)
	return err
}

// OfWeakness is the finding of a weakness that was seen last, with the status that was decided; of some that were seen
// at one time, it is of the hash that the weakness is named by. NotFound when there is none.
func (fs *Findings) OfWeakness(ctx context.Context, q db.Querier, teamID, weakness string) (f Finding, err error) {
	if q == nil {
		q = fs.db
	}
	own, args := withHashes(teamID, []string{weakness})
	const joined = ` WHERE f.team_id = ? AND f.weakness <> '' AND f.weakness = ?`
	for _, of := range []struct {
		where string
		args  []any
	}{{own + ` AND f.weakness = ''`, args}, {joined, []any{teamID, weakness}}} {
		one, err := scanWhole(q.QueryRow(ctx, `SELECT `+columns+`, d.exchange`+tables+of.where+
			` ORDER BY f.seen_at DESC, f.no DESC LIMIT 1`, of.args...))
		if err != nil && !db.IsNoRows(err) {
			return f, err
		}
		if err == nil && (f.ID == "" || one.SeenAt.After(f.SeenAt)) {
			f = one
		}
	}
	if f.ID == "" {
		return f, errs.Missing("vulnerability")
	}
	decided, err := decision.Find(ctx, q, teamID, []string{weakness})
	if d, is := decided[weakness]; is {
		f.Status = d.Status
	}
	return f, err
}

// TicketMove is what a tracker has said about a finding, or a person about its ticket.
type TicketMove struct {
	Weakness string
	Change   timeline.Kind // the entry in the timeline
	From     string        // of the entry
	To       string
	Actor    string
	Had      Status // the move is made only while the finding has this status; empty: in any case
	Status   Status // that the finding gets; empty: it keeps its own
	Retest   bool   // a retest is queued
}

// ErrOtherStatus is the error of MoveTicket about a finding that has another status than the move is for.
var ErrOtherStatus = errors.New("the finding has another status")

// MoveTicket writes a move to the timeline of a finding, and changes its status if the move says so, in the caller's
// transaction. ErrOtherStatus, and NotFound when the finding was deleted.
func (fs *Findings) MoveTicket(ctx context.Context, tx *db.Tx, teamID string, m TicketMove) error {
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	f, err := fs.OfWeakness(ctx, tx, teamID, m.Weakness)
	if err != nil {
		return err
	}
	if m.Had != "" && f.Status != m.Had {
		return ErrOtherStatus
	}
	operation := ids.New() // what is said and what follows from it are one change
	err = fs.Note(ctx, tx, teamID, m.Weakness, timeline.Entry{Kind: m.Change, Field: "ticket", From: db.Clean(m.From),
		To: db.Clean(m.To), Actor: db.Clean(m.Actor), Operation: operation})
	if err == nil && m.Status != "" {
		d := Decision{Status: m.Status, Actor: db.Clean(m.Actor), Operation: operation}
		_, err = fs.decide(ctx, tx, teamID, []string{m.Weakness}, d)
	}
	if err == nil && m.Retest {
		err = fs.queueRetest(ctx, tx, teamID, f, nil)
	}
	return err
}

// endClaim opens a finding again whose issue was closed, when a retest still finds it.
func (fs *Findings) endClaim(ctx context.Context, tx *db.Tx, teamID string, f Finding, state RetestState) error {
	if state == RetestFailed { // nothing was found out
		return nil
	}
	weaknesses, err := weaknessesOf(ctx, tx, teamID, []string{f.Hash})
	if err != nil {
		return err
	}
	// From here on both sides are done: whatever status the finding has next is news for the issue, in_progress too.
	n, err := tx.Exec(ctx, `UPDATE ticket SET is_claimed = ?,
		ours = CASE WHEN ours = 'in_progress' AND theirs = 'done' THEN theirs ELSE ours END
		WHERE team_id = ? AND hash = ? AND is_claimed`, false, teamID, weaknesses[0])
	if err != nil || n == 0 || state != Matched || f.Status != FixInProgress {
		return err
	}
	_, err = fs.decide(ctx, tx, teamID, []string{f.Hash}, Decision{Status: Open, By: move.Seen})
	return err
}

// SetTracker records the issue of a weakness, or (nil) that it has none, for all its findings.
func (fs *Findings) SetTracker(
	ctx context.Context, tx *db.Tx, teamID, weakness, provider string, issue *engine.IssueTracker,
) error {
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	type doc struct {
		no    int64
		event []byte
	}
	var docs []doc
	read := func(r db.Row, weakness *string) error {
		var one doc
		err := r.Scan(weakness, &one.no, &one.event)
		docs = append(docs, one)
		return err
	}
	if err := eachOf(ctx, tx, teamID, []string{weakness}, `f.no, (SELECT d.event FROM finding_doc d
		WHERE d.team_id = f.team_id AND d.no = f.no)`, ``, read); err != nil {
		return err
	}
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, int64(len(docs)))
	if err != nil {
		return err
	}
	numbers := make([]int64, len(docs))
	for i, one := range docs {
		numbers[i] = one.no
		var s storedEvent
		if err := json.Unmarshal(one.event, &s); err != nil {
			return err
		}
		if s.Event.IssueTrackers == nil {
			s.Event.IssueTrackers = map[string]engine.IssueTracker{}
		}
		if delete(s.Event.IssueTrackers, provider); issue != nil {
			s.Event.IssueTrackers[provider] = engine.IssueTracker{ID: db.Clean(issue.ID), URL: db.Clean(issue.URL)}
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE finding_doc SET event = ? WHERE team_id = ? AND no = ?`, text, teamID,
			one.no); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE finding SET is_ticket = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
			len(s.Event.IssueTrackers) > 0, rev+int64(i), db.At(fs.now()), teamID, one.no); err != nil {
			return err
		}
	}
	return reindex(ctx, tx, teamID, numbers...)
}

// Link records an issue that the caller has filed by hand for a finding of their team, and for all others of its
// weakness. at is an http or https URL, or empty.
func (fs *Findings) Link(ctx context.Context, id, issueID, at string) (Ticket, error) {
	if at != "" && !netguard.IsWebURL(at) {
		return Ticket{}, errs.Field("custom_reporting_url", "custom_reporting_url must be an http or https URL.")
	}
	t := Ticket{Provider: "custom", Issue: engine.IssueTracker{ID: db.Clean(issueID), URL: db.Clean(at)}}
	_, err := fs.relink(ctx, id, t.Provider, &t.Issue)
	return t, err
}

// Unlink deletes the record of a provider's issue of a finding of the caller's team, and of all others of its weakness.
// The issue itself stays. NotFound when there is none.
func (fs *Findings) Unlink(ctx context.Context, id, provider string) (Finding, error) {
	return fs.relink(ctx, id, provider, nil)
}

func (fs *Findings) relink(ctx context.Context, id, provider string, issue *engine.IssueTracker) (Finding, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Finding{}, err
	}
	f, err := fs.InTeam(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, err
	}
	if _, has := f.Event.IssueTrackers[provider]; !has && issue == nil {
		return f, errs.New(errs.NotFound, "ticket_not_found", "The finding has no issue there.")
	}
	return f, fs.db.Tx(ctx, func(tx *db.Tx) error {
		weaknesses, err := weaknessesOf(ctx, tx, c.TeamID, []string{f.Hash})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM ticket WHERE team_id = ? AND hash = ? AND provider = ?`, c.TeamID,
			weaknesses[0], provider); err != nil {
			return err
		}
		return fs.SetTracker(ctx, tx, c.TeamID, weaknesses[0], provider, issue)
	})
}

// QueueFiling inserts a job for each finding that a run of a scan saw and each tracker that wants its severity.
// Findings that people have set aside are left out. It may be called again: a tracker reports a run once.
func (fs *Findings) QueueFiling(
	ctx context.Context, teamID, scanID string, run int64, wants func(severity string) []Tracker,
) error {
	picked, err := fs.pick(ctx, fs.db, teamID,
		Filter{ScanIDs: []string{scanID}, Statuses: []Status{Open, FixInProgress, Triaged}})
	if err != nil {
		return err
	}
	slices.Sort(picked)
	type one struct{ id, severity string }
	for part := range slices.Chunk(picked, batch) {
		err := fs.db.Tx(ctx, func(tx *db.Tx) error {
			found, err := db.Select(ctx, tx, func(r db.Row) (o one, err error) { return o, r.Scan(&o.id, &o.severity) },
				`SELECT f.id, f.severity FROM finding f`+byNumbers(len(part))+` AND f.run = ? ORDER BY f.no`,
				slices.Concat([]any{teamID}, db.Anys(part), []any{run})...)
			for _, o := range found {
				for _, to := range wants(o.severity) {
					file := FileArgs{TeamID: teamID, FindingID: o.id, ConfigID: to.ConfigID, Provider: to.Provider, SeenIn: to.SeenIn}
					if _, err := fs.queue.Insert(ctx, tx, teamID, file); err != nil {
						return err
					}
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
