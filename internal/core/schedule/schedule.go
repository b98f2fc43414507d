// Package schedule launches scans and enumerations again and again.
package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones, where the machine has none

	"github.com/robfig/cron/v3"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Schedule launches a scan or an enumeration again and again.
type Schedule struct {
	Subject string // the id of the scan or enumeration
	Rule
	LastRun time.Time // zero: never
	NextRun time.Time
}

// Schedules has the schedules of one noun, in the table NOUN_schedule of its service.
type Schedules struct {
	DB     *db.DB
	Noun   string // a constant, as "scan"
	Logger *slog.Logger
	Now    func() time.Time

	// Check refuses a caller who may not launch the subject.
	Check func(ctx context.Context, id string) error
	// Launch launches a subject in the transaction that sets the next time. A Conflict means that it still runs:
	// this launch is skipped.
	Launch func(ctx context.Context, tx *db.Tx, id string) error
}

func (ss Schedules) sql(text string) string { return strings.ReplaceAll(text, "NOUN", ss.Noun) }

// Set gives a subject of the caller's team a schedule, in place of any it has.
func (ss Schedules) Set(ctx context.Context, s Schedule) (Schedule, error) {
	if err := ss.Check(ctx, s.Subject); err != nil {
		return s, err
	}
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	s.SetAt = ss.Now().UTC()
	if s.NextRun, err = s.Next(s.SetAt); err != nil {
		return s, err
	}
	return s, ss.DB.Tx(ctx, func(tx *db.Tx) error {
		return ss.changeOr(ctx, tx, ss.Noun,
			s.Subject, `INSERT INTO NOUN_schedule (NOUN_id, team_id, user_id, frequency, start_time,
			hourly_frequency, weekdays, cron, time_zone, set_at, next_run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (NOUN_id) DO UPDATE SET user_id = excluded.user_id, frequency = excluded.frequency,
			start_time = excluded.start_time, hourly_frequency = excluded.hourly_frequency, weekdays = excluded.weekdays,
			cron = excluded.cron, time_zone = excluded.time_zone, set_at = excluded.set_at, next_run = excluded.next_run`,
			s.Subject, c.TeamID, c.UserID, s.Frequency, s.StartTime, s.Hours,
			db.Doc(s.Weekdays), s.Cron, s.TimeZone, db.At(s.SetAt), db.At(s.NextRun))
	})
}

// Drop deletes the schedule of a subject of the caller's team.
func (ss Schedules) Drop(ctx context.Context, subject string) error {
	if err := ss.Check(ctx, subject); err != nil {
		return err
	}
	return ss.DB.Tx(ctx, func(tx *db.Tx) error {
		return ss.changeOr(ctx, tx, "schedule", subject, `DELETE FROM NOUN_schedule WHERE NOUN_id = ?`, subject)
	})
}

// changeOr is change, and errs.Missing(what) when no row was affected.
func (ss Schedules) changeOr(ctx context.Context, tx *db.Tx, what, id, statement string, args ...any) error {
	n, err := ss.change(ctx, tx, id, statement, args...)
	if err == nil && n == 0 {
		err = errs.Missing(what)
	}
	return err
}

