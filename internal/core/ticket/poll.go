package ticket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// PollArgs is the job that asks a tracker which issues have changed.
type PollArgs struct {
	TeamID   string `json:"team_id"`
	ConfigID string `json:"config_id"`
	Provider string `json:"provider"`
}

// Kind implements queue.Args.
func (PollArgs) Kind() string { return "ticket.poll" }

const ofTracker = ` WHERE team_id = ? AND config_id = ? AND provider = ?`

func (a PollArgs) args() []any { return []any{a.TeamID, a.ConfigID, a.Provider} }

func pollOf(k key) PollArgs { return PollArgs{k.TeamID, k.ConfigID, k.Provider} }

// pause is the error about a tracker to which nothing is sent before a time: it has asked for that, it is away, or what
// may be written in a minute or an hour is used up.
type pause struct {
	until time.Time
	why   string
}

func (p *pause) Error() string {
	return fmt.Sprintf("%s; again at %s", p.why, p.until.UTC().Format(time.RFC3339))
}

// mayTalk is a pause while there is one.
func (ts *Tickets) mayTalk(ctx context.Context, k key) error {
	until, err := db.Value[db.Time](ctx, ts.db, `SELECT pause_until FROM ticket_tracker`+ofTracker, pollOf(k).args()...)
	if db.IsNoRows(err) || err == nil && !until.After(ts.now()) {
		return nil
	}
	if err != nil {
		return err
	}
	return &pause{until.Time, "the tracker has asked to wait, or did not answer"}
}

const (
	minPause     = 5 * time.Second
	maxPause     = 5 * time.Minute
	limitedPause = time.Minute // when a limit is reached and no time is named
)

// pauseFor makes the tickets of a tracker wait after a failure that is the tracker's as a whole: a limit, or no answer.
// So one request in a while finds out that it is back, and not one for each ticket.
func (ts *Tickets) pauseFor(ctx context.Context, k key, failure error) error {
	e, ok := errors.AsType[*apiclient.Error](failure)
	if !ok || !e.Temporary() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		var fails int
		err := tx.QueryRow(ctx, `UPDATE ticket_tracker SET fails = fails + 1`+ofTracker+` RETURNING fails`,
			pollOf(k).args()...).Scan(&fails)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		wait := min(minPause<<min(fails-1, 10), maxPause)
		if e.Limited {
			wait = limitedPause
		}
		if e.After > 0 {
			wait = e.After
		}
		_, err = tx.Exec(ctx, `UPDATE ticket_tracker SET pause_until = ?`+ofTracker,
			append([]any{db.At(ts.now().Add(wait))}, pollOf(k).args()...)...)
		return err
	})
}

func (ts *Tickets) unpause(ctx context.Context, k key) error {
	_, err := ts.db.Exec(ctx, `UPDATE ticket_tracker SET fails = 0, pause_until = NULL`+ofTracker+` AND fails > 0`,
		pollOf(k).args()...)
	return err
}

// spend counts a write, or is a pause when there were as many as the tracker takes.
func (ts *Tickets) spend(ctx context.Context, k key, most tracker.Limits) error {
	now := ts.now()
	minute, hour := now.Unix()/60, now.Unix()/3600
	n, err := ts.db.Exec(ctx, `UPDATE ticket_tracker SET
		minute_n = CASE WHEN minute_at = ? THEN minute_n + 1 ELSE 1 END, minute_at = ?,
		hour_n = CASE WHEN hour_at = ? THEN hour_n + 1 ELSE 1 END, hour_at = ?`+ofTracker+`
		AND (minute_at <> ? OR minute_n < ?) AND (hour_at <> ? OR hour_n < ?)`,
		append(append([]any{minute, minute, hour, hour}, pollOf(k).args()...), minute, most.PerMinute, hour, most.PerHour)...)
	if err != nil || n > 0 {
		return err
	}
	count, err := db.Value[int](ctx, ts.db, `SELECT hour_n FROM ticket_tracker`+ofTracker+` AND hour_at = ?`,
		append(pollOf(k).args(), hour)...)
	if err != nil && !db.IsNoRows(err) {
		return err
	}
	until := time.Unix((minute+1)*60, 0)
	if count >= most.PerHour {
		until = time.Unix((hour+1)*3600, 0)
	}
	return &pause{until, "as much was written as the tracker takes"}
}

// overlap is how far a question reaches back: times of trackers are of seconds or minutes, and their lists lag behind.
const overlap = 2 * time.Minute

