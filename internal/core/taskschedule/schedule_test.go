package taskschedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// bench is a team with a user on one database, and several nodes with a clock in common.
type bench struct {
	d        *db.DB
	accounts *account.Accounts
	tasks    *task.Tasks
	nodes    []*Schedules
	now      time.Time
	alice    context.Context
	bob      context.Context // of the same team
}

func setUp(t *testing.T, d *db.DB) *bench {
	t.Helper()
	ctx, logger := t.Context(), slog.New(slog.DiscardHandler)
	accounts, err := account.Open(ctx, d, account.Config{Region: "us"})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(ctx, d, queue.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{d: d, accounts: accounts, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.tasks = task.New(d, q, accounts, hook.New(d, &netguard.Guard{}, logger), finding.New(d, q), logger)
	b.alice, b.bob = b.user(t, "alice"), b.user(t, "bob")
	b.restart(2, 0)
	return b
}

func (b *bench) user(t *testing.T, name string) context.Context {
	t.Helper()
	u, err := b.accounts.CreateUser(t.Context(), account.NewUser{Email: name + "@example.com", Team: "blue"})
	if err != nil {
		t.Fatal(err)
	}
	return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: account.Admin})
}

// restart replaces all nodes. The clock of each is ahead of that of the node before.
func (b *bench) restart(n int, skew time.Duration) {
	b.nodes = nil
	for i := range n {
		ss := New(b.d, b.tasks, b.accounts, slog.New(slog.DiscardHandler))
		ss.now = func() time.Time { return b.now.Add(time.Duration(i) * skew) }
		b.nodes = append(b.nodes, ss)
	}
}

