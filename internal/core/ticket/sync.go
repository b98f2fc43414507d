package ticket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Sync is the job of a ticket. What the tracker refuses or does not answer is stored with the ticket, with the time of
// the next try: nothing is lost however long a tracker is away. An error is one of this server's own.
func (ts *Tickets) Sync(ctx context.Context, k key) error {
	t, ok, err := ts.trackerOf(ctx, k.TeamID, k.ConfigID, k.Provider)
	if err != nil {
		return err
	}
	if !ok {
		return ts.abandon(ctx, k)
	}
	_, err = ts.work(ctx, k, t, false)
	if errors.Is(err, errBusy) || isRemote(err) {
		return nil
	}
	return err
}

// abandon forgets what was to be told to a tracker whose configuration does not exist any more.
func (ts *Tickets) abandon(ctx context.Context, k key) error {
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE ticket SET is_queued = ?, retry_at = NULL, error = ?`+keyed,
			append([]any{false, "The configuration does not have this tracker any more."}, argsOf(k)...)...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ticket_outbox`+keyed, argsOf(k)...)
		return err
	})
}

// isRemote reports whether an error is one of the tracker's, and not of this server.
func isRemote(err error) bool {
	_, refused := errors.AsType[*apiclient.Error](err)
	_, waits := errors.AsType[*pause](err)
	return refused || waits || errors.Is(err, tracker.ErrNoWay) || errors.Is(err, tracker.ErrMoved) ||
		errors.Is(err, errOld)
}

// work takes a ticket, brings it in step, and releases it. byHand: a person waits for the answer.
func (ts *Tickets) work(ctx context.Context, k key, t tracker.Tracker, byHand bool) (row, error) {
	r, ok, err := ts.take(ctx, k)
	if err != nil || !ok {
		return r, err
	}
	bounded, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	if err = ts.mayTalk(ctx, k); err == nil || byHand {
		err = ts.sync(bounded, t, &r)
	}
	if err != nil && ctx.Err() != nil { // this process stops: it is nobody's failure
		return r, errors.Join(err, ts.release(ctx, r, err, ts.now()))
	}
	var at time.Time
	if err != nil {
		at = ts.retryAt(r, err)
		if noted := ts.pauseFor(ctx, k, err); noted != nil {
			err = errors.Join(err, noted)
		}
	} else if err := ts.unpause(ctx, k); err != nil {
		return r, errors.Join(err, ts.release(ctx, r, nil, time.Time{}))
	}
	return r, errors.Join(err, ts.release(ctx, r, err, at))
}

const (
	minRetry = 5 * time.Second
	maxRetry = time.Hour
)

// retryAt is when a ticket is looked at again after a failure: later each time.
func (ts *Tickets) retryAt(r row, err error) time.Time {
	if p, ok := errors.AsType[*pause](err); ok {
		return p.until.Add(rand.N(minRetry)) // not all at once
	}
	wait := min(minRetry<<min(r.fails, 20), maxRetry)
	asked, again := apiclient.RetryAfter(err)
	if !again || errors.Is(err, tracker.ErrNoWay) {
		wait = min(wait*12, maxRetry) // a person has to change something there
	}
	wait = max(wait, asked)
	return ts.now().Add(wait + rand.N(wait/10+time.Millisecond))
}

// errOld is the error about an issue that was read from a copy which is behind.
var errOld = errors.New("the tracker has answered with an older version of the issue")

// maxOld is how often an older version is not believed; a tracker that was restored from a backup has one for good.
const maxOld = 3

