package dsl

import (
	"strings"
	"time"
)

// dateForms are the layouts of strings in expressions that count as dates, with the lengths of such strings.
var dateForms = []struct {
	layout   string
	min, max int
}{
	{time.ANSIC, 23, 24},
	{time.RubyDate, 30, 30},
	{time.Kitchen, 6, 7},
	{time.RFC3339, 25, 25},
	{time.RFC3339Nano, 35, 35},
	{"2006-01-02", 10, 10},
	{"2006-01-02 15:04", 16, 16},
	{"2006-01-02 15:04:05", 19, 19},
	{"2006-01-02 15:04:05-07:00", 25, 25},
	{"2006-01-02T15Z0700", 18, 18},
	{"2006-01-02T15:04Z0700", 21, 21},
	{"2006-01-02T15:04:05Z0700", 24, 24},
	{"2006-01-02T15:04:05.999999999Z0700", 34, 34},
}

// date is the Unix time in seconds of a string that is a date; such a string is a number (template language 6.1).
func date(s string) (seconds float64, ok bool) {
	if len(s) < 6 || len(s) > 35 || !strings.ContainsAny(s, ":-") {
		return 0, false
	}
	for _, f := range dateForms {
		if len(s) < f.min || len(s) > f.max {
			continue
		}
		// In the scanner's time zone, as the language defines.
		if t, err := time.ParseInLocation(f.layout, s, time.Local); err == nil { //nolint:gosmopolitan // see above
			return float64(t.Unix()), true
		}
	}
	return 0, false
}