// Poll asks a tracker which issues have changed since it was asked last, and queues the tickets of those that are not
// known in this version.
func (ts *Tickets) Poll(ctx context.Context, a PollArgs) error {
	k := key{TeamID: a.TeamID, ConfigID: a.ConfigID, Provider: a.Provider}
	t, ok, err := ts.trackerOf(ctx, a.TeamID, a.ConfigID, a.Provider)
	if err != nil {
		return err
	}
	some, err := db.Value[bool](ctx, ts.db, `SELECT EXISTS (SELECT 1 FROM ticket`+ofTracker+` AND issue_id <> '')`, a.args()...)
	if err != nil {
		return err
	}
	if !ok || !t.Syncs() || !some {
		return ts.nextPoll(ctx, a, time.Time{}, time.Time{})
	}
	bounded, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	if err := ts.mayTalk(ctx, k); err != nil {
		return ts.waitPoll(ctx, a, t, err)
	}
	since, err := db.Value[db.Time](ctx, ts.db, `SELECT since FROM ticket_tracker`+ofTracker, a.args()...)
	if err != nil {
		return err
	}
	found, err := ts.ask(bounded, a, t, since.Time)
	if err != nil {
		return errors.Join(ts.pauseFor(ctx, k, err), ts.waitPoll(ctx, a, t, err))
	}
	if err := ts.unpause(ctx, k); err != nil {
		return err
	}
	if err := ts.queueChanged(ctx, a, since.Time, found); err != nil {
		return err
	}
	next := ts.now().Add(t.PollEvery())
	if found.More && !found.Lost {
		next = ts.now()
	}
	switch old := ts.now().Add(-overlap); {
	case found.Lost:
		found.Until = old
	case found.Until.Before(old): // nothing more can come of that second
		found.Until = found.Until.Truncate(time.Second).Add(time.Second)
	}
	if found.Until.Before(since.Time) {
		found.Until = since.Time
	}
	return ts.nextPoll(ctx, a, found.Until, next)
}

// ask asks for changes, and once who we are, so that webhooks about our own changes can be told.
func (ts *Tickets) ask(
	ctx context.Context, a PollArgs, t tracker.Tracker, since time.Time,
) (found tracker.Changes, err error) {
	account, err := db.Value[string](ctx, ts.db, `SELECT account FROM ticket_tracker`+ofTracker, a.args()...)
	if err != nil {
		return found, err
	}
	if account == "" {
		who, err := ts.filer.Who(ctx, t)
		if err != nil {
			return found, err
		}
		if _, err := ts.db.Exec(ctx, `UPDATE ticket_tracker SET account = ?`+ofTracker,
			append([]any{db.Clean(who.ID)}, a.args()...)...); err != nil {
			return found, err
		}
	}
	return ts.filer.Changed(ctx, t, since.Add(-overlap))
}

// waitPoll puts the next question off after a failure, unless the failure is this server's own.
func (ts *Tickets) waitPoll(ctx context.Context, a PollArgs, t tracker.Tracker, failure error) error {
	if ctx.Err() != nil || !isRemote(failure) {
		return failure
	}
	ts.logger.InfoContext(ctx, "a tracker was not asked for changes", "config_id", a.ConfigID, "provider", a.Provider,
		"error", failure)
	next := ts.now().Add(t.PollEvery())
	if p, ok := errors.AsType[*pause](failure); ok {
		next = p.until
	} else if wait, _ := apiclient.RetryAfter(failure); wait > 0 {
		next = ts.now().Add(wait)
	}
	return ts.nextPoll(ctx, a, time.Time{}, next)
}

// nextPoll sets the time of the next question (zero: none), and until when changes are known (zero: as before).
func (ts *Tickets) nextPoll(ctx context.Context, a PollArgs, since, next time.Time) error {
	_, err := ts.db.Exec(ctx, `UPDATE ticket_tracker SET since = coalesce(?, since), poll_at = ?`+ofTracker,
		append([]any{db.At(since), db.At(next)}, a.args()...)...)
	return err
}

// batch is how many issues one statement looks up.
const batch = 250

