// Package schedule says when something is launched again and again, and keeps that for
// the slices whose things are launched.
package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones, where the machine has none

	"github.com/robfig/cron/v3"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Frequency is how often a schedule comes due.
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

// Rule says when a schedule comes due.
type Rule struct {
	Frequency Frequency
	StartTime string // HH:MM or HH:MM:SS, in the zone, or HH:MM:SSZ in UTC; empty: when it was set
	Hours     int    // between launches of an hourly one, 1 to 24
	Weekdays  []int  // 0 is Sunday
	Cron      string // minute, hour, day, month, weekday
	TimeZone  string // of the IANA database; empty: UTC
	SetAt     time.Time
}

// Next is the first time after a moment at which the rule comes due. An error is the
// caller's and names the field that cannot be followed.
func (r Rule) Next(after time.Time) (time.Time, error) {
	times, err := r.times()
	if err != nil {
		return time.Time{}, err
	}
	return times.Next(after).UTC(), nil
}

// clock is a time of day. RFC 3339 writes it with a Z, where no other zone is named.
func clock(text string, zone *time.Location) (start time.Time, err error) {
	if utc, ok := strings.CutSuffix(text, "Z"); ok && zone == time.UTC {
		text = utc
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if start, err = time.Parse(layout, text); err == nil {
			return start, nil
		}
	}
	return start, errs.Field("start_time", "start_time must be HH:MM or HH:MM:SS; with a Z at its end no other time_zone may be named.")
}

// times makes what says when a schedule comes due.
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
	at := fmt.Sprintf("%d %d %d ", start.Second(), start.Minute(), start.Hour())
	switch r.Frequency {
	case Hourly:
		if r.Hours < 1 || r.Hours > 24 {
			return nil, errs.Field("hourly_frequency", "hourly_frequency must be 1 to 24.")
		}
		first := time.Date(set.Year(), set.Month(), set.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
		return every{first, int64(r.Hours) * int64(time.Hour)}, nil
	case Daily:
		return parse(zone, at+"* * *")
	case Weekly:
		day := int(set.Weekday())
		if len(r.Weekdays) > 0 {
			day = r.Weekdays[0]
		}
		return parse(zone, at+"* * "+strconv.Itoa(day))
	case Monthly:
		return parse(zone, at+strconv.Itoa(min(28, set.Day()))+" * *")
	case Custom:
		if r.Cron != "" {
			return parse(zone, "0 "+r.Cron)
		}
		if len(r.Weekdays) == 0 {
			return nil, errs.Field("custom_weekdays", "custom_weekdays or cron is required for a custom schedule.")
		}
		var days []string
		for _, day := range r.Weekdays {
			days = append(days, strconv.Itoa(day))
		}
		return parse(zone, at+"* * "+strings.Join(days, ","))
	}
	return nil, errs.Field("scan_frequency", "scan_frequency %.20q is not known.", r.Frequency)
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
