package taskschedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

var relative = regexp.MustCompile(`^([0-9]{1,5})\s*([mhd])$`)

// maxAhead is how far in the future a one-time schedule may lie.
const maxAhead = 5 * 366 * 24 * time.Hour

// parseMoment reads when a one-time schedule comes due: a duration from now (5m, 1h, 2d), a time of day, which is
// the next
// one in the zone (14:30, 3:00PM, 3PM), or a moment of RFC 3339.
func parseMoment(text, zone string, now time.Time) (at time.Time, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return at, errs.Field("run_at", "run_at is required for a one_time schedule.")
	}
	if m := relative.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most five digits
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]
		at = now.Add(time.Duration(n) * unit)
	} else if clock, ok := timeOfDay(text); ok {
		rule := schedule.Rule{Frequency: schedule.Daily, StartTime: clock, TimeZone: zone, SetAt: now}
		if at, err = rule.Next(now); err != nil {
			return at, err
		}
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, errs.Field("run_at",
			"run_at must be like 5m, 1h or 2d from now, a time of day like 14:30 or 3:00PM, or a moment like 2026-05-01T08:00:00Z.")
	}
	if !at.After(now) {
		return at, errs.Field("run_at", "run_at lies in the past.")
	}
	if at.Sub(now) > maxAhead {
		return at, errs.Field("run_at", "run_at is more than five years ahead.")
	}
	return at.UTC(), nil
}

// timeOfDay reads a time of day with 24 or 12 hours.
func timeOfDay(text string) (clock string, ok bool) {
	text = strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	for _, layout := range []string{"15:04", "3:04PM", "3PM"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format("15:04"), true
		}
	}
	return "", false
}

// Describe says in words when a schedule comes due.
func (s Schedule) Describe() string {
	zone := s.Rule.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	at := fmt.Sprintf("at %s (%s)", s.Rule.StartTime, zone)
	switch {
	case s.Type == OneTime:
		return "once"
	case s.Rule.Frequency == schedule.Weekly:
		day := s.weekday()
		return "every " + day.String() + " " + at
	case s.Rule.Frequency == schedule.Monthly:
		return fmt.Sprintf("on day %d of every month %s", s.day(), at)
	case s.Rule.Frequency == schedule.Custom:
		var days []string
		for d := range 7 {
			if slices.Contains(s.Rule.Weekdays, d) {
				days = append(days, time.Weekday(d).String())
			}
		}
		return "every " + strings.Join(days, ", ") + " " + at
	}
	return "every day " + at
}

func (s Schedule) set() time.Time {
	zone, err := time.LoadLocation(s.Rule.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return s.Rule.SetAt.In(zone)
}

func (s Schedule) weekday() time.Weekday {
	if len(s.Rule.Weekdays) > 0 {
		return time.Weekday(s.Rule.Weekdays[0])
	}
	return s.set().Weekday()
}

const lastOfAll = 28 // the last day that every month has

func (s Schedule) day() int { return min(lastOfAll, s.set().Day()) }