// change changes the schedule of a subject, and returns the number of affected rows: 0 when the subject was
// deleted. It locks the subject first, as a deletion does, to avoid deadlocks.
func (ss Schedules) change(ctx context.Context, tx *db.Tx, id, statement string, args ...any) (int64, error) {
	_, err := db.Value[string](ctx, tx, ss.sql(`SELECT id FROM NOUN WHERE id = ?`)+tx.Dialect().ForUpdate(), id)
	if db.IsNoRows(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return tx.Exec(ctx, ss.sql(statement), args...)
}

func (ss Schedules) find(ctx context.Context, rest string, args ...any) ([]Schedule, error) {
	scan := func(r db.Row) (s Schedule, err error) {
		err = r.Scan(&s.Subject, &s.Frequency, &s.StartTime, &s.Hours, db.Into(&s.Weekdays), &s.Cron, &s.TimeZone,
			db.Into(&s.SetAt), db.Into(&s.LastRun), db.Into(&s.NextRun))
		return s, err
	}
	return db.Select(ctx, ss.DB, scan, ss.sql(`SELECT NOUN_id, frequency, start_time, hourly_frequency, weekdays, cron,
		time_zone, set_at, last_run, next_run FROM NOUN_schedule`+rest), args...)
}

// FindAll lists the schedules of the caller's team, the next one first, at most 1000.
func (ss Schedules) FindAll(ctx context.Context) ([]Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return ss.find(ctx, ` WHERE team_id = ? ORDER BY next_run, NOUN_id LIMIT 1000`, c.TeamID)
}

// Of are the schedules of some subjects, by subject.
func (ss Schedules) Of(ctx context.Context, subjects []string) (map[string]Schedule, error) {
	var w db.Where
	db.In(&w, "NOUN_id", subjects)
	found, err := ss.find(ctx, w.String(), w.Args...)
	out := map[string]Schedule{}
	for _, s := range found {
		out[s.Subject] = s
	}
	return out, err
}

// Keep calls Sweep until ctx ends. It runs on every worker node.
func (ss Schedules) Keep(ctx context.Context) {
	queue.Every(ctx, 5*time.Second, ss.Logger.With("noun", ss.Noun), "launching what is scheduled", ss.Sweep)
}

// Sweep launches every subject whose schedule is due. Of several nodes, the one that sets the next time
// launches it. Several missed launches become one; a subject that still runs is skipped.
func (ss Schedules) Sweep(ctx context.Context) error {
	now := ss.Now()
	due, err := ss.find(ctx, ` WHERE next_run <= ? ORDER BY next_run LIMIT 1000`, db.At(now))
	if err != nil {
		return err
	}
	for _, s := range due {
		next, err := s.Next(now)
		if err != nil {
			return fmt.Errorf("schedule of %s: %w", s.Subject, err)
		}
		err = ss.DB.Tx(ctx, func(tx *db.Tx) error {
			n, err := ss.change(ctx, tx, s.Subject, `UPDATE NOUN_schedule SET last_run = ?, next_run = ?
				WHERE NOUN_id = ? AND next_run = ?`, db.At(now), db.At(next), s.Subject, db.At(s.NextRun))
			if err != nil || n == 0 {
				return err
			}
			err = ss.Launch(ctx, tx, s.Subject)
			if errs.Is(err, errs.Conflict) {
				ss.Logger.WarnContext(ctx, "a scheduled launch is skipped: the last run has not ended", "id", s.Subject)
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

// Frequency is how often a schedule comes due.
type Frequency string

// The frequencies.
const (
	Hourly  Frequency = "hourly"  // every so many hours
	Daily   Frequency = "daily"   // at the start time
	Weekly  Frequency = "weekly"  // on a given weekday, or that on which it was set
	Monthly Frequency = "monthly" // on the day of the month on which it was set, at most the 28th
	Custom  Frequency = "custom"  // on weekdays, or by a cron line
)

// Rule says when a schedule comes due.
type Rule struct {
	Frequency Frequency
	StartTime string // HH:MM or HH:MM:SS, in the zone, or HH:MM:SSZ in UTC; empty: when it was set
	Hours     int    // between hourly launches, 1 to 24
	Weekdays  []int  // 0 is Sunday
	Cron      string // minute, hour, day, month, weekday
	TimeZone  string // of the IANA database; empty: UTC
	SetAt     time.Time
}

// Next is the first time after a moment at which the rule comes due. An error is the caller's and names the
// invalid field.
func (r Rule) Next(after time.Time) (time.Time, error) {
	times, err := r.times()
	if err != nil {
		return time.Time{}, err
	}
	return times.Next(after).UTC(), nil
}

// clock is a time of day. RFC 3339 allows a Z, where no other zone is given.
func clock(text string, zone *time.Location) (start time.Time, err error) {
	if utc, ok := strings.CutSuffix(text, "Z"); ok && zone == time.UTC {
		text = utc
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if start, err = time.Parse(layout, text); err == nil {
			return start, nil
		}
	}
	return start, errs.Field("start_time",
		"start_time must be HH:MM or HH:MM:SS; with a Z at its end no other time_zone may be named.")
}

func (r Rule) times() (cron.Schedule, error) {
	zone, err := time.LoadLocation(r.TimeZone)
	if err != nil || r.TimeZone == "Local" {
		return nil, errs.Field("time_zone", "time_zone %.60q is not known.", r.TimeZone)
	}
	set := r.SetAt.In(zone)
	start := set
	if r.StartTime != "" {
		if start, err = clock(r.StartTime, zone); err != nil {
			return nil, err
		}
	}
	for _, day := range r.Weekdays {
		if day < 0 || day > 6 {
			return nil, errs.Field("custom_weekdays", "custom_weekdays must be 0 (Sunday) to 6.")
		}
	}
	switch r.Frequency {
	case Hourly:
		if r.Hours < 1 || r.Hours > 24 {
			return nil, errs.Field("hourly_frequency", "hourly_frequency must be 1 to 24.")
		}
		first := time.Date(set.Year(), set.Month(), set.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
		return every{first, int64(r.Hours) * int64(time.Hour)}, nil
	case Daily:
		return calendar{zone, start, func(time.Time) bool { return true }}, nil
	case Weekly:
		day := set.Weekday()
		if len(r.Weekdays) > 0 {
			day = time.Weekday(r.Weekdays[0])
		}
		return calendar{zone, start, func(on time.Time) bool { return on.Weekday() == day }}, nil
	case Monthly:
		day := min(lastOfAll, set.Day())
		return calendar{zone, start, func(on time.Time) bool { return on.Day() == day }}, nil
	case Custom:
		if r.Cron != "" {
			return parse(zone, "0 "+r.Cron)
		}
		if len(r.Weekdays) == 0 {
			return nil, errs.Field("custom_weekdays", "custom_weekdays or cron is required for a custom schedule.")
		}
		return calendar{zone, start, func(on time.Time) bool { return slices.Contains(r.Weekdays, int(on.Weekday())) }}, nil
	}
	return nil, errs.Field("scan_frequency", "scan_frequency %.20q is not known.", r.Frequency)
}

const (
	maxCron   = 120
	lastOfAll = 28 // the last day that every month has
)

func parse(zone *time.Location, line string) (cron.Schedule, error) {
	bad := errs.Field("cron", "cron must be five fields: minute, hour, day, month, weekday.")
	if len(line) > maxCron || len(strings.Fields(line)) != 6 || strings.ContainsAny(line, "=@") {
		return nil, bad
	}
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	spec, err := parser.Parse(line)
	if err != nil {
		return nil, bad
	}
	if s, ok := spec.(*cron.SpecSchedule); ok {
		s.Location = zone
	}
	if spec.Next(time.Unix(0, 0)).IsZero() {
		return nil, errs.Field("cron", "cron never comes due.")
	}
	return spec, nil
}

type every struct {
	first time.Time
	apart int64 // nanoseconds
}

// Next implements cron.Schedule.
func (e every) Next(after time.Time) time.Time {
	if after.Before(e.first) {
		return e.first
	}
	times := int64(after.Sub(e.first))/e.apart + 1
	return e.first.Add(time.Duration(times * e.apart))
}
