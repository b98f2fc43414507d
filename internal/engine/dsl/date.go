package dsl

import (
	"strings"
	"time"
)

// dateForms are the forms in which a text of an expression counts as a date, each with
// the lengths that it may have.
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

// date is the moment that a text names, in seconds since 1970 (template language 6.1:
// such a text is a number).
func date(s string) (seconds float64, ok bool) {
	if len(s) < 6 || len(s) > 35 || !strings.ContainsAny(s, ":-") {
		return 0, false
	}
	for _, f := range dateForms {
		if len(s) < f.min || len(s) > f.max {
			continue
		}
		// Read where the scanner stands, as the language has it.
		if t, err := time.ParseInLocation(f.layout, s, time.Local); err == nil { //nolint:gosmopolitan // see above
			return float64(t.Unix()), true
		}
	}
	return 0, false
}