func (b *bench) create(t interface{ Fatal(...any) }, r Request) Schedule {
	r.Instruction = "check http://127.0.0.1:9/"
	s, err := b.nodes[0].Create(b.alice, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sweep lets all nodes look at once, and ends the tasks that were made, so that they do not keep the next from being made.
func (b *bench) sweep(t interface{ Fatal(...any) }) {
	var wait sync.WaitGroup
	failed := make([]error, len(b.nodes))
	for i, node := range b.nodes {
		wait.Go(func() { failed[i] = node.Sweep(context.Background()) })
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) endTasks(t interface{ Fatal(...any) }) {
	if _, err := b.d.Exec(context.Background(), `UPDATE task_stream SET status = 'completed'`); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) history(t interface{ Fatal(...any) }, id string) []Execution {
	found, _, err := b.nodes[0].History(b.alice, id, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestEveryDueTimeOnce: whatever rule, zone and clocks, however long the server stood still, whichever of several nodes
// looks, also when they are replaced, when their clocks are not the same, and when one is set back: each time that the rule
// names has one execution, and each task one of these. A schedule for one time has one.
func TestEveryDueTimeOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		rapid.Check(t, func(t *rapid.T) {
			b.now = time.Unix(rapid.Int64Range(1_500_000_000, 1_800_000_000).Draw(t, "now"), 0).UTC()
			b.restart(2, 0)
			began := b.now
			r, next := drawRequest(t, began)
			s := b.create(t, r)
			swept := began // the latest time that a node saw when it looked
			for range rapid.IntRange(1, 8).Draw(t, "steps") {
				b.now = b.now.Add(time.Duration(rapid.IntRange(-90, 60*24*9).Draw(t, "minutes")) * time.Minute)
				if rapid.Bool().Draw(t, "restart") {
					b.restart(rapid.IntRange(1, 3).Draw(t, "nodes"), time.Duration(rapid.IntRange(0, 1800).Draw(t, "skew"))*time.Second)
				}
				if rapid.IntRange(0, 3).Draw(t, "awake") > 0 {
					b.sweep(t)
					for _, node := range b.nodes {
						if now := node.now(); now.After(swept) {
							swept = now
						}
					}
				}
				if rapid.Bool().Draw(t, "end") {
					b.endTasks(t)
				}
			}
			want := map[time.Time]bool{}
			for at := next(began); !at.IsZero() && !at.After(swept); at = next(at) {
				want[at] = true
			}
			b.carriedOut(t, s.ID, want)
			if err := b.nodes[0].Delete(b.alice, s.ID); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// drawRequest is a schedule, and when it comes due after a time; zero: never.
func drawRequest(t *rapid.T, began time.Time) (r Request, next func(time.Time) time.Time) {
	if rapid.IntRange(0, 3).Draw(t, "once") == 0 {
		minutes := rapid.IntRange(1, 60*24*20).Draw(t, "in")
		once := began.Add(time.Duration(minutes) * time.Minute)
		return Request{Type: OneTime, RunAt: fmt.Sprintf("%dm", minutes)}, func(after time.Time) time.Time {
			if after.Before(once) {
				return once
			}
			return time.Time{}
		}
	}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"}
	rule := schedule.Rule{
		Frequency: rapid.SampledFrom([]schedule.Frequency{schedule.Daily, schedule.Weekly, schedule.Monthly, schedule.Custom}).
			Draw(t, "frequency"),
		StartTime: fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(t, "hour"), rapid.SampledFrom([]int{0, 30, 59}).Draw(t, "minute")),
		TimeZone:  rapid.SampledFrom(zones).Draw(t, "zone"), Weekdays: []int{rapid.IntRange(0, 6).Draw(t, "weekday")},
	}
	set := rule
	set.SetAt = began
	return Request{Type: Recurring, Rule: rule}, func(after time.Time) time.Time {
		at, err := set.Next(after)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
}

// carriedOut checks that each of some times has one execution, nothing else has one, and each task is of one.
func (b *bench) carriedOut(t *rapid.T, id string, want map[time.Time]bool) {
	tasks := map[string]bool{}
	for _, e := range b.history(t, id) {
		if !want[e.DueAt] {
			t.Fatalf("%v was carried out twice, or not due: %+v", e.DueAt, e)
		}
		delete(want, e.DueAt)
		if e.Status == Started == (e.TaskID == "") || tasks[e.TaskID] && e.TaskID != "" {
			t.Fatalf("%+v", e)
		}
		tasks[e.TaskID] = true
	}
	if len(want) > 0 {
		t.Fatalf("never carried out: %v", want)
	}
	delete(tasks, "")
	made, err := db.Value[int](context.Background(), b.d, `SELECT count(*) FROM task WHERE schedule_id = ?`, id)
	if err != nil || made != len(tasks) {
		t.Fatalf("%d tasks of %d executions, %v", made, len(tasks), err)
	}
}

func TestOneTimePauseAndRunNow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		ss := b.nodes[0]
		s := b.create(t, Request{Type: OneTime, RunAt: "2h", Options: task.Options{Secrets: []string{"TOKEN"}}})
		if want := b.now.Add(2 * time.Hour); !s.NextRun.Equal(want) {
			t.Errorf("%v, want %v", s.NextRun, want)
		}
		b.now = b.now.Add(time.Hour)
		if s, err := ss.Pause(b.alice, s.ID); err != nil || s.Status != Paused {
			t.Error(s, err)
		}
		b.now = b.now.Add(2 * time.Hour)
		b.sweep(t)
		if got := b.history(t, s.ID); len(got) != 0 {
			t.Errorf("a paused one is carried out: %+v", got)
		}
		if _, err := ss.Resume(b.alice, s.ID); !errs.Is(err, errs.Conflict) {
			t.Error(err)
		}
		if e, err := ss.RunNow(b.alice, s.ID); err != nil || e.TaskID == "" || !e.Manual {
			t.Error(e, err)
		}
		if _, err := ss.RunNow(b.alice, s.ID); !errs.Is(err, errs.Conflict) {
			t.Errorf("run although the task before has not ended: %v", err)
		}
		b.endTasks(t)
		at := "9:15PM"
		none := func(*task.Options) {}
		if s, err := ss.Update(b.alice, s.ID, Update{RunAt: &at, Options: none}); err != nil || s.NextRun.Format("15:04") != "21:15" {
			t.Error(s.NextRun, err)
		}
		if _, err := ss.Resume(b.alice, s.ID); err != nil {
			t.Error(err)
		}
		b.now = b.now.Add(24 * time.Hour)
		b.sweep(t)
		b.sweep(t)
		got, err := ss.Find(b.alice, s.ID)
		if err != nil || got.Status != Completed || !got.NextRun.IsZero() || got.Runs != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		e := b.history(t, s.ID)[0]
		made, err := b.tasks.Find(b.alice, e.TaskID)
		if err != nil || made.ScheduleID != s.ID || made.Options.Secrets[0] != "TOKEN" {
			t.Errorf("%+v, %v", made, err)
		}
		if _, err := ss.Find(b.bob, s.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("another member finds it: %v", err)
		}
		if err := ss.Delete(b.bob, s.ID); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
	})
}

func TestNoTaskForThoseWhoLeft(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		s := b.create(t, Request{Type: Recurring, Rule: schedule.Rule{Frequency: schedule.Daily, StartTime: "13:00"}})
		if err := b.accounts.SetDisabled(t.Context(), "alice@example.com", true); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(2 * time.Hour)
		b.sweep(t)
		if got := b.history(t, s.ID); len(got) != 1 || got[0].Status != Failed || got[0].TaskID != "" || got[0].Note == "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	b := setUp(t, d)
	daily := schedule.Rule{Frequency: schedule.Daily}
	for param, r := range map[string]Request{
		"task_message":    {Type: Recurring, Rule: daily, Instruction: " "},
		"schedule_type":   {Rule: daily, Instruction: "x"},
		"scan_frequency":  {Type: Recurring, Instruction: "x"},
		"run_at":          {Type: OneTime, Instruction: "x", RunAt: "soon"},
		"custom_weekdays": {Type: Recurring, Instruction: "x", Rule: schedule.Rule{Frequency: schedule.Custom}},
		"time_zone":       {Type: Recurring, Instruction: "x", Rule: schedule.Rule{Frequency: schedule.Daily, TimeZone: "Mars/Base"}},
		"source_task_id":  {Type: Recurring, Instruction: "x", Rule: daily, SourceTaskID: "nobody's"},
		"metadata":        {Type: Recurring, Instruction: "x", Rule: daily, Metadata: make([]byte, maxMetadata+1)},
	} {
		if _, err := b.nodes[0].Create(b.alice, r); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"5m": "2026-05-01T12:05:00Z", "1h": "2026-05-01T13:00:00Z", "2d": "2026-05-03T12:00:00Z", "14:30": "2026-05-01T12:30:00Z",
		"3:00PM": "2026-05-01T13:00:00Z", "3 pm": "2026-05-01T13:00:00Z", "13:59": "2026-05-02T11:59:00Z",
		"2026-06-01T00:00:00+02:00": "2026-05-31T22:00:00Z", "": "", "0m": "", "-1h": "", "2020-01-01T00:00:00Z": "", "99999d": "",
		"25:00": "", "tomorrow": "",
	} {
		at, err := parseMoment(text, "Europe/Berlin", now)
		if got := at.Format(time.RFC3339); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
