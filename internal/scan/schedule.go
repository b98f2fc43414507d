package scan

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones, where the machine has none

	"github.com/robfig/cron/v3"
	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Frequency is how often a schedule launches a scan.
type Frequency string

// The frequencies.
const (
	Hourly  Frequency = "hourly"  // each so many hours
	Daily   Frequency = "daily"   // at the start time
	Weekly  Frequency = "weekly"  // on the weekday on which it was set, or the one that is named
	Monthly Frequency = "monthly" // on the day of the month on which it was set, at most the 28th
	Custom  Frequency = "custom"  // on weekdays, or as a cron line says
)

// Frequencies are all frequencies.
var Frequencies = []Frequency{Hourly, Daily, Weekly, Monthly, Custom}

// Schedule launches a scan again and again.
type Schedule struct {
	ScanID    string
	Frequency Frequency
	StartTime string // HH:MM or HH:MM:SS, in the zone; empty: when it was set
	Hours     int    // between launches of an hourly one, 1 to 24
	Weekdays  []int  // 0 is Sunday
	Cron      string // minute, hour, day, month, weekday
	TimeZone  string // of the IANA database; empty: UTC
	SetAt     time.Time
	LastRun   time.Time // zero: never
	NextRun   time.Time
}

// times makes what says when a schedule launches.
func (s Schedule) times() (cron.Schedule, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil || s.TimeZone == "Local" {
		return nil, errs.Field("time_zone", "time_zone %.60q is not known.", s.TimeZone)
	}
	set := s.SetAt.In(zone)
	start := set
	if s.StartTime != "" {
		if start, err = time.Parse("15:04:05", s.StartTime); err != nil {
			if start, err = time.Parse("15:04", s.StartTime); err != nil {
				return nil, errs.Field("start_time", "start_time must be HH:MM or HH:MM:SS.")
			}
		}
	}
	for _, day := range s.Weekdays {
		if day < 0 || day > 6 {
			return nil, errs.Field("custom_weekdays", "custom_weekdays must be 0 (Sunday) to 6.")
		}
	}
	at := fmt.Sprintf("%d %d %d ", start.Second(), start.Minute(), start.Hour())
	switch s.Frequency {
	case Hourly:
		if s.Hours < 1 || s.Hours > 24 {
			return nil, errs.Field("hourly_frequency", "hourly_frequency must be 1 to 24.")
		}
		first := time.Date(set.Year(), set.Month(), set.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
		return every{first, int64(s.Hours) * int64(time.Hour)}, nil
	case Daily:
		return parse(zone, at+"* * *")
	case Weekly:
		day := int(set.Weekday())
		if len(s.Weekdays) > 0 {
			day = s.Weekdays[0]
		}
		return parse(zone, at+"* * "+strconv.Itoa(day))
	case Monthly:
		return parse(zone, at+strconv.Itoa(min(28, set.Day()))+" * *")
	case Custom:
		if s.Cron != "" {
			return parse(zone, "0 "+s.Cron)
		}
		if len(s.Weekdays) == 0 {
			return nil, errs.Field("custom_weekdays", "custom_weekdays or cron is required for a custom schedule.")
		}
		var days []string
		for _, day := range s.Weekdays {
			days = append(days, strconv.Itoa(day))
		}
		return parse(zone, at+"* * "+strings.Join(days, ","))
	}
	return nil, errs.Field("scan_frequency", "scan_frequency %.20q is not known.", s.Frequency)
}

const maxCron = 120

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

// every is a fixed time apart, from a first time on.
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

// SetSchedule gives a scan of the caller's team a schedule, in place of any it has.
func (ss *Scans) SetSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	scan, err := ss.Find(ctx, s.ScanID)
	if err != nil {
		return s, err
	}
	if scan.IsOSS {
		return s, errs.New(errs.Conflict, "scan_not_launchable", "Uploaded results cannot be scheduled.")
	}
	s.SetAt = ss.now().UTC()
	times, err := s.times()
	if err != nil {
		return s, err
	}
	s.NextRun = times.Next(s.SetAt).UTC()
	_, err = ss.db.Exec(ctx, `INSERT INTO scan_schedule (scan_id, team_id, user_id, frequency, start_time, hourly_frequency, weekdays, cron, time_zone, set_at, next_run)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (scan_id) DO UPDATE SET user_id = excluded.user_id, frequency = excluded.frequency, start_time = excluded.start_time, hourly_frequency = excluded.hourly_frequency,
		weekdays = excluded.weekdays, cron = excluded.cron, time_zone = excluded.time_zone, set_at = excluded.set_at, next_run = excluded.next_run`,
		s.ScanID, c.TeamID, c.UserID, s.Frequency, s.StartTime, s.Hours, db.Doc(s.Weekdays), s.Cron, s.TimeZone, db.At(s.SetAt), db.At(s.NextRun))
	return s, err
}

