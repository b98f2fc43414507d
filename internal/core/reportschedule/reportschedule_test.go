package reportschedule

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var weekly = Spec{Format: export.CSV, KeepDays: 30, Found: "last_week",
	Rule: Rule{Frequency: schedule.Weekly, Weekday: 1, StartTime: "07:00", TimeZone: "Europe/Berlin"}}

// open makes the service with a clock that a test moves, a Saturday, and its user.
func open(t *testing.T, d *db.DB) (ss *Schedules, clock *time.Time, ctx context.Context) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	exports := export.New(d, q, export.Sources{Findings: finding.New(d, q)}, slog.New(slog.DiscardHandler))
	ss = New(d, q, accounts, exports, setting.New(d, nil, nil), notification.New(d, q), slog.New(slog.DiscardHandler))
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ss.now = func() time.Time { return at }
	c := account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: u.Role}
	return ss, &at, account.WithCaller(t.Context(), c)
}

func (ss *Schedules) made(t *testing.T, ctx context.Context, id string) []export.Export {
	t.Helper()
	found, _, err := ss.exports.FindAll(ctx, "", id, page.Window{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each time makes one report, however often and wherever is looked; what was missed is one, too.
func TestSweepMakesOneReport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, clock, ctx := open(t, d)
		s, err := ss.Create(ctx, " Weekly ", true, weekly)
		if err != nil || s.Name != "Weekly" || s.NextRun.Format(time.RFC3339) != "2026-11-30T06:00:00Z" {
			t.Fatalf("%+v %v", s, err)
		}
		if err := ss.Sweep(ctx); err != nil || len(ss.made(t, ctx, s.ID)) != 0 {
			t.Fatalf("made before its time: %v", err)
		}
		*clock = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC) // three weeks were missed
		for range 2 {
			if err := ss.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		made := ss.made(t, ctx, s.ID)
		if len(made) != 1 || made[0].Name != "Weekly" || made[0].Format != export.CSV || made[0].ScheduleRun != 1 ||
			made[0].ExpiresAt.Sub(made[0].CreatedAt) != 30*24*time.Hour {
			t.Fatalf("%+v", made)
		}
		filter, err := db.Value[string](ctx, d, `SELECT CAST(filter AS TEXT) FROM export WHERE id = ?`, made[0].ID)
		if err != nil || !strings.Contains(filter, "2026-12-13T00:00:00Z") { // a week before the report
			t.Fatalf("%s %v", filter, err)
		}
		s, err = ss.Find(ctx, s.ID)
		if err != nil || s.Runs != 1 || s.ExportID != made[0].ID || s.State != export.Queued || s.Note != "" ||
			s.NextRun.Format(time.RFC3339) != "2026-12-21T06:00:00Z" {
			t.Fatalf("%+v %v", s, err)
		}
		if e, err := ss.RunNow(ctx, s.ID); err != nil || e.ScheduleRun != 2 {
			t.Fatalf("%+v %v", e, err)
		}
		if s, err = ss.Replace(ctx, s.ID, s.Name, false, s.Spec); err != nil || !s.NextRun.IsZero() {
			t.Fatalf("off, and due at %v: %v", s.NextRun, err)
		}
		*clock = clock.AddDate(1, 0, 0)
		if err := ss.Sweep(ctx); err != nil || len(ss.made(t, ctx, s.ID)) != 2 {
			t.Fatalf("made while it is off: %v", err)
		}
	})
}

