package assets

import (
	"errors"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/report"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestListAsOfATime(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 30, 0, time.UTC)
	past, err := ContentQuery{AsOf: "2026-04-01", Limit: 10}.query(now)
	if want := time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC); err != nil || past.AsOf.After(want) ||
		past.AsOf.Before(want.Add(-time.Second)) {
		t.Errorf("as of the end of a day: %s, %v", past.AsOf, err)
	}
	for _, future := range []string{"", "2026-06-01"} {
		if q, err := (ContentQuery{AsOf: future}).query(now); err != nil || !q.AsOf.IsZero() {
			t.Errorf("as of %q: %s, %v", future, q.AsOf, err)
		}
	}
	bad := ContentQuery{AsOf: "2026-04-01"}
	bad.NotSeen = 3
	for param, q := range map[string]ContentQuery{"not_seen_for_days": bad, "as_of": {AsOf: "soon"},
		"sort_asc": {SortAsc: "color"}} {
		if _, err := q.query(now); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
}

func TestPortsAreNamedAsTheRequestNamesThem(t *testing.T) {
	err := portsNamed(errs.Field("enumeration_ports", "bad"), "enum_ports")
	if errs.From(err).Param != "enum_ports" {
		t.Errorf("%+v", err)
	}
	if other := errs.Field("name", "bad"); !errors.Is(portsNamed(other, "enum_ports"), other) ||
		portsNamed(nil, "x") != nil {
		t.Error("an error about another field is changed")
	}
}

func TestMisconfigurationHasASeverity(t *testing.T) {
	for kind, want := range map[string]string{"dangling_dns": "high", "origin_exposure": "medium", "other": "unknown"} {
		var m report.Misconfiguration
		m.Type = kind
		if got := misconfigurationOf(m); got.Severity != want || got.Status != "open" {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}
