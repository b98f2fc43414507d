package reportschedule

import (
	"time"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Rule says when reports are made.
type Rule struct {
	Frequency schedule.Frequency // Weekly or Monthly
	Weekday   int                // of a weekly one, 0 is Sunday
	Day       int                // of the month, 1 to 28, of a monthly one
	StartTime string             // HH:MM in the zone
	TimeZone  string             // of the IANA database; empty: UTC
}

// Next is the first time after a moment at which the rule comes due. An error is the caller's and names the field.
func (r Rule) Next(after time.Time) (time.Time, error) {
	rule := schedule.Rule{Frequency: schedule.Custom, StartTime: r.StartTime, TimeZone: r.TimeZone}
	switch {
	case r.StartTime == "":
		return time.Time{}, errs.Field("start_time", "start_time is required: HH:MM in time_zone.")
	case r.Frequency == schedule.Weekly && (r.Weekday < 0 || r.Weekday > 6):
		return time.Time{}, errs.Field("weekday", "weekday must be from 0, Sunday, to 6.")
	case r.Frequency == schedule.Weekly:
		rule.Weekdays = []int{r.Weekday}
	case r.Frequency == schedule.Monthly && (r.Day < 1 || r.Day > 28):
		return time.Time{}, errs.Field("day", "day must be from 1 to 28, the last that every month has.")
	case r.Frequency == schedule.Monthly:
		// The rule is about the day of the month on which it was set, in its zone.
		zone, err := time.LoadLocation(r.TimeZone)
		if err != nil {
			zone = time.UTC // the rule refuses it
		}
		rule.Frequency, rule.SetAt = schedule.Monthly, time.Date(2000, time.January, r.Day, 12, 0, 0, 0, zone)
	default:
		return time.Time{}, errs.Field("frequency", "frequency must be weekly or monthly.")
	}
	return rule.Next(after)
}
