package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// bench is the service of tasks with two users of one team and a stranger.
type bench struct {
	*Tasks
	db                   *db.DB
	accounts             *account.Accounts
	alice, bob, stranger context.Context
}

func setUp(t *testing.T, d *db.DB) bench {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{Tasks: New(d, q, accounts, hook.New(d, &netguard.Guard{}, nil), finding.New(d, q), nil), db: d, accounts: accounts}
	for _, u := range []struct {
		ctx         *context.Context
		email, team string
	}{{&b.alice, "alice@example.com", "blue"}, {&b.bob, "bob@example.com", "blue"}, {&b.stranger, "eve@example.com", ""}} {
		user, err := accounts.CreateUser(t.Context(), account.NewUser{Email: u.email, Team: u.team, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*u.ctx = account.WithCaller(t.Context(),
			account.Caller{UserID: user.ID, Email: user.Email, TeamID: user.TeamID, Role: user.Role})
	}
	return b
}

func (b bench) mustCreate(t *testing.T, n NewTask) Task {
	t.Helper()
	if n.Instruction == "" {
		n.Instruction = "look at http://127.0.0.1"
	}
	task, err := b.Create(b.alice, n)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func (b bench) mustStart(t *testing.T, id string) *Run {
	t.Helper()
	run, err := b.Start(t.Context(), RunArgs{TaskID: id})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func event(at string) engine.Event {
	return engine.Event{
		TemplateID: "t", MatchedAt: at, Host: "h", Request: "GET /", Response: "\xff\x00body", Timestamp: time.Now().UTC(),
		Info: syntax.Info{Name: "Something", Severity: "high", Description: "d", Remediation: "r"},
	}
}

// verified makes a verified issue.
func verified(t *testing.T, run *Run, at string) {
	t.Helper()
	if _, err := run.StoreMatch(t.Context(), "http://h", event(at)); err != nil {
		t.Fatal(err)
	}
	unchecked, err := run.PendingIssues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range unchecked {
		if err := run.Confirm(t.Context(), i, Confirmation{Last: event(at), Confirmed: 1, Tried: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStatesOnlyMoveForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := Queued
		ended := false
		for _, next := range rapid.SliceOf(rapid.SampledFrom(Statuses)).Draw(t, "moves") {
			if !moves.Allow(now, next) {
				continue
			}
			if ended || next == Queued {
				t.Fatalf("%s may become %s", now, next)
			}
			now, ended = next, next.Final()
		}
	})
}

func TestTaskAndJobAreWrittenTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		if _, err := b.Create(b.alice, NewTask{ID: made.ID, Instruction: "again"}); !errs.Is(err, errs.Conflict) {
			t.Errorf("a second task with the id: %v", err)
		}
		var jobs int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&jobs); err != nil || jobs != 1 {
			t.Errorf("%d jobs, %v; want that of the first task alone", jobs, err)
		}
	})
}

func TestLateRunWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{Delivery: Artifact})
		late := b.mustStart(t, made.ID)
		now := b.mustStart(t, made.ID)
		ctx := t.Context()
		_, foundErr := late.StoreMatch(ctx, "http://h", event("http://h/a"))
		for name, err := range map[string]error{
			"Found":    foundErr,
			"SetPlan":  late.SetPlan(ctx, agent.Plan{}),
			"Progress": late.addEvent(ctx, EventProgress, agent.Update{}),
			"Begin":    late.Steps().Begin(ctx, agent.Step{Seq: 1, Tool: "probe", Input: json.RawMessage("{}")}),
			"End":      late.Steps().End(ctx, agent.Done{Seq: 1}),
			"Finish":   late.Finish(ctx, Outcome{Status: Completed}),
		} {
			if !errors.Is(err, ErrLate) {
				t.Errorf("%s of a late run: %v", name, err)
			}
		}
		verified(t, now, "http://h/b")
		if err := now.Finish(ctx, Outcome{Status: Completed, Summary: "done"}); err != nil {
			t.Fatal(err)
		}
		if _, err := now.StoreMatch(ctx, "http://h", event("http://h/c")); !errors.Is(err, ErrLate) {
			t.Errorf("a finding after the end: %v", err)
		}
		if _, err := b.Start(ctx, RunArgs{TaskID: made.ID}); !errors.Is(err, ErrLate) {
			t.Errorf("a start after the end: %v", err)
		}
		doc, err := b.FindArtifact(b.alice, made.ID, false)
		if err != nil || doc.IssueCount != 1 || len(doc.Findings) != 1 || len(doc.Findings[0].Evidence) != 2 {
			t.Errorf("artifact %+v, %v", doc, err)
		}
	})
}

