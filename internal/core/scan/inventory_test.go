package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// see has a run of an enumeration see hosts.
func (y yard) see(t testing.TB, run int64, hosts ...string) {
	t.Helper()
	c, err := account.From(y.alice)
	if err != nil {
		t.Fatal(err)
	}
	seen := asset.Seen{TeamID: c.TeamID, EnumerationID: "e", Run: run, At: time.Now()}
	for _, host := range hosts {
		seen.Assets = append(seen.Assets, discover.Asset{Host: host, Port: 80, URL: "http://" + host + "/"})
	}
	if err := y.db.Tx(y.alice, func(tx *db.Tx) error {
		if err := y.assets.Register(y.alice, tx, asset.Enumeration{ID: "e", TeamID: c.TeamID, Name: "E"}); err != nil {
			return err
		}
		_, err := y.assets.Observe(y.alice, tx, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// planned are the targets of the chunks of a run.
func (y yard) planned(t testing.TB, id string, run int64) (targets []string) {
	t.Helper()
	parts, err := db.Select(y.alice, y.db, func(r db.Row) ([]string, error) {
		var part db.JSON[[]string]
		err := r.Scan(&part)
		return part.V, err
	}, `SELECT targets FROM scan_chunk WHERE scan_id = ? AND run = ? ORDER BY n`, id, run)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(parts...)
}

// A schedule launches a scan of the inventory: each run tests what is known when it begins, with the configuration of
// that moment, and a later asset or change is for the next run.
func TestScheduledScanFindsItsTargetsAtEachRun(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s, err := y.Create(y.alice, NewScan{ScheduleOnly: true, Config: Config{
			Inventory: Inventory{AllAssets: true}, Templates: []string{"git-config"}, AgentID: "first",
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := y.Schedules().Set(y.alice,
			schedule.Schedule{Subject: s.ID, Rule: schedule.Rule{Frequency: schedule.Hourly, Hours: 1}}); err != nil {
			t.Fatal(err)
		}
		due := time.Now()
		launch := func(run int64) {
			t.Helper()
			due = due.Add(3 * time.Hour)
			y.Scans.now = func() time.Time { return due }
			if err := y.Schedules().Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := y.now(t, s.ID); got.Run != run || got.Status != Queued {
				t.Fatalf("run %d is %s", got.Run, got.Status)
			}
			y.begin(t, s.ID)
		}
		launch(1)
		if got := y.now(t, s.ID); got.Status != Failed || !strings.Contains(got.FailureReason, "no assets") {
			t.Errorf("without assets it is %s: %q", got.Status, got.FailureReason)
		}
		y.see(t, 1, "a.example.com")
		launch(2)
		y.see(t, 2, "a.example.com", "b.example.com")
		if err := y.UpdateConfig(y.alice, s.ID, ConfigUpdate{AgentID: new("second")}, false); err != nil {
			t.Fatal(err)
		}
		chunk, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 2, 0})
		if err != nil || !slices.Equal(chunk.Targets, []string{"http://a.example.com/"}) || chunk.Config.AgentID != "first" {
			t.Errorf("%+v, %v", chunk, err)
		}
		if err := y.Stop(y.alice, s.ID); err != nil {
			t.Fatal(err)
		}
		launch(3)
		want := []string{"http://a.example.com/", "http://b.example.com/"}
		if got := y.planned(t, s.ID, 3); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if chunk, err = y.StartChunk(t.Context(), ChunkArgs{s.ID, 3, 0}); err != nil || chunk.Config.AgentID != "second" {
			t.Errorf("%+v, %v", chunk, err)
		}
	})
}

// A change that cannot be used names its field and changes nothing.
func TestRefusedInventoryChangesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		y.see(t, 1, "a.example.com")
		many := make([]string, maxSources+1)
		for i := range many {
			many[i] = fmt.Sprint("e", i)
		}
		s := y.create(t, Config{Inventory: Inventory{EnumerationIDs: []string{"e"}}})
		before := y.now(t, s.ID)
		for want, up := range map[string]ConfigUpdate{
			"enumeration_ids": {EnumerationIDs: []string{"x"}, AgentID: new("changed")},
			"assets_lists":    {AssetLists: many},
			"port":            {AssetFilters: &asset.Filters{Port: "many"}},
			"targets":         {EnumerationIDs: []string{}},
		} {
			err := y.UpdateConfig(y.alice, s.ID, up, true)
			if e := errs.From(err); !errs.Is(err, errs.Invalid) || e.Param != want {
				t.Errorf("%v is not about %s", err, want)
			}
		}
		after := y.now(t, s.ID)
		if !slices.Equal(after.Config.EnumerationIDs, before.Config.EnumerationIDs) || after.Config.AgentID != "" ||
			!after.UpdatedAt.Equal(before.UpdatedAt) {
			t.Errorf("%+v", after)
		}
	})
}
