package wire

import (
	"github.com/vedette-sec/vedette/internal/api/rest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestHistoryRanges(t *testing.T) {
	now := time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if text != "" && err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		in           HistoryRange
		since, until time.Time
	}{
		{HistoryRange{Range: "all_time"}, day(""), day("")},
		{HistoryRange{Range: "current_month"}, day("2026-03-01"), day("")},
		{HistoryRange{Range: "last_month"}, day("2026-02-01"), day("2026-03-01")},
		{HistoryRange{Range: "last_12_months"}, now.AddDate(-1, 0, 0), day("")},
		{HistoryRange{StartDate: "2026-01-02", EndDate: "2026-01-03"}, day("2026-01-02"), day("2026-01-04")},
		{HistoryRange{Range: "last_month", StartDate: "2026-01-02"}, day("2026-01-02"), day("2026-03-01")},
	} {
		since, until, err := c.in.Times(now)
		if err != nil || !since.Equal(c.since) || !until.Equal(c.until) {
			t.Errorf("%+v: %s to %s, %v", c.in, since, until, err)
		}
	}
	for param, in := range map[string]HistoryRange{"start_date": {StartDate: "x"}, "end_date": {EndDate: "2026-02-30"}} {
		if _, _, err := in.Times(now); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestWordsOfAList(t *testing.T) {
	known := []string{"one", "two"}
	if got, err := OneOf("kind", " One,,two ", known); err != nil || !slices.Equal(got, known) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := OneOf("kind", "one,three", known); errs.From(err) == nil || errs.From(err).Param != "kind" {
		t.Errorf("an unknown word: %v", err)
	}
	if got := Commas(" a,, b ,"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if rest.Each(nil, strings.ToUpper) == nil || rest.OrEmpty[string](nil) == nil {
		t.Error("an empty list is null in JSON")
	}
}

func TestScheduleHasNoRunYet(t *testing.T) {
	got := TimesOf(schedule.Schedule{Rule: TimesRequest{Frequency: "daily"}.Rule(), NextRun: time.Unix(0, 0).UTC()})
	if got.LastRun != "" || got.NextRun != "1970-01-01T00:00:00Z" || got.Weekdays == nil || got.Hours != 1 {
		t.Errorf("%+v", got)
	}
}