// sync does what there is to do for a ticket.
func (ts *Tickets) sync(ctx context.Context, t tracker.Tracker, r *row) error {
	list, err := ts.pending(ctx, r.key) // before the status is read, which is then as new as they are
	if err != nil {
		return err
	}
	f, err := ts.findings.OfWeakness(ctx, nil, r.TeamID, r.Hash)
	if errs.Is(err, errs.NotFound) || r.isGone { // nothing is left to tell, unless it is part of another
		if err := ts.retire(ctx, t, r, list); err != nil {
			return err
		}
		return ts.tellNothing(ctx, r, list)
	}
	if err != nil {
		return err
	}
	if r.IssueID == "" {
		isWanted := len(list) > 0 && !stateOf(f.Status).Closed()
		if err := ts.open(ctx, t, r, f, isWanted); err != nil {
			return err
		}
		if r.IssueID == "" {
			return ts.tellNothing(ctx, r, list)
		}
		if list, err = ts.withoutSeen(ctx, r, list); err != nil {
			return err
		}
	}
	if t.Syncs() {
		if err := ts.step(ctx, t, r, f.Status); err != nil || r.isGone {
			return err
		}
	}
	for i, n := range list {
		if n.kind == finding.NewsStatus && slices.ContainsFunc(list[i+1:], isStatus) {
			n.author = r.actor() // only the last one is worth a comment
		}
		if err := ts.tell(ctx, t, r, f, n); err != nil {
			return err
		}
	}
	if t.Comments {
		return ts.takeNotes(ctx, t, r)
	}
	return nil
}

func (ts *Tickets) tellNothing(ctx context.Context, r *row, list []news) error {
	for _, n := range list {
		if err := ts.told(ctx, r.key, n.no); err != nil {
			return err
		}
	}
	return nil
}

