package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// zones change their clocks in many ways: by an hour, by half an hour, at midnight, by a whole day, never.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu",
	"Pacific/Apia", "Africa/Casablanca", "America/Caracas", "Asia/Pyongyang", "Antarctica/Troll", "Atlantic/Azores"}

func mustZone(t interface{ Fatal(...any) }, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestEachDayOnce: from any moment, in any zone, over any change of its clocks, a rule comes due once on each day that it
// names, and at the time of day that it names wherever the zone's clocks show that time.
func TestEachDayOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone := mustZone(t, name)
		clock := time.Date(2000, 1, 1, rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute"), 0, 0,
			time.UTC)
		set := time.Unix(rapid.Int64Range(1_000_000_000, 1_900_000_000).Draw(t, "set"), 0)
		frequency := rapid.SampledFrom([]Frequency{Daily, Weekly, Custom}).Draw(t, "frequency")
		weekdays := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 7, rapid.ID[int]).Draw(t, "weekdays")
		rule := Rule{Frequency: frequency, StartTime: clock.Format("15:04"), TimeZone: name, SetAt: set, Weekdays: weekdays}
		wanted := func(d time.Weekday) bool {
			for i, w := range weekdays {
				if int(d) == w && (frequency == Custom || i == 0) {
					return true
				}
			}
			return frequency == Daily
		}
		due := map[string]int{}
		at := set
		for range 40 {
			next, err := rule.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			if !next.After(at) {
				t.Fatalf("%v is not after %v", next, at)
			}
			at = next
			local := at.In(zone)
			due[local.Format(time.DateOnly)]++
			if local.Format("15:04") != rule.StartTime && shows(zone, local, clock) {
				t.Fatalf("due at %v, though the clocks show %s that day", local, rule.StartTime)
			}
		}
		for day, n := range due {
			if n != 1 {
				t.Fatalf("%s in %s: %d times", day, name, n)
			}
		}
		first, last := set.In(zone).AddDate(0, 0, 1), at.In(zone)
		for day := first; day.Before(last); day = day.AddDate(0, 0, 1) {
			if key := day.Format(time.DateOnly); wanted(day.Weekday()) && due[key] == 0 && shows(zone, day, clock) {
				t.Fatalf("%s in %s is left out of %v", key, name, due)
			}
		}
	})
}

// shows reports whether the clocks of a zone show a time of day at some moment of a day.
func shows(zone *time.Location, day, clock time.Time) bool {
	for at := day.Add(-27 * time.Hour); at.Before(day.Add(27 * time.Hour)); at = at.Add(time.Minute) {
		local := at.In(zone)
		if local.Format(time.DateOnly) == day.Format(time.DateOnly) && local.Format("15:04") == clock.Format("15:04") {
			return true
		}
	}
	return false
}

func TestClocksThatAreChanged(t *testing.T) {
	for name, c := range map[string]struct{ zone, start, after, want string }{
		"a time that is skipped":     {"Europe/Berlin", "02:30", "2026-03-28T12:00:00Z", "2026-03-29T03:30:00+02:00"},
		"the day after it":           {"Europe/Berlin", "02:30", "2026-03-29T01:30:00Z", "2026-03-30T02:30:00+02:00"},
		"a time that comes twice":    {"Europe/Berlin", "02:30", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00"},
		"not at its second coming":   {"Europe/Berlin", "02:30", "2026-10-25T00:30:00Z", "2026-10-26T02:30:00+01:00"},
		"midnight that is skipped":   {"America/Sao_Paulo", "00:00", "2018-11-03T12:00:00Z", "2018-11-04T01:00:00-02:00"},
		"a day that is left out":     {"Pacific/Apia", "08:00", "2011-12-29T20:00:00Z", "2011-12-31T08:00:00+14:00"},
		"half an hour, and its zone": {"Australia/Lord_Howe", "02:10", "2026-10-03T00:00:00Z", "2026-10-04T02:40:00+11:00"},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Rule{Frequency: Daily, StartTime: c.start, TimeZone: c.zone, SetAt: after}.Next(after)
		if text := got.In(mustZone(t, c.zone)).Format(time.RFC3339); err != nil || text != c.want {
			t.Errorf("%s: %s, %v, want %s", name, text, err, c.want)
		}
	}
}