// Who set a schedule and may not export any more has no report, and the schedule says why; the next one is tried again.
func TestWithoutRightsNoReport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, clock, ctx := open(t, d)
		s, err := ss.Create(ctx, "Weekly", true, weekly)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, `UPDATE report_schedule SET user_id = 'nobody'`); err != nil {
			t.Fatal(err)
		}
		*clock = clock.AddDate(0, 0, 7)
		if err := ss.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		s, err = ss.Find(ctx, s.ID)
		if err != nil || s.Note == "" || s.ExportID != "" || !s.NextRun.After(*clock) ||
			len(ss.made(t, ctx, s.ID)) != 0 {
			t.Fatalf("%+v %v", s, err)
		}
		// The team is told of what nobody sees, once; who asks by hand has the answer.
		told := func() int {
			n, err := db.Value[int](ctx, d, `SELECT count(*) FROM river_job WHERE kind = ?`, FailedArgs{}.Kind())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := told(); n != 1 {
			t.Errorf("told %d times", n)
		}
		if got, run, ok, err := ss.Failed(ctx, FailedArgs{ScheduleID: s.ID, Run: 1}); err != nil || !ok || run != 1 ||
			got.Name != "Weekly" {
			t.Errorf("%+v %d %v %v", got, run, ok, err)
		}
		if _, err := ss.RunNow(ctx, s.ID); !errs.Is(err, errs.Conflict) {
			t.Fatalf("run by hand: %v", err)
		}
		if n := told(); n != 1 {
			t.Errorf("told %d times after the run by hand", n)
		}
		if _, _, ok, err := ss.Failed(ctx, FailedArgs{ScheduleID: "gone"}); ok || err != nil {
			t.Errorf("of a deleted schedule: %v %v", ok, err)
		}
	})
}

// A file that could not be written is told of when a schedule asked for it, and not when a person did.
func TestGivenUpIsTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, _, ctx := open(t, d)
		s, err := ss.Create(ctx, "Weekly", true, weekly)
		if err != nil {
			t.Fatal(err)
		}
		e, err := ss.RunNow(ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		own, err := ss.exports.Start(ctx, export.Request{Format: export.CSV})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{e.ID, e.ID, own.ID} {
			if err := d.Tx(ctx, func(tx *db.Tx) error { return ss.GiveUp(ctx, tx, id) }); err != nil {
				t.Fatal(err)
			}
		}
		n, err := db.Value[int](ctx, d, `SELECT count(*) FROM river_job WHERE kind = ?`, FailedArgs{}.Kind())
		if err != nil || n != 1 {
			t.Errorf("told %d times: %v", n, err)
		}
		if got, run, ok, err := ss.Failed(ctx, FailedArgs{ScheduleID: s.ID, ExportID: e.ID}); err != nil || !ok || run != 1 ||
			got.State != export.Failed {
			t.Errorf("%+v %d %v %v", got, run, ok, err)
		}
	})
}

func TestRule(t *testing.T) {
	after := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule Rule
		want string // the next time, or the field that is wrong
	}{
		{Rule{Frequency: schedule.Weekly, Weekday: 6, StartTime: "11:00"}, "2026-12-05T11:00:00Z"},
		{Rule{Frequency: schedule.Weekly, Weekday: 6, StartTime: "13:00"}, "2026-11-28T13:00:00Z"},
		{Rule{Frequency: schedule.Monthly, Day: 1, StartTime: "00:30", TimeZone: "Pacific/Auckland"}, "2026-11-30T11:30:00Z"},
		{Rule{Frequency: schedule.Monthly, Day: 28, StartTime: "06:00", TimeZone: "America/New_York"},
			"2026-12-28T11:00:00Z"},
		{Rule{Frequency: schedule.Weekly, Weekday: 7, StartTime: "11:00"}, "weekday"},
		{Rule{Frequency: schedule.Monthly, Day: 29, StartTime: "11:00"}, "day"},
		{Rule{Frequency: schedule.Monthly, Day: 1}, "start_time"},
		{Rule{Frequency: schedule.Monthly, Day: 1, StartTime: "25:00"}, "start_time"},
		{Rule{Frequency: schedule.Monthly, Day: 1, StartTime: "11:00", TimeZone: "Mars/Base"}, "time_zone"},
		{Rule{Frequency: schedule.Daily, StartTime: "11:00"}, "frequency"},
	} {
		at, err := c.rule.Next(after)
		got := at.Format(time.RFC3339)
		if err != nil {
			got = errs.From(err).Param
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.rule, got, c.want)
		}
	}
}
