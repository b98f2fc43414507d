package task

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestGaps: what could not be confirmed is counted, and a stranger's task is missing.
func TestGaps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		run := b.mustStart(t, made.ID)
		verified(t, run, "http://h/a")
		if _, err := run.StoreMatch(t.Context(), "http://h", event("http://h/b")); err != nil {
			t.Fatal(err)
		}
		g, err := b.FindGaps(b.alice, made.ID)
		if err != nil || g.Unconfirmed != 1 || g.Denied != 0 || len(g.Steps) != 0 {
			t.Errorf("%+v, %v", g, err)
		}
		if _, err := b.FindGaps(b.stranger, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}
