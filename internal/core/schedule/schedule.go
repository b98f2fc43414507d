package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Schedule launches a thing again and again.
type Schedule struct {
	Subject string // the id of what is launched
	Rule
	LastRun time.Time // zero: never
	NextRun time.Time
}

// Book keeps the schedules of one kind of thing, in the table of the slice that launches
// it. That slice finds the thing and asks whether the caller may have it; the book does not.
type Book struct {
	DB     *db.DB
	Table  string // of the slice: not text of a caller
	Column string // of the table, with the id of the thing
	// Launch launches a thing in the transaction that moves its schedule on. A Conflict
	// says that the thing is at work still: it is left out this time.
	Launch func(ctx context.Context, tx *db.Tx, id string) error
	// Change is called in a transaction that is about to change a thing's schedule; nil: the
	// slice need not know.
	Change func(ctx context.Context, tx *db.Tx, id string) error
	Logger *slog.Logger
	Now    func() time.Time
}

// Set gives a thing of the caller's team a schedule, in place of any it has.
func (b Book) Set(ctx context.Context, s Schedule) (Schedule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	s.SetAt = b.Now().UTC()
	if s.NextRun, err = s.Next(s.SetAt); err != nil {
		return s, err
	}
	_, err = b.change(ctx, s.Subject, `INSERT INTO `+b.Table+` (`+b.Column+`, team_id, user_id, frequency, start_time, hourly_frequency, weekdays, cron, time_zone, set_at, next_run)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (`+b.Column+`) DO UPDATE SET user_id = excluded.user_id, frequency = excluded.frequency, start_time = excluded.start_time, hourly_frequency = excluded.hourly_frequency,
		weekdays = excluded.weekdays, cron = excluded.cron, time_zone = excluded.time_zone, set_at = excluded.set_at, next_run = excluded.next_run`,
		s.Subject, c.TeamID, c.UserID, s.Frequency, s.StartTime, s.Hours, db.Doc(s.Weekdays), s.Cron, s.TimeZone, db.At(s.SetAt), db.At(s.NextRun))
	return s, err
}

// Drop takes its schedule from a thing; 404 when it has none.
func (b Book) Drop(ctx context.Context, subject string) error {
	n, err := b.change(ctx, subject, `DELETE FROM `+b.Table+` WHERE `+b.Column+` = ?`, subject)
	if err == nil && n == 0 {
		err = errs.Missing("schedule")
	}
	return err
}

// change changes the schedule of a thing by a statement, and gives the rows it touched.
func (b Book) change(ctx context.Context, id, statement string, args ...any) (n int64, err error) {
	err = b.DB.Tx(ctx, func(tx *db.Tx) error {
		n, err = b.changeIn(ctx, tx, id, statement, args...)
		return err
	})
	return n, err
}

func (b Book) changeIn(ctx context.Context, tx *db.Tx, id, statement string, args ...any) (int64, error) {
	if b.Change != nil {
		if err := b.Change(ctx, tx, id); err != nil {
			return 0, err
		}
	}
	return tx.Exec(ctx, statement, args...)
}

func (b Book) find(ctx context.Context, rest string, args ...any) ([]Schedule, error) {
	rows, err := b.DB.Query(ctx, `SELECT `+b.Column+`, frequency, start_time, hourly_frequency, weekdays, cron, time_zone, set_at, last_run, next_run FROM `+b.Table+rest, args...)
	return db.Collect(rows, err, func(r db.Row) (s Schedule, err error) {
		var days db.JSON[[]int]
		var set, last, next db.Time
		err = r.Scan(&s.Subject, &s.Frequency, &s.StartTime, &s.Hours, &days, &s.Cron, &s.TimeZone, &set, &last, &next)
		s.Weekdays, s.SetAt, s.LastRun, s.NextRun = days.V, set.Time, last.Time, next.Time
		return s, err
	})
}

// FindAll lists the schedules of the caller's team, the next to come first, at most 1000.
func (b Book) FindAll(ctx context.Context) ([]Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return b.find(ctx, ` WHERE team_id = ? ORDER BY next_run, `+b.Column+` LIMIT 1000`, c.TeamID)
}

// Of are the schedules of some things, by thing.
func (b Book) Of(ctx context.Context, subjects []string) (map[string]Schedule, error) {
	var w db.Where
	db.In(&w, b.Column, subjects)
	found, err := b.find(ctx, w.String(), w.Args...)
	out := map[string]Schedule{}
	for _, s := range found {
		out[s.Subject] = s
	}
	return out, err
}

// sweepEvery is how late a scheduled launch may be.
const sweepEvery = 5 * time.Second

// Keep launches what comes due until ctx ends. It runs on every node that works.
func (b Book) Keep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := b.Sweep(ctx); err != nil && ctx.Err() == nil {
			b.Logger.ErrorContext(ctx, "launching what is scheduled", "table", b.Table, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep launches everything whose schedule is due, once: of several nodes that see it, the
// one that moves the schedule on launches. What is at work still is left out this time;
// launches that were missed are made up for by one.
func (b Book) Sweep(ctx context.Context) error {
	now := b.Now()
	due, err := b.find(ctx, ` WHERE next_run <= ? ORDER BY next_run LIMIT 1000`, db.At(now))
	if err != nil {
		return err
	}
	for _, s := range due {
		next, err := s.Next(now)
		if err != nil {
			return fmt.Errorf("schedule of %s: %w", s.Subject, err)
		}
		err = b.DB.Tx(ctx, func(tx *db.Tx) error {
			n, err := b.changeIn(ctx, tx, s.Subject, `UPDATE `+b.Table+` SET last_run = ?, next_run = ? WHERE `+b.Column+` = ? AND next_run = ?`, db.At(now), db.At(next), s.Subject, db.At(s.NextRun))
			if err != nil || n == 0 {
				return err
			}
			err = b.Launch(ctx, tx, s.Subject)
			if errs.Is(err, errs.Conflict) {
				b.Logger.WarnContext(ctx, "a scheduled launch is left out: it is at work", "id", s.Subject)
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