// DropSchedule takes its schedule from a scan of the caller's team; 404 when it has none.
func (ss *Scans) DropSchedule(ctx context.Context, scanID string) error {
	if _, err := ss.own(ctx, scanID); err != nil {
		return err
	}
	n, err := ss.db.Exec(ctx, `DELETE FROM scan_schedule WHERE scan_id = ?`, scanID)
	if err == nil && n == 0 {
		err = errs.Missing("schedule")
	}
	return err
}

const scheduleColumns = `SELECT scan_id, frequency, start_time, hourly_frequency, weekdays, cron, time_zone, set_at, last_run, next_run FROM scan_schedule`

func scheduleRow(r db.Row) (s Schedule, err error) {
	var days db.JSON[[]int]
	var set, last, next db.Time
	err = r.Scan(&s.ScanID, &s.Frequency, &s.StartTime, &s.Hours, &days, &s.Cron, &s.TimeZone, &set, &last, &next)
	s.Weekdays, s.SetAt, s.LastRun, s.NextRun = days.V, set.Time, last.Time, next.Time
	return s, err
}

// FindSchedules lists the schedules of the caller's team, the next to come first.
func (ss *Scans) FindSchedules(ctx context.Context) ([]Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := ss.db.Query(ctx, scheduleColumns+` WHERE team_id = ? ORDER BY next_run, scan_id LIMIT 1000`, c.TeamID)
	return db.Collect(rows, err, scheduleRow)
}

// schedules are those of some scans, by scan.
func (ss *Scans) schedules(ctx context.Context, ids []string) (map[string]Schedule, error) {
	var w db.Where
	db.In(&w, "scan_id", ids)
	rows, err := ss.db.Query(ctx, scheduleColumns+w.String(), w.Args...)
	found, err := db.Collect(rows, err, scheduleRow)
	out := map[string]Schedule{}
	for _, s := range found {
		out[s.ScanID] = s
	}
	return out, err
}

// sweepEvery is how late a scheduled launch may be.
const sweepEvery = 5 * time.Second

// KeepSchedules launches what comes due until ctx ends. It runs on every node that works.
func (ss *Scans) KeepSchedules(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := ss.Sweep(ctx); err != nil && ctx.Err() == nil {
			ss.logger.ErrorContext(ctx, "launching scheduled scans", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep launches every scan whose schedule is due, once: of several nodes that see it,
// the one that moves the schedule on launches. A scan that is at work still is left out
// this time; launches that were missed are made up for by one.
func (ss *Scans) Sweep(ctx context.Context) error {
	now := ss.now()
	rows, err := ss.db.Query(ctx, scheduleColumns+` WHERE next_run <= ? ORDER BY next_run LIMIT 1000`, db.At(now))
	due, err := db.Collect(rows, err, scheduleRow)
	if err != nil {
		return err
	}
	for _, s := range due {
		times, err := s.times()
		if err != nil {
			return fmt.Errorf("schedule of scan %s: %w", s.ScanID, err)
		}
		err = ss.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE scan_schedule SET last_run = ?, next_run = ? WHERE scan_id = ? AND next_run = ?`, db.At(now), db.At(times.Next(now)), s.ScanID, db.At(s.NextRun))
			if err != nil || n == 0 {
				return err
			}
			err = ss.launch(ctx, tx, s.ScanID)
			if errs.Is(err, errs.Conflict) {
				ss.logger.WarnContext(ctx, "a scheduled launch is left out: the scan is at work", "scan_id", s.ScanID)
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