func TestFindingSeenTwiceIsOneIssue(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		first := b.mustStart(t, made.ID)
		verified(t, first, "http://h/a")
		second := b.mustStart(t, made.ID)
		verified(t, second, "http://h/a")
		verified(t, second, "http://h/b")
		issues, total, err := b.FindIssues(b.bob, IssueFilter{TaskID: made.ID, Limit: 10})
		if err != nil || total != 2 || len(issues) != 2 {
			t.Errorf("%d of %d issues, %v", len(issues), total, err)
		}
		if hidden, total, err := b.FindIssues(b.stranger,
			IssueFilter{TaskID: made.ID, Unverified: true, Limit: 10}); err != nil || total != 0 || len(hidden) != 0 {
			t.Errorf("a stranger sees %d issues, %v", total, err)
		}
	})
}

func TestRefreshShowsWhatPeopleDecided(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{Delivery: Artifact})
		run := b.mustStart(t, made.ID)
		for _, at := range []string{"http://h/a", "http://h/b", "http://h/c"} {
			verified(t, run, at)
		}
		if _, err := b.FindArtifact(b.alice, made.ID, true); !errs.Is(err, errs.NotFound) {
			t.Errorf("the artifact of a running task: %v", err)
		}
		if err := run.Conclude(t.Context(), Ending{Status: Completed, Opening: "I looked.", Requests: 7}); err != nil {
			t.Fatal(err)
		}
		issues, _, err := b.FindIssues(b.alice, IssueFilter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		no, low := FalsePositive, "low"
		if _, err := b.UpdateIssue(b.bob, issues[0].ID, IssueUpdate{Status: &no}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.UpdateIssue(b.bob, issues[1].ID, IssueUpdate{Severity: &low}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.UpdateIssue(b.stranger, issues[2].ID, IssueUpdate{Severity: &low}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's update: %v", err)
		}
		before := "I looked.\n3 verified findings: 3 high.\nRequests sent to targets: 7, all of them in scope."
		after := "I looked.\n2 verified findings: 1 high, 1 low.\nNot reported, because a person marked it as a false " +
			"positive: 1.\nRequests sent to targets: 7, all of them in scope."
		check := func(who context.Context, refresh bool, want, summary string) {
			t.Helper()
			doc, err := b.FindArtifact(who, made.ID, refresh)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range doc.Findings {
				got = append(got, f.Severity)
			}
			if fmt.Sprint(got) != want || doc.IssueCount != len(got) || doc.Summary != summary || doc.Status != Completed ||
				doc.StreamID != made.StreamID || doc.CompletionDelivery != Artifact || doc.CompletedAt.IsZero() {
				t.Errorf("refresh %v: %v, want %s\n%+v", refresh, got, want, doc)
			}
		}
		viewer, _ := account.From(b.bob)
		viewer.Role = account.Viewer
		check(b.alice, false, "[high high high]", before)
		check(account.WithCaller(t.Context(), viewer), true, "[high low]", after)
		check(b.alice, false, "[high high high]", before) // a viewer stores nothing
		check(b.alice, true, "[high low]", after)
		check(b.alice, false, "[high low]", after)

		b.mustCreate(t, NewTask{ID: made.ID, Instruction: "look again"})
		check(b.alice, false, "[high low]", after) // a later turn waits
		again := b.mustStart(t, made.ID)
		if _, err := b.UpdateIssue(b.bob, issues[2].ID, IssueUpdate{Severity: &low}); err != nil {
			t.Fatal(err)
		}
		check(b.alice, true, "[low low]", strings.Replace(after, "1 high, 1 low", "2 low", 1)) // and runs
		if err := again.Conclude(t.Context(), Ending{Status: Failed, Opening: "Again."}); err != nil {
			t.Fatal(err)
		}
		if doc, err := b.FindArtifact(b.alice, made.ID, false); err != nil || doc.Status != Failed ||
			doc.StreamID == made.StreamID || !strings.HasPrefix(doc.Summary, "Again.\n2 verified findings: 2 low.") {
			t.Errorf("%+v, %v", doc, err)
		}
	})
}

func TestAbortOfAWaitingTaskEndsItAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{Delivery: Artifact})
		if _, err := b.Abort(b.stranger, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's abort: %v", err)
		}
		for range 2 {
			got, err := b.Abort(b.bob, made.ID)
			if err != nil || got.Status != Aborted {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if _, err := b.Start(t.Context(), RunArgs{TaskID: made.ID}); !errors.Is(err, ErrLate) {
			t.Errorf("a start after the abort: %v", err)
		}
		doc, err := b.FindArtifact(b.alice, made.ID, false)
		if err != nil || doc.Status != Aborted {
			t.Errorf("artifact %+v, %v", doc, err)
		}
	})
}

// TestTasksOfADisabledUserStop: also one that runs, as their own Abort would; those of others go on.
func TestTasksOfADisabledUserStop(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		queued, running := b.mustCreate(t, NewTask{}), b.mustCreate(t, NewTask{})
		b.mustStart(t, running.ID)
		others, err := b.Create(b.bob, NewTask{Instruction: "check http://192.0.2.1/"})
		if err != nil {
			t.Fatal(err)
		}
		statuses := func() string {
			var all []Status
			for _, id := range []string{queued.ID, running.ID, others.ID} {
				got, err := b.Find(b.bob, id)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, got.Status)
			}
			return fmt.Sprint(all)
		}
		stop := func(want string) {
			t.Helper()
			for range 2 {
				if err := b.StopOfDisabled(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := statuses(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		stop("[queued running queued]")
		alice, err := account.From(b.alice)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE user_account SET disabled_at = 1 WHERE id = ?`, alice.UserID); err != nil {
			t.Fatal(err)
		}
		stop("[aborted running queued]")
		cancelled, err := db.Value[bool](t.Context(), d, `SELECT CAST(metadata AS TEXT) LIKE '%cancel%' OR state = 'cancelled' FROM river_job
			WHERE id = (SELECT job_id FROM task_stream WHERE task_id = ?)`, running.ID)
		if err != nil || !cancelled {
			t.Errorf("the running one is not told to stop: %v", err)
		}
	})
}

func TestGivenUpTaskHasFailed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		b.mustStart(t, made.ID)
		for range 2 { // the second changes nothing
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return b.GiveUp(t.Context(), tx, RunArgs{TaskID: made.ID},
					"it could not")
			}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := b.Find(b.alice, made.ID)
		if err != nil || got.Status != Failed || got.Summary != "it could not" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestWebhookGetsTheStoredArtifactWithItsEvent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		url := "https://hooks.example.com/in"
		if _, err := b.accounts.UpdateTeam(b.alice, account.TeamUpdate{WebhookURL: &url}); err != nil {
			t.Fatal(err)
		}
		for delivery, want := range map[Delivery]int{NoDelivery: 0, Artifact: 0, Webhook: 1} {
			made := b.mustCreate(t, NewTask{Delivery: delivery})
			run := b.mustStart(t, made.ID)
			verified(t, run, "http://h/a")
			if err := run.Finish(t.Context(), Outcome{Status: Completed, Summary: "s"}); err != nil {
				t.Fatal(err)
			}
			rows, err := d.Query(t.Context(), `SELECT body FROM hook_delivery WHERE subject = ?`, made.ID)
			bodies, err := db.Collect(rows, err, func(r db.Row) (body []byte, err error) { return body, r.Scan(&body) })
			if err != nil || len(bodies) != want {
				t.Fatalf("%q: %d deliveries, %v; want %d", delivery, len(bodies), err, want)
			}
			if want == 0 {
				continue
			}
			var pushed CompletionArtifact
			if err := json.Unmarshal(bodies[0], &pushed); err != nil {
				t.Fatal(err)
			}
			stored, err := b.FindArtifact(b.alice, made.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			if pushed.Event != "task.completed" || stored.Event != "" {
				t.Errorf("events %q and %q", pushed.Event, stored.Event)
			}
			pushed.Event = ""
			if a, b := mustJSON(t, pushed), mustJSON(t, stored); a != b {
				t.Errorf("pushed %s\nstored %s", a, b)
			}
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStreamHasEveryEventOnceInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		const readers = 5
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				events, err := b.Follow(b.alice, made.ID, "", 0)
				if err != nil {
					t.Error(err)
					return
				}
				var seqs []int64
				last := ""
				for e, err := range events {
					if err != nil {
						t.Error(err)
						return
					}
					if e != nil {
						seqs, last = append(seqs, e.Seq), e.Type
					}
				}
				for i, seq := range seqs {
					if seq != int64(i+1) {
						t.Errorf("event %d has the number %d", i, seq)
						return
					}
				}
				if last != EventFinish {
					t.Errorf("the last event is %q", last)
				}
			})
		}
		run := b.mustStart(t, made.ID)
		for i := range 30 {
			if err := run.addEvent(t.Context(), EventProgress, agent.Update{Done: i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Finish(t.Context(), Outcome{Status: Completed}); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if _, err := b.Follow(b.stranger, made.ID, "", 0); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's stream: %v", err)
		}
	})
}

func TestPagesOfTasksHoldEachOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		var want []string
		for range 7 {
			want = append(want, b.mustCreate(t, NewTask{}).ID)
		}
		slices.Reverse(want)
		var got []string
		for after := ""; ; {
			page, total, err := b.FindAll(b.alice, Filter{After: after, Limit: 3})
			if err != nil || total != 7 {
				t.Fatal(total, err)
			}
			for _, task := range page {
				got = append(got, task.ID)
			}
			if len(page) < 3 {
				break
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
		if others, _, err := b.FindAll(b.bob, Filter{Limit: 3}); err != nil || len(others) != 0 {
			t.Errorf("bob's own tasks: %v, %v", others, err)
		}
		if queued, total, err := b.FindAll(b.alice, Filter{Status: Completed, Limit: 3}); err != nil || total != 0 ||
			len(queued) != 0 {
			t.Errorf("completed tasks: %d, %v", total, err)
		}
	})
}

func TestViewersReadOnly(t *testing.T) {
	b := setUp(t, dbtest.Open(t, "sqlite"))
	made := b.mustCreate(t, NewTask{})
	caller, err := account.From(b.bob)
	if err != nil {
		t.Fatal(err)
	}
	caller.Role = account.Viewer
	viewer := account.WithCaller(t.Context(), caller)
	if _, err := b.Find(viewer, made.ID); err != nil {
		t.Errorf("a viewer reads: %v", err)
	}
	_, createErr := b.Create(viewer, NewTask{Instruction: "x"})
	_, abortErr := b.Abort(viewer, made.ID)
	_, updateErr := b.UpdateIssue(viewer, ids.New(), IssueUpdate{})
	for name, err := range map[string]error{"Create": createErr, "Abort": abortErr, "UpdateIssue": updateErr} {
		if !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s by a viewer: %v", name, err)
		}
	}
}
