package schedule

import (
	"time"
)

// calendar comes due once on each chosen day of a time zone, whatever its clocks do that day. A time of day that the
// clocks skip is counted with the offset from before they were put forward, and of one that they show twice the first
// is taken (RFC 5545, section 3.3.5): each chosen day has one moment, and no moment is a day's twice.
type calendar struct {
	zone  *time.Location
	clock time.Time // of which the time of day counts
	on    func(day time.Time) bool
}

// horizon is how far ahead a chosen day is looked for: weekdays and days of a month are nearer.
const horizon = 70

// Next implements cron.Schedule.
func (c calendar) Next(after time.Time) time.Time {
	local := after.In(c.zone)
	// The moment of an earlier day may be later than this one where a zone has left out a day.
	for i := -2; i < horizon; i++ {
		day := time.Date(local.Year(), local.Month(), local.Day()+i, 0, 0, 0, 0, time.UTC)
		if !c.on(day) {
			continue
		}
		if at := c.moment(day); at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// moment is when the time of day comes on a day.
func (c calendar) moment(day time.Time) time.Time {
	written := time.Date(
		day.Year(),
		day.Month(),
		day.Day(),
		c.clock.Hour(),
		c.clock.Minute(),
		c.clock.Second(),
		0,
		time.UTC,
	)
	// No zone is further from UTC than 15 hours, and none changes twice within two days.
	before, after := c.offset(written.Add(-aDay)), c.offset(written.Add(aDay))
	for _, offset := range []time.Duration{max(before, after), min(before, after)} {
		if at := written.Add(-offset); c.offset(at) == offset {
			return at
		}
	}
	return written.Add(-before)
}

const aDay = 24 * time.Hour

// offset is how far the zone's clocks are ahead of UTC at a moment.
func (c calendar) offset(at time.Time) time.Duration {
	_, seconds := at.In(c.zone).Zone()
	return time.Duration(seconds) * time.Second
}
