package page

import (
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TimeRanges are the names of time ranges (specification, TimeRangeQueryParameter).
var TimeRanges = []string{"last_day", "last_week", "last_month", "last_3_months", "last_6_months", "last_12_months",
	"all_time"}

// Since is when a time range begins that ends now; zero for all_time and for other names.
func Since(name string, now time.Time) time.Time {
	ago, ok := map[string][3]int{
		"last_day": {0, 0, 1}, "last_week": {0, 0, 7}, "last_month": {0, 1, 0}, "last_3_months": {0, 3, 0},
		"last_6_months":  {0, 6, 0},
		"last_12_months": {1, 0, 0},
	}[name]
	if !ok {
		return time.Time{}
	}
	return now.AddDate(-ago[0], -ago[1], -ago[2])
}

// Moment parses a day (2006-01-02) or a time (RFC 3339) of a parameter, in UTC; empty is the zero
// time. With end, a day means its end.
func Moment(param, text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 {
		return t, errs.Field(param, "%s must be a day, as 2006-01-02, or a time, as 2006-01-02T15:04:05Z.", param)
	}
	return t.UTC(), nil
}
