package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestScheduleTimes(t *testing.T) {
	set := time.Date(2026, 3, 27, 9, 15, 0, 0, time.UTC) // a Friday, before Berlin's summer time
	for name, c := range map[string]struct {
		s    Rule
		want string
	}{
		"hourly":  {Rule{Frequency: Hourly, Hours: 6}, "27 15:15, 27 21:15, 28 03:15"},
		"daily":   {Rule{Frequency: Daily, StartTime: "08:00", TimeZone: "Europe/Berlin"}, "28 07:00, 29 06:00, 30 06:00"},
		"weekly":  {Rule{Frequency: Weekly}, "3 09:15, 10 09:15, 17 09:15"},
		"monthly": {Rule{Frequency: Monthly, StartTime: "00:00:00"}, "27 00:00, 27 00:00, 27 00:00"},
		"custom":  {Rule{Frequency: Custom, Weekdays: []int{0, 6}, StartTime: "12:00:00Z"}, "28 12:00, 29 12:00, 4 12:00"},
		"cron":    {Rule{Frequency: Custom, Cron: "30 4 1,15 * *"}, "1 04:30, 15 04:30, 1 04:30"},
	} {
		c.s.SetAt = set
		var got []string
		for at := set; len(got) < 3; {
			next, err := c.s.Next(at)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			at = next
			got = append(got, at.Format("2 15:04"))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
