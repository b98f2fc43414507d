package model

import (
	"context"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Account is who pays.
type Account struct {
	TeamID, UserID, TaskID string
	ProjectID              string // empty: none
	TaskCap                int64  // of the task, in millionths of a US dollar; 0: no bound
	BYOK                   bool   // the team pays: TeamCap does not apply
}

// The codes of a reached cap.
const (
	CodeMemberCap = "user_spending_cap_reached"
	CodeBudget    = "budget_reached" // of the task, or of the team

	CodeProjectCap = "project_spending_cap_reached"
)

// Reservations implements loop.Reservations for an account. Repeating a call with the same task and key changes
// nothing.
type Reservations struct {
	models  *Models
	account Account
}

var _ loop.Reservations = Reservations{}

// Reservations are those of an account.
func (s *Models) Reservations(a Account) Reservations { return Reservations{s, a} }

// maxMicros bounds a reservation: a billion US dollars.
const maxMicros = 1e15

// Reserve reserves micros millionths of a US dollar for key. It fails with Forbidden, and CodeMemberCap or CodeBudget,
// when that would cross a cap; a cap of 0 also blocks free calls. A settled key, or one with as much reserved, is
// unchanged.
func (l Reservations) Reserve(ctx context.Context, key string, micros int64) error {
	if micros < 0 || micros > maxMicros {
		return errs.New(errs.Internal, "reservation_out_of_range", "A reservation must be between 0 and %d.",
			int64(maxMicros))
	}
	return l.locked(ctx, func(tx *db.Tx, totals *totals) error {
		r, found, err := l.find(ctx, tx, key)
		if err != nil || found && (r.settled || r.reserved >= micros) {
			return err
		}
		if !found {
			r.byok = l.account.BYOK
		}
		more := micros - r.reserved
		if err := l.check(ctx, tx, totals, r.byok, more); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO reservation (task_id, key, team_id, user_id, byok, reserved, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (task_id, key) DO UPDATE SET reserved = excluded.reserved`,
			l.account.TaskID, db.Clean(key), l.account.TeamID, l.account.UserID, r.byok, micros,
			db.At(l.models.Now())); err != nil {
			return err
		}
		return totals.change(ctx, tx, r.byok, more, 0)
	})
}

// Settle replaces the reservation of key by what was spent. A settled key is unchanged, and so is an unknown one when
// micros is 0. To spend more than was reserved is an internal error: all of the reservation counts as spent.
func (l Reservations) Settle(ctx context.Context, key string, micros int64) error {
	var over bool
	err := l.locked(ctx, func(tx *db.Tx, totals *totals) error {
		r, found, err := l.find(ctx, tx, key)
		switch {
		case err != nil || r.settled || !found && micros == 0:
			return err
		case !found, micros < 0:
			return errs.New(errs.Internal, "not_reserved", "Nothing is reserved for %.100q.", key)
		}
		over = micros > r.reserved
		return l.settle(ctx, tx, totals, key, r, min(micros, r.reserved))
	})
	if err == nil && over {
		err = errs.New(errs.Internal, "spent_beyond_reservation", "A call cost more than was reserved for it.")
	}
	return err
}

// Close counts what an ended task still has reserved as spent: the cost of those calls is not known.
func (l Reservations) Close(ctx context.Context) error {
	return l.locked(ctx, func(tx *db.Tx, totals *totals) error {
		type open struct {
			key string
			reservation
		}
		left, err := db.Select(ctx, tx, func(row db.Row) (o open, err error) {
			return o,
				row.Scan(&o.key, &o.byok, &o.reserved)
		},
			`SELECT key, byok, reserved FROM reservation WHERE task_id = ? AND spent IS NULL`, l.account.TaskID)
		if err != nil {
			return err
		}
		for _, o := range left {
			if err := l.settle(ctx, tx, totals, o.key, o.reservation, o.reserved); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l Reservations) settle(
	ctx context.Context, tx *db.Tx, totals *totals, key string, r reservation, spent int64,
) error {
	if _, err := tx.Exec(ctx, `UPDATE reservation SET spent = ?, settled_at = ? WHERE task_id = ? AND key = ?`,
		spent, db.At(l.models.Now()), l.account.TaskID, db.Clean(key)); err != nil {
		return err
	}
	if err := totals.change(ctx, tx, r.byok, spent-r.reserved, spent); err != nil {
		return err
	}
	if !r.byok {
		if err := billing.Spend(ctx, tx, l.account.TeamID, spent, l.models.Now()); err != nil {
			return err
		}
	}
	return l.models.accounts.Spent(ctx, tx, l.account.TeamID, l.account.UserID, totals.member.cents(),
		totals.user.cents())
}

const microsPerCent = 10_000

// reservation is money reserved for one call.
type reservation struct {
	byok     bool
	reserved int64
	settled  bool
}

func (l Reservations) find(ctx context.Context, tx *db.Tx, key string) (r reservation, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT byok, reserved, spent IS NOT NULL FROM reservation WHERE task_id = ? AND key = ?`,
		l.account.TaskID, db.Clean(key)).
		Scan(&r.byok, &r.reserved, &r.settled)
	if db.IsNoRows(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// total is what a team, member, task or project has reserved and spent.
type total struct {
	kind, id        string
	reserved, spent int64
}

// cents is what was spent, in US cents, rounded up.
func (t total) cents() int64 { return (t.spent + microsPerCent - 1) / microsPerCent }

// totals are what one call counts for: member is the member in this team, user the same in all teams.
type totals struct{ team, user, member, task, project total }

func (t *totals) all() []*total {
	all := []*total{&t.team, &t.user, &t.member, &t.task}
	if t.project.id != "" {
		all = append(all, &t.project)
	}
	return all
}

// locked runs do in a transaction with the totals, which are always locked in the same order.
func (l Reservations) locked(ctx context.Context, fn func(*db.Tx, *totals) error) error {
	return l.models.db.Tx(ctx, func(tx *db.Tx) error {
		t := &totals{total{kind: "team", id: l.account.TeamID}, total{kind: "member", id: l.account.UserID},
			total{kind: "team_member", id: l.account.TeamID + "/" + l.account.UserID}, total{kind: "task", id: l.account.TaskID},
			total{kind: project.SpendingKind, id: l.account.ProjectID}}
		for _, sum := range t.all() {
			if err := tx.QueryRow(ctx, `INSERT INTO spending (kind, id, reserved, spent) VALUES (?, ?, 0, 0)
				ON CONFLICT (kind, id) DO UPDATE SET reserved = spending.reserved RETURNING reserved, spent`, sum.kind, sum.id).
				Scan(&sum.reserved, &sum.spent); err != nil {
				return err
			}
		}
		return fn(tx, t)
	})
}

// change adds to reserved (which includes spent) and to spent. The team's total is only for the server's models.
func (t *totals) change(ctx context.Context, tx *db.Tx, byok bool, reserved, spent int64) error {
	for _, sum := range t.all() {
		if byok && sum == &t.team {
			continue
		}
		sum.reserved += reserved
		sum.spent += spent
		if _, err := tx.Exec(ctx, `UPDATE spending SET reserved = ?, spent = ? WHERE kind = ? AND id = ?`,
			sum.reserved, sum.spent, sum.kind, sum.id); err != nil {
			return err
		}
	}
	return nil
}

// check refuses what would cross a cap.
func (l Reservations) check(ctx context.Context, tx *db.Tx, t *totals, byok bool, more int64) error {
	caps, err := l.models.accounts.SpendingCaps(ctx, tx, l.account.TeamID, l.account.UserID)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		whose string
		cents *int64
		of    total
	}{{"member's", caps.Team, t.member}, {"operator's", caps.Operator, t.user}} {
		if c.cents != nil && (*c.cents == 0 || c.of.reserved+more > *c.cents*microsPerCent) {
			return errs.New(errs.Forbidden, CodeMemberCap, "The %s spending cap of %d.%02d USD does not allow this call.",
				c.whose, *c.cents/100, *c.cents%100)
		}
	}
	if t.project.id != "" {
		limit, err := project.Cap(ctx, tx, t.project.id)
		if err != nil {
			return err
		}
		if limit != nil && (*limit == 0 || t.project.reserved+more > *limit*microsPerCent) {
			return errs.New(errs.Forbidden, CodeProjectCap, "The project's spending cap of %d.%02d USD does not allow this call.",
				*limit/100, *limit%100)
		}
	}
	if !byok {
		if err := membership.CheckBillable(ctx, tx, l.account.TeamID, l.account.UserID); err != nil {
			return err
		}
		due := t.team.reserved - t.team.spent + more
		if err := billing.Check(ctx, tx, l.account.TeamID, due, l.models.Now()); err != nil {
			return err
		}
	}
	if limit := l.account.TaskCap; limit > 0 && t.task.reserved+more > limit {
		return errs.New(errs.Forbidden, CodeBudget, "The task's budget does not allow this call.")
	}
	if limit := l.models.TeamCap; limit > 0 && !byok && t.team.reserved+more > limit {
		return errs.New(errs.Forbidden, CodeBudget, "The team's budget for the server's models does not allow this call.")
	}
	return nil
}
