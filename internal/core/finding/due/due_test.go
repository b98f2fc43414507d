package due

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestAt(t *testing.T) {
	p := Policy{Days: Days{"critical": 7, "high": 30}, Labels: []Label{
		{"production", Days{"critical": 2, "low": 90}}, {"shop", Days{"critical": 3, "high": 60}},
	}}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		severity string
		labels   []string
		days     int
	}{
		{"critical", nil, 7}, {"high", []string{"other"}, 30}, {"info", nil, 0}, {"critical", []string{"Production"}, 2},
		{"critical", []string{"shop", "production"}, 2}, {"high", []string{"production"}, 30}, {"high", []string{"shop"}, 60},
		{"low", []string{"production"}, 90}, {"low", nil, 0},
	} {
		want := time.Time{}
		if c.days > 0 {
			want = from.AddDate(0, 0, c.days)
		}
		if got := p.At(from, c.severity, c.labels); !got.Equal(want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestStateAt(t *testing.T) {
	at := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	p := Policy{Warn: 3}
	for _, c := range []struct {
		day    int
		status string
		want   State
	}{
		{6, "open", InTime}, {7, "open", Soon}, {9, "triaged", Soon}, {10, "fix_in_progress", Overdue}, {20, "open", Overdue},
		{20, "fixed", None}, {20, "accepted_risk", None}, {8, "false_positive", None},
	} {
		now := time.Date(2026, 1, c.day, 0, 0, 0, 0, time.UTC)
		if got := p.StateAt(now, at, move.Statuses[index(c.status)]); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := p.StateAt(at, time.Time{}, move.Open); got != None {
		t.Errorf("%q", got)
	}
	if got := (Policy{}).StateAt(at.Add(-time.Hour), at, move.Open); got != InTime {
		t.Errorf("%q", got)
	}
}

func index(status string) int {
	for i, s := range move.Statuses {
		if string(s) == status {
			return i
		}
	}
	return -1
}

func TestCheck(t *testing.T) {
	for field, p := range map[string]Policy{
		"count_from": {From: "birth"}, "warn_days": {Warn: -1}, "days": {Days: Days{"grave": 1}},
		"labels": {Labels: []Label{{"a", nil}, {"A", nil}}},
	} {
		if err := p.Check(); errs.From(err).Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, p := range []Policy{{Days: Days{"high": -1}}, {Days: Days{"high": 4000}}, {Labels: []Label{{"a,b", nil}}},
		{Labels: []Label{{"a", Days{"high": 5000}}}}} {
		if p.Check() == nil {
			t.Errorf("%+v", p)
		}
	}
	p := Policy{}
	if err := p.Check(); err != nil || p.From != FirstSeen {
		t.Errorf("%+v %v", p, err)
	}
}
