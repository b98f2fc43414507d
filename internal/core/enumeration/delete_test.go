package enumeration

import (
	"context"
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// rows is how many rows of an enumeration all tables have.
func (y yard) rows(t *testing.T, id string) (n int) {
	t.Helper()
	for _, table := range []string{"enumeration_config", "enumeration_run", "enumeration_chunk", "enumeration_name",
		"enumeration_source", "enumeration_event", "enumeration_schedule", "asset", "asset_doc"} {
		var some int
		where := ` WHERE enumeration_id = ?`
		if table == "asset_doc" {
			where = ` WHERE no IN (SELECT no FROM asset` + where + `)`
		}
		must(t, y.db.QueryRow(t.Context(), `SELECT count(*) FROM `+table+where, id).Scan(&some))
		n += some
	}
	return n
}

// TestDeletedWhileAtWork: an enumeration that is deleted while it is worked on is found by
// nobody from then on, can be changed by nothing, and leaves no row.
func TestDeletedWhileAtWork(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		c := Config{RootDomains: []string{"example.com"}, AutomaticScans: true}
		stays := y.create(t, c)
		e := y.create(t, c)
		_, err := y.Schedules().Set(y.alice,
			schedule.Schedule{Subject: e.ID, Rule: schedule.Rule{Frequency: "daily", StartTime: "03:00"}})
		must(t, err)
		must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1}))
		e = y.now(t, e.ID)
		chunk := y.start(t, e, 0)
		must(t, chunk.AddHosts(t.Context(), hosts(0, 120)))
		must(t, chunk.Store(t.Context(), assets(hosts(0, 3))))
		before := y.rows(t, stays.ID)

		must(t, y.Delete(y.alice, []string{e.ID}, "asset_ids"))
		if err := y.Delete(y.alice, []string{e.ID}, "asset_ids"); !errs.Is(err, errs.NotFound) {
			t.Errorf("deleted twice: %v", err)
		}
		if _, err := y.Rescan(y.alice, e.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("launched: %v", err)
		}
		if err := y.Rename(y.alice, e.ID, "x"); !errs.Is(err, errs.NotFound) {
			t.Errorf("renamed: %v", err)
		}
		// by somebody who had found it
		must(t, d.Tx(t.Context(), func(tx *db.Tx) error { return y.rename(t.Context(), tx, e, "x") }))
		if err := chunk.Store(t.Context(), assets(hosts(5, 6))); !errors.Is(err, ErrLate) {
			t.Errorf("a chunk writes: %v", err)
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return y.runs().Launch(t.Context(), tx, e.ID) }); !errs.Is(err,
			errs.Conflict) {
			t.Errorf("launched by a schedule: %v", err)
		}
		list, total, err := y.FindAll(y.alice, Filter{}, nil, page.Window{Limit: 10})
		if err != nil || total != 1 || len(list) != 1 || list[0].ID != stays.ID {
			t.Errorf("%d are listed, %v", total, err)
		}
		if _, ok, err := y.FindRunState(t.Context(), AlertArgs{e.ID, 1, Stopped}); ok || err != nil {
			t.Errorf("told of: %v %v", ok, err)
		}
		if schedules, err := y.Schedules().FindAll(y.alice); err != nil || len(schedules) != 0 {
			t.Errorf("%+v %v", schedules, err)
		}

		ended, end := context.WithCancel(t.Context())
		end()
		if err := y.Purge(ended, PurgeArgs{e.ID, e.TeamID}); err == nil {
			t.Error("it went on after its end")
		}
		for _, id := range []string{e.ID, e.ID, stays.ID} { // the last is there: it stays
			must(t, y.Purge(t.Context(), PurgeArgs{id, e.TeamID}))
		}
		if n := y.rows(t, e.ID); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if n := y.rows(t, stays.ID); n != before {
			t.Errorf("%d rows of another, there were %d", n, before)
		}
	})
}

// TestRunIsScannedOnce: of a run that ended well one scan is made; its job may come again.
func TestRunIsScannedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		e := y.create(t, Config{Inputs: []string{"192.0.2.0/30"}, AutomaticScans: true})
		args := ScanArgs{e.ID, 1}
		y.run(t, e.ID, 1, 40)
		if got, ok, err := y.FindUnscanned(t.Context(), args); err != nil || !ok || got.ID != e.ID {
			t.Fatalf("%+v %v %v", got, ok, err)
		}
		note := func(id string) error {
			return d.Tx(t.Context(), func(tx *db.Tx) error { return y.NoteScan(t.Context(), tx, args, id, "it is scanned") })
		}
		must(t, note("one"))
		if err := note("two"); !errors.Is(err, ErrLate) {
			t.Errorf("scanned twice: %v", err)
		}
		if _, ok, err := y.FindUnscanned(t.Context(), args); ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		events, total, err := y.FindEvents(y.alice, e.ID, 1, page.Window{Limit: 10})
		if err != nil || total != 1 || events[0].Kind != EventScan || events[0].Subject != "one" {
			t.Errorf("%+v %v", events, err)
		}
	})
}
