package scan

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/db/dbtest"
)

func TestNoticeIsNotSentTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"example.com"}})
		n := Notice{ScanID: s.ID, Run: 1, Event: "finished", ConfigID: "c", Provider: "slack", Body: []byte(`{"a":1}`)}
		if err := y.AddNotices(t.Context(), []Notice{n, n}); err != nil {
			t.Fatal(err)
		}
		all, err := y.FindNotices(y.alice, s.ID)
		if err != nil || len(all) != 1 || all[0].State != NoticeWaiting {
			t.Fatalf("%+v %v", all, err)
		}
		if _, err := y.FindNotices(y.stranger, s.ID); err == nil {
			t.Error("a stranger sees the notices")
		}
		start := func(want bool) {
			t.Helper()
			got, ok, err := y.StartNotice(t.Context(), all[0].ID)
			if err != nil || ok != want || ok && (got.TeamID != s.TeamID || got.Provider != "slack" || len(got.Body) == 0) {
				t.Errorf("%+v %v %v", got, ok, err)
			}
		}
		start(true)
		if err := y.EndNotice(t.Context(), nil, all[0].ID, NoticeWaiting, "try again"); err != nil {
			t.Fatal(err)
		}
		start(true) // the process dies here, and another takes the job
		start(false)
		if all, err = y.FindNotices(y.alice, s.ID); err != nil || all[0].State != NoticeFailed || all[0].Attempts != 2 || all[0].Note == "" {
			t.Errorf("%+v %v", all, err)
		}
	})
}
