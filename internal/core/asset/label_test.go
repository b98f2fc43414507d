package asset

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// wantParam checks that an error is about a parameter.
func wantParam(t testing.TB, err error, param string) {
	t.Helper()
	if e := errs.From(err); err == nil || e.Kind != errs.Invalid || e.Param != param {
		t.Errorf("%v is not about %s", err, param)
	}
}

// TestLabels follows the labels of assets, one by one and many at once.
func TestLabels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		r.observe(t, "e", 1, web("login.example.com", 443, "Log in"), discover.Asset{Host: "b.example.com"})
		id := r.list(t, Query{}).Assets[1].ID
		for _, step := range []struct {
			mode   label.Mode
			labels []string
			want   string
		}{
			{label.Append, []string{" mine ", "login page"}, "login page,mine"},
			{label.Append, nil, "login page,mine"},
			{label.Delete, []string{"login page", "none"}, "mine"},
			{label.Replace, []string{"b", "a", "b"}, "b,a"},
			{label.Replace, nil, ""},
		} {
			r.clock = r.clock.Add(time.Second)
			if err := r.SetLabels(r.alice, id, step.mode, step.labels); err != nil {
				t.Fatal(err)
			}
			if a, err := r.Find(r.alice, id); err != nil || strings.Join(a.Labels, ",") != step.want {
				t.Errorf("%s %v: %v, %v", step.mode, step.labels, a.Labels, err)
			}
		}
		r.observe(t, "e", 2, web("login.example.com", 443, "Log in again"))
		if a, _ := r.Find(r.alice, id); len(a.Labels) > 0 {
			t.Errorf("a label that was taken off came back: %v", a.Labels)
		}
		n, later, err := r.LabelAll(r.alice, Filters{Host: "*.example.com"}, label.Append, []string{"all"})
		if err != nil || n != 2 || later || r.list(t, Query{Filter: Filter{Labels: []string{"all"}}}).Total != 2 {
			t.Errorf("all: %d, %v, %v", n, later, err)
		}
		for _, labels := range [][]string{{""}, {"a,b"}, {"a\nb"}, {strings.Repeat("x", 65)}, make([]string, 101)} {
			wantParam(t, r.SetLabels(r.alice, id, label.Append, labels), "labels")
		}
		if err := r.SetLabels(r.viewer, id, label.Append, nil); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		if err := r.SetLabels(r.stranger, id, label.Append, nil); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		if n, _, err := r.LabelAll(r.stranger, Filters{}, label.Replace, nil); err != nil || n != 0 {
			t.Errorf("a stranger labels %d, %v", n, err)
		}
	})
}
