package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Schedule launches a scan or an enumeration again and again.
type Schedule struct {
	Subject string // the id of what is launched
	Rule
	LastRun time.Time // zero: never
	NextRun time.Time
}

// Book keeps the schedules of one noun, in the table NOUN_schedule of its service.
type Book struct {
	DB     *db.DB
	Noun   string // a constant, as "scan"
	Logger *slog.Logger
	Now    func() time.Time

	// Check refuses a caller who may not launch the subject.
	Check func(ctx context.Context, id string) error
	// Launch launches a subject in the transaction that moves its schedule on. A Conflict
	// says that it still runs: this launch is left out.
	Launch func(ctx context.Context, tx *db.Tx, id string) error
}

// sql puts the name of the noun into a statement.
func (b Book) sql(text string) string { return strings.ReplaceAll(text, "NOUN", b.Noun) }

// Set gives a subject of the caller's team a schedule, in place of any it has.
func (b Book) Set(ctx context.Context, s Schedule) (Schedule, error) {
	if err := b.Check(ctx, s.Subject); err != nil {
		return s, err
	}
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	s.SetAt = b.Now().UTC()
	if s.NextRun, err = s.Next(s.SetAt); err != nil {
		return s, err
	}
	return s, b.DB.Tx(ctx, func(tx *db.Tx) error {
		n, err := b.change(ctx, tx, s.Subject, `INSERT INTO NOUN_schedule (NOUN_id, team_id, user_id, frequency, start_time,
			hourly_frequency, weekdays, cron, time_zone, set_at, next_run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (NOUN_id) DO UPDATE SET user_id = excluded.user_id, frequency = excluded.frequency,
			start_time = excluded.start_time, hourly_frequency = excluded.hourly_frequency, weekdays = excluded.weekdays,
			cron = excluded.cron, time_zone = excluded.time_zone, set_at = excluded.set_at, next_run = excluded.next_run`,
			s.Subject, c.TeamID, c.UserID, s.Frequency, s.StartTime, s.Hours,
			db.Doc(s.Weekdays), s.Cron, s.TimeZone, db.At(s.SetAt), db.At(s.NextRun))
		if err == nil && n == 0 {
			err = errs.Missing(b.Noun)
		}
		return err
	})
}

// Drop takes its schedule from a subject of the caller's team; 404 when it has none.
func (b Book) Drop(ctx context.Context, subject string) error {
	if err := b.Check(ctx, subject); err != nil {
		return err
	}
	return b.DB.Tx(ctx, func(tx *db.Tx) error {
		n, err := b.change(ctx, tx, subject, `DELETE FROM NOUN_schedule WHERE NOUN_id = ?`, subject)
		if err == nil && n == 0 {
			err = errs.Missing("schedule")
		}
		return err
	})
}

// change changes the schedule of a subject by a statement, and returns the rows it touched: 0
// when the subject was deleted. It locks the subject first, as a deletion does: transactions
// that lock in different orders could wait for each other.
func (b Book) change(ctx context.Context, tx *db.Tx, id, statement string, args ...any) (int64, error) {
	var locked string
	err := tx.QueryRow(ctx, b.sql(`SELECT id FROM NOUN WHERE id = ?`)+tx.Speaks().ForUpdate(), id).Scan(&locked)
	if db.IsNoRows(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return tx.Exec(ctx, b.sql(statement), args...)
}

func (b Book) find(ctx context.Context, rest string, args ...any) ([]Schedule, error) {
	rows, err := b.DB.Query(ctx, b.sql(`SELECT NOUN_id, frequency, start_time, hourly_frequency, weekdays, cron, time_zone,
		set_at, last_run, next_run FROM NOUN_schedule`+rest), args...)
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
	return b.find(ctx, ` WHERE team_id = ? ORDER BY next_run, NOUN_id LIMIT 1000`, c.TeamID)
}

// Of are the schedules of some subjects, by subject.
func (b Book) Of(ctx context.Context, subjects []string) (map[string]Schedule, error) {
	var w db.Where
	db.In(&w, "NOUN_id", subjects)
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
			b.Logger.ErrorContext(ctx, "launching what is scheduled", "noun", b.Noun, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep launches every subject whose schedule is due, once: of several nodes that see it,
// the one that moves the schedule on launches. Launches that were missed are made up for
// by one; a subject that still runs is left out this time.
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
			n, err := b.change(ctx, tx, s.Subject, `UPDATE NOUN_schedule SET last_run = ?, next_run = ?
				WHERE NOUN_id = ? AND next_run = ?`, db.At(now), db.At(next), s.Subject, db.At(s.NextRun))
			if err != nil || n == 0 {
				return err
			}
			err = b.Launch(ctx, tx, s.Subject)
			if errs.Is(err, errs.Conflict) {
				b.Logger.WarnContext(ctx, "a scheduled launch is left out: the last run has not ended", "id", s.Subject)
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