// withoutSeen forgets the news that the finding was seen: its issue is new, and says so.
func (ts *Tickets) withoutSeen(ctx context.Context, r *row, list []news) (kept []news, err error) {
	for _, n := range list {
		if n.kind != finding.NewsSeen {
			kept = append(kept, n)
		} else if err := ts.told(ctx, r.key, n.no); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// open opens the issue of a ticket if one is wanted, or finds the one that it has: a process may have died after
// opening it, or the answer was lost. That one is to be opened is noted before, so that it is looked for even when
// nobody wants it any more.
func (ts *Tickets) open(ctx context.Context, t tracker.Tracker, r *row, f finding.Finding, isWanted bool) error {
	if !isWanted && r.base.intent == "" {
		return nil
	}
	issue, err := ts.filer.Find(ctx, t, r.Hash)
	if err != nil {
		return err
	}
	switch {
	case issue.ID != "":
		return ts.record(ctx, r, issue)
	case !isWanted:
		return ts.change(ctx, nil, *r, `intent = ''`)
	}
	if err := ts.spend(ctx, r.key, t.Limits()); err != nil {
		return err
	}
	if err := ts.change(ctx, nil, *r, `intent = ?`, tracker.Open); err != nil {
		return err
	}
	e := f.Event
	issue, err = ts.filer.Open(ctx, t, tracker.Finding{
		Hash: r.Hash, Title: f.Name, Severity: f.Severity, Description: e.Info.Description, Remediation: e.Info.Remediation,
		MatchedAt: e.MatchedAt, TemplateID: f.TemplateID, Extracted: e.ExtractedResults, References: e.Info.Reference,
		Request: e.Request, Response: e.Response,
	})
	if err != nil {
		return err
	}
	return ts.record(ctx, r, issue)
}

// maxSteps is how often an issue is read again because it changed between reading and writing.
const maxSteps = 3

// step brings the states of both sides in step.
func (ts *Tickets) step(ctx context.Context, t tracker.Tracker, r *row, status finding.Status) error {
	for range maxSteps {
		remote, err := ts.filer.Get(ctx, t, r.issue())
		if errors.Is(err, tracker.ErrGone) {
			return ts.gone(ctx, t, r)
		}
		if err != nil {
			return err
		}
		if remote.Version < r.version && r.fails < maxOld {
			return errOld
		}
		if err := ts.suggest(ctx, r, remote); err != nil {
			return err
		}
		ours := stateOf(status)
		what, b := merge(r.base, ours, remote.State)
		r.base = b
		switch what {
		case rest, agree:
			return ts.settle(ctx, nil, r, ours, remote)
		case take:
			return ts.takeIn(ctx, r, status, remote)
		case conflict:
			return ts.noteConflict(ctx, r, status, remote)
		case write:
		}
		again, err := ts.write(ctx, t, r, ours, remote)
		if !again {
			return err
		}
	}
	return tracker.ErrMoved
}

// write gives the issue our state. What is written is noted before. again: somebody has changed the issue meanwhile, so
// that it has to be read again.
func (ts *Tickets) write(
	ctx context.Context, t tracker.Tracker, r *row, ours tracker.State, remote tracker.Remote,
) (again bool, err error) {
	if remote.Final { // a closed record stays closed: a new one takes its place
		return false, ts.succeed(ctx, t, r, ours)
	}
	if err := ts.spend(ctx, r.key, t.Limits()); err != nil {
		return false, err
	}
	if err := ts.change(ctx, nil, *r, `ours = ?, theirs = ?, intent = ?`, r.base.ours, r.base.theirs, ours); err != nil {
		return false, err
	}
	r.base.intent = ours
	after, err := ts.filer.Set(ctx, t, remote, ours)
	switch {
	case errors.Is(err, tracker.ErrGone):
		return false, ts.gone(ctx, t, r)
	case err != nil:
		return errors.Is(err, tracker.ErrMoved), err
	case after.State == ours || stands(t, ours, after.State):
		return false, ts.settle(ctx, nil, r, ours, after)
	}
	// Somebody has changed it right after us, and that is to be taken in.
	after.State, after.Native = ours, ""
	return true, ts.settle(ctx, nil, r, ours, after)
}

// stands reports whether a tracker may show a state of ours as another one, for want of its own.
func stands(t tracker.Tracker, ours, theirs tracker.State) bool {
	return ours == tracker.Declined && theirs == tracker.Done ||
		ours == tracker.Open && theirs == tracker.Progress && t.Provider == "jira"
}

// succeed opens a new issue in place of one that cannot be opened again.
func (ts *Tickets) succeed(ctx context.Context, t tracker.Tracker, r *row, ours tracker.State) error {
	if ours.Closed() { // it is closed already, in another way
		remote, err := ts.filer.Get(ctx, t, r.issue())
		if err != nil {
			return err
		}
		return ts.settle(ctx, nil, r, ours, remote)
	}
	if err := ts.record(ctx, r, tracker.Issue{}); err != nil {
		return err
	}
	f, err := ts.findings.OfWeakness(ctx, nil, r.TeamID, r.Hash)
	if err != nil {
		return err
	}
	return ts.open(ctx, t, r, f, true)
}

// gone notes that the issue was deleted. A tracker says the same to those who may not see the project any more, and may
// say it by mistake: those are failures.
func (ts *Tickets) gone(ctx context.Context, t tracker.Tracker, r *row) error {
	if _, err := ts.filer.Who(ctx, t); err != nil {
		return err
	}
	if t.Syncs() {
		if _, err := ts.filer.Get(ctx, t, r.issue()); !errors.Is(err, tracker.ErrGone) {
			return cmp.Or(err, tracker.ErrMoved)
		}
	}
	r.isGone = true
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		err := ts.findings.MoveTicket(ctx, tx, r.TeamID, finding.TicketMove{
			Weakness: r.Hash, Change: timeline.TicketGone, From: r.URL, Actor: r.actor(),
		})
		if err != nil && !errs.Is(err, errs.NotFound) {
			return err
		}
		if err := ts.findings.SetTracker(ctx, tx, r.TeamID, r.Hash, r.Provider, nil); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM ticket_outbox`+keyed, argsOf(r.key)...); err != nil {
			return err
		}
		return ts.change(ctx, tx, *r, `is_gone = ?, issue_id = '', issue_url = '', conflict_at = NULL, intent = '',
			is_claimed = ?`, true, false)
	})
}

// actor is who has changed a finding when its issue has.
func (r row) actor() string { return fmt.Sprintf("%s %s", r.Provider, r.IssueID) }
