// Package upkeep keeps in findings what follows from elsewhere, so that lists can filter and sort by it: until when
// they are to be fixed (the team's policy, package due), and what the operator's feeds know of their CVEs (package
// feed). It tells people before a finding is late, and when it is.
//
// # How it works
//
// Once in a while each team that has a policy, or whose server has feeds, is looked at: the findings that have arrived
// since the last time, those whose status, severity or weakness has changed (the change log has them), those that come
// due, and, after a new policy or a load of a feed, all of them, some hundred in a transaction. What comes out for a
// finding depends on what is stored alone, so that looking twice, or from two nodes, changes nothing. A cursor for each
// team says how far it is. Nothing is added to the transactions that store findings.
package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/due"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

const (
	lookEvery = 2 * time.Second
	atOnce    = 250 // findings that one transaction looks at
	maxTeams  = 1000
)

// Upkeep is the service.
type Upkeep struct {
	db       *db.DB
	queue    *queue.Queue // nil: nobody is told
	findings *finding.Findings
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service. q may be nil.
func New(d *db.DB, q *queue.Queue, findings *finding.Findings, logger *slog.Logger) *Upkeep {
	return &Upkeep{d, q, findings, logger, time.Now}
}

// Policy is the policy of the caller's team; without one, the zero value.
func (u *Upkeep) Policy(ctx context.Context) (due.Policy, error) {
	c, err := account.From(ctx)
	if err != nil {
		return due.Policy{}, err
	}
	p, _, err := policyOf(ctx, u.db, c.TeamID)
	return p, err
}

// SetPolicy changes the policy of the caller's team, or (nil) takes it away; only its admins may.
func (u *Upkeep) SetPolicy(ctx context.Context, p *due.Policy) error {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	if p != nil {
		if err := p.Check(); err != nil {
			return err
		}
	}
	_, err = u.db.Exec(ctx, `INSERT INTO sla_policy (team_id, rev, policy) VALUES (?, 1, ?)
		ON CONFLICT (team_id) DO UPDATE SET rev = sla_policy.rev + 1, policy = excluded.policy`, c.TeamID, db.Doc(p))
	return err
}

// policyOf is the policy of a team with its revision; 0: there never was one.
func policyOf(ctx context.Context, q db.Querier, teamID string) (p due.Policy, rev int64, err error) {
	var text db.JSON[json.RawMessage]
	err = q.QueryRow(ctx, `SELECT rev, policy FROM sla_policy WHERE team_id = ?`, teamID).Scan(&rev, &text)
	if db.IsNoRows(err) {
		return p, 0, nil
	}
	if err == nil && len(text.V) > 0 && string(text.V) != "null" {
		err = json.Unmarshal(text.V, &p)
	}
	return p, rev, err
}

// Keep does it until ctx ends. Several nodes may do it at once.
func (u *Upkeep) Keep(ctx context.Context) {
	queue.Every(ctx, lookEvery, u.logger, "keeping findings up to date", u.Look)
}

// Look brings all teams up to date.
func (u *Upkeep) Look(ctx context.Context) error {
	generation, err := feed.Generation(ctx, u.db)
	if err != nil {
		return err
	}
	// A team without a policy, on a server without feeds, is not looked at unless it had one.
	teams, err := db.Values[string](ctx, u.db, `SELECT l.team_id FROM finding_log l
		LEFT JOIN finding_upkeep k ON k.team_id = l.team_id LEFT JOIN sla_policy p ON p.team_id = l.team_id
		WHERE (k.team_id IS NULL AND (p.team_id IS NOT NULL OR CAST(? AS BIGINT) > 0)
			OR k.no < l.last_no OR k.seq < l.last_rev
			OR k.policy <> coalesce(p.rev, 0) OR k.generation <> ?)
		ORDER BY l.team_id LIMIT ?`, generation, generation, maxTeams)
	if err != nil {
		return err
	}
	var all error
	for _, team := range teams {
		all = errors.Join(all, u.team(ctx, team))
	}
	late, err := db.Values[string](ctx, u.db, `SELECT team_id FROM sla_policy ORDER BY team_id`)
	if err != nil {
		return errors.Join(all, err)
	}
	for _, team := range late {
		all = errors.Join(all, u.labelled(ctx, team), u.late(ctx, team))
	}
	return all
}

// team brings a team up to date.
func (u *Upkeep) team(ctx context.Context, teamID string) error {
	for more := true; more; {
		err := u.db.Tx(ctx, func(tx *db.Tx) (err error) {
			more, err = u.some(ctx, tx, teamID)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor is up to where a team was looked at.
type cursor struct{ no, seq, policy, generation int64 }

// some looks at some findings of a team; more says that others are left.
func (u *Upkeep) some(ctx context.Context, tx *db.Tx, teamID string) (more bool, err error) {
	if err := u.findings.Lock(ctx, tx, teamID); err != nil {
		return false, err
	}
	k, err := u.looking(ctx, tx, teamID)
	if err != nil {
		return false, err
	}
	var at, last cursor
	if err := tx.QueryRow(ctx, `SELECT last_no, last_rev FROM finding_log WHERE team_id = ?`, teamID).
		Scan(&last.no, &last.seq); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, `SELECT no, seq, policy, generation FROM finding_upkeep WHERE team_id = ?`, teamID).
		Scan(&at.no, &at.seq, &at.policy, &at.generation)
	if err != nil && !db.IsNoRows(err) {
		return false, err
	}
	if at.policy != k.rev || at.generation != k.generation || db.IsNoRows(err) {
		at = cursor{0, last.seq, k.rev, k.generation} // all of them, as they are now
	}
	numbers, err := db.Values[int64](ctx, tx, `SELECT no FROM finding WHERE team_id = ? AND no > ? ORDER BY no LIMIT ?`,
		teamID, at.no, atOnce)
	if err != nil {
		return false, err
	}
	if len(numbers) == atOnce {
		at.no, more = numbers[len(numbers)-1], true
	} else {
		at.no = last.no
		changed, seq, err := changedSince(ctx, tx, teamID, at.seq)
		if err != nil {
			return false, err
		}
		if at.seq = last.seq; seq > 0 {
			at.seq, more = seq, true
		}
		numbers = append(numbers, changed...)
	}
	if err := k.keep(ctx, tx, numbers); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO finding_upkeep (team_id, no, seq, policy, generation, assets) VALUES (?, ?, ?, ?, ?,
			(SELECT coalesce(max(rev), 0) FROM asset WHERE team_id = ?))
		ON CONFLICT (team_id) DO UPDATE SET no = excluded.no, seq = excluded.seq, policy = excluded.policy,
			generation = excluded.generation`, teamID, at.no, at.seq, at.policy, at.generation, teamID)
	return more, err
}

// changedSince are the findings with a change since a revision, some of them; seq is the last that was looked at, 0
// where it is all of them.
func changedSince(ctx context.Context, tx *db.Tx, teamID string, since int64) (numbers []int64, seq int64, err error) {
	var w db.Where
	w.And("team_id = ? AND seq > ?", teamID, since)
	db.In(&w, "type", []timeline.Kind{timeline.StatusChange, timeline.Resolved, timeline.Reopened, timeline.SeverityChange,
		timeline.JoinedChange, timeline.SplitChange})
	n := 0
	err = db.Each(ctx, tx, func(r db.Row) error {
		var no int64
		err := r.Scan(&seq, &no)
		numbers = append(numbers, no)
		n++
		return err
	}, `SELECT seq, no FROM finding_change`+w.String()+` ORDER BY seq LIMIT ?`, append(w.Args, atOnce)...)
	if n < atOnce {
		seq = 0
	}
	return numbers, seq, err
}

// labelled looks at the findings at assets that have changed, where the policy of a team is by labels.
func (u *Upkeep) labelled(ctx context.Context, teamID string) error {
	for more := true; more; {
		err := u.db.Tx(ctx, func(tx *db.Tx) error {
			more = false
			k, err := u.looking(ctx, tx, teamID)
			if err != nil || len(k.policy.Labels) == 0 {
				return err
			}
			since, err := db.Value[int64](ctx, tx, `SELECT assets FROM finding_upkeep WHERE team_id = ?`, teamID)
			if err != nil {
				return ignoreNone(err)
			}
			var hosts []string
			last := since
			if err := db.Each(ctx, tx, func(r db.Row) error {
				var host string
				err := r.Scan(&last, &host)
				hosts = append(hosts, host)
				return err
			}, `SELECT rev, host FROM asset WHERE team_id = ? AND rev > ? ORDER BY rev LIMIT ?`, teamID, since, atOnce); err != nil ||
				len(hosts) == 0 {
				return err
			}
			more = len(hosts) == atOnce
			if err := u.findings.Lock(ctx, tx, teamID); err != nil {
				return err
			}
			w := db.InTeam(teamID, "host", hosts)
			// Without ORDER BY, for which SQLite would walk all findings of the team.
			numbers, err := db.Values[int64](ctx, tx, `SELECT no FROM finding`+w.String(), w.Args...)
			if err != nil {
				return err
			}
			slices.Sort(numbers)
			if err := k.keep(ctx, tx, numbers); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE finding_upkeep SET assets = ? WHERE team_id = ?`, last, teamID)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreNone(err error) error {
	if db.IsNoRows(err) {
		return nil
	}
	return err
}

// comeDue are the first findings of a team in a state that ended. Each state is a query, so that the index serves it.
func comeDue(ctx context.Context, tx *db.Tx, teamID string, state due.State, ended time.Time, most int) (
	[]int64, error,
) {
	return db.Values[int64](ctx, tx, `SELECT no FROM finding WHERE team_id = ? AND due_state = ? AND due_state <> ''
		AND due_at <= ? ORDER BY due_at, no LIMIT ?`, teamID, state, db.At(ended), most)
}

// late looks at the findings of a team that come due.
func (u *Upkeep) late(ctx context.Context, teamID string) error {
	for more := true; more; {
		err := u.db.Tx(ctx, func(tx *db.Tx) error {
			p, _, err := policyOf(ctx, tx, teamID)
			if err != nil {
				return err
			}
			now := u.now()
			numbers, err := comeDue(ctx, tx, teamID, due.InTime, now.AddDate(0, 0, p.Warn), atOnce)
			if err != nil {
				return err
			}
			late, err := comeDue(ctx, tx, teamID, due.Soon, now, atOnce-len(numbers))
			numbers = append(numbers, late...)
			if more = len(numbers) == atOnce; err != nil || len(numbers) == 0 {
				return err
			}
			if err := u.findings.Lock(ctx, tx, teamID); err != nil {
				return err
			}
			k, err := u.looking(ctx, tx, teamID)
			if err != nil {
				return err
			}
			return k.keep(ctx, tx, numbers)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