// queueChanged queues the tickets of issues that have another version than was read, or were changed since the question
// before: in one second there may be several changes. When a list was too long, all
// tickets of the tracker are looked at.
func (ts *Tickets) queueChanged(ctx context.Context, a PollArgs, since time.Time, found tracker.Changes) error {
	if found.Lost {
		_, err := ts.db.Exec(ctx, `UPDATE ticket SET retry_at = ?`+ofTracker+` AND issue_id <> '' AND NOT is_gone
			AND retry_at IS NULL`, append([]any{db.At(ts.now())}, a.args()...)...)
		return err
	}
	for start := 0; start < len(found.Issues); start += batch {
		part := found.Issues[start:min(start+batch, len(found.Issues))]
		changed := make(map[string]tracker.Changed, len(part))
		ids := make([]string, len(part))
		for i, one := range part {
			ids[i], changed[one.ID] = one.ID, one
		}
		if err := ts.db.Tx(ctx, func(tx *db.Tx) error {
			return ts.queueIssues(ctx, tx, a, ids, func(id, version string) bool {
				at := changed[id].At
				return changed[id].Version != version || !at.IsZero() && !at.Before(since.Truncate(time.Second))
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

// queueIssues queues the tickets of some issues for which want says so. One that waits already stays.
func (ts *Tickets) queueIssues(
	ctx context.Context, tx *db.Tx, a PollArgs, ids []string, want func(id, version string) bool,
) error {
	var w db.Where
	w.And("team_id = ?", a.TeamID)
	w.And("config_id = ?", a.ConfigID)
	w.And("provider = ?", a.Provider)
	db.In(&w, "issue_id", ids)
	type one struct {
		hash, id, version string
		queued            bool
	}
	list, err := db.Select(ctx, tx, func(r db.Row) (o one, err error) {
		return o, r.Scan(&o.hash, &o.id, &o.version, &o.queued)
	}, `SELECT hash, issue_id, version, is_queued FROM ticket`+w.String()+` ORDER BY hash`, w.Args...)
	for _, o := range list {
		if err != nil || o.queued || !want(o.id, o.version) {
			continue
		}
		err = ts.findings.QueueTicket(ctx, tx,
			key{TeamID: a.TeamID, Hash: o.hash, ConfigID: a.ConfigID, Provider: a.Provider})
	}
	return err
}

const (
	sweepEvery  = 5 * time.Second
	maxSweep    = 500
	pollGrace   = 10 * time.Minute // after which a question that was queued is taken for lost
	keepWebhook = 14 * 24 * time.Hour
	forgetEvery = time.Hour
)

// Keep queues what has come due, and forgets old webhooks, until ctx ends. It runs on every worker node.
func (ts *Tickets) Keep(ctx context.Context) {
	go queue.Every(ctx, forgetEvery, ts.logger, "forgetting old webhooks of trackers", func(ctx context.Context) error {
		_, err := ts.db.Exec(ctx, `DELETE FROM ticket_delivery WHERE at < ?`, db.At(ts.now().Add(-keepWebhook)))
		return err
	})
	queue.Every(ctx, sweepEvery, ts.logger, "queueing tickets", ts.Sweep)
}

// Sweep queues the tickets whose time to be looked at again has come, and the questions for changes.
func (ts *Tickets) Sweep(ctx context.Context) error {
	now := ts.now()
	due, err := db.Select(ctx, ts.db, func(r db.Row) (k key, err error) {
		return k, r.Scan(&k.TeamID, &k.Hash, &k.ConfigID, &k.Provider)
	}, `SELECT team_id, hash, config_id, provider FROM ticket WHERE retry_at <= ? ORDER BY retry_at LIMIT ?`, db.At(now), maxSweep)
	if err != nil {
		return err
	}
	for _, k := range due {
		err := ts.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE ticket SET retry_at = NULL`+keyed+` AND retry_at <= ?`, append(argsOf(k), db.At(now))...)
			if err != nil || n == 0 { // another node was first
				return err
			}
			return ts.findings.QueueTicket(ctx, tx, k)
		})
		if err != nil {
			return err
		}
	}
	asks, err := db.Select(ctx, ts.db, func(r db.Row) (a PollArgs, err error) {
		return a, r.Scan(&a.TeamID, &a.ConfigID, &a.Provider)
	}, `SELECT team_id, config_id, provider FROM ticket_tracker WHERE poll_at <= ? ORDER BY poll_at LIMIT ?`, db.At(now), maxSweep)
	if err != nil {
		return err
	}
	for _, a := range asks {
		err := ts.db.Tx(ctx, func(tx *db.Tx) error {
			later := db.At(now.Add(pollGrace + rand.N(time.Minute)))
			n, err := tx.Exec(ctx, `UPDATE ticket_tracker SET poll_at = ?`+ofTracker+` AND poll_at <= ?`,
				append(append([]any{later}, a.args()...), db.At(now))...)
			if err != nil || n == 0 {
				return err
			}
			_, err = ts.queue.Insert(ctx, tx, a.TeamID, a)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
