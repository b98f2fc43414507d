package enumeration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// wantParam checks that an error is about a parameter.
func wantParam(t testing.TB, err error, param string) {
	t.Helper()
	if e := errs.From(err); err == nil || e.Kind != errs.Invalid || e.Param != param {
		t.Errorf("%v is not about %s", err, param)
	}
}

// TestGroups saves filters, and asks what they have.
func TestGroups(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		c, err := account.From(r.alice)
		if err != nil {
			t.Fatal(err)
		}
		viewed := c
		viewed.Role = account.Viewer
		viewer := account.WithCaller(context.Background(), viewed)
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			if err := r.assets.Register(t.Context(), tx, asset.Enumeration{ID: "e", TeamID: c.TeamID, Name: "E"}); err != nil {
				return err
			}
			_, err := r.assets.Observe(t.Context(), tx,
				asset.Seen{TeamID: c.TeamID, EnumerationID: "e", Run: 1, At: time.Now(), Assets: []discover.Asset{
					{Host: "a.example.com", Port: 443, Title: "A"}, {Host: "b.example.com", Port: 443, Title: "B"},
				}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		id, err := r.CreateGroup(r.alice, "", asset.Filters{Host: "a.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		total := func() int {
			group, err := r.FindListed(r.alice, id)
			if err != nil || group.Name == "" || group.Type != Group {
				t.Fatalf("the group: %+v, %v", group, err)
			}
			p, err := r.assets.List(r.alice,
				asset.Query{In: id, Filter: asset.Filter{Ports: []int64{443}}, Window: page.Window{Limit: 9}})
			if err != nil || group.Totals.Assets != p.Total {
				t.Errorf("%d assets are counted, and %d listed, %v", group.Totals.Assets, p.Total, err)
			}
			return p.Total
		}
		if n := total(); n != 1 {
			t.Errorf("the group has %d", n)
		}
		if err := r.UpdateGroup(r.alice, id, "Both", asset.Filters{Host: "b.example.com"}, false); err != nil ||
			total() != 2 {
			t.Errorf("appended: %v", err)
		}
		if err := r.UpdateGroup(r.alice, id, "", asset.Filters{Title: "b"}, true); err != nil || total() != 1 {
			t.Errorf("replaced: %v", err)
		}
		_, err = r.CreateGroup(r.alice, "g", asset.Filters{})
		wantParam(t, err, "filters")
		_, err = r.CreateGroup(r.alice, "g", asset.Filters{Port: "x"})
		wantParam(t, err, "port")
		_, err = r.CreateGroup(r.alice, strings.Repeat("x", 201), asset.Filters{Port: "1"})
		wantParam(t, err, "name")
		if _, err = r.CreateGroup(viewer, "g", asset.Filters{Port: "1"}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		for name, err := range map[string]error{"update": r.UpdateGroup(r.stranger, id, "x", asset.Filters{Port: "1"}, true),
			"delete": r.DeleteGroup(r.stranger, id)} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if _, err := r.assets.NarrowTo(r.stranger, id); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		if err := r.DeleteGroup(r.alice, id); err != nil {
			t.Fatal(err)
		}
		if _, err := r.assets.NarrowTo(r.alice, id); !errs.Is(err, errs.NotFound) {
			t.Errorf("a deleted group: %v", err)
		}
	})
}
