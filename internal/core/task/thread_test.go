package task

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task/action"
	"github.com/vedette-sec/vedette/internal/core/task/memory"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// journal writes an entry with a body.
func journal(t *testing.T, run *Run, kind loop.EntryKind, branch, key string, body any) {
	t.Helper()
	if _, err := run.Append(t.Context(),
		loop.Entry{Stream: run.Task.Index, Branch: branch, Kind: kind, Key: key,
			Body: json.RawMessage(mustJSON(t, body))}); err != nil {
		t.Fatal(err)
	}
}

func TestTaskIsContinuedAsANewStream(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{Delivery: Artifact, Options: Options{Visibility: "unlisted"}})
		again := NewTask{ID: made.ID, Instruction: "and once more"}
		if _, err := b.Create(b.alice, again); !errs.Is(err, errs.Conflict) {
			t.Errorf("a waiting task is continued: %v", err)
		}
		run := b.mustStart(t, made.ID)
		verified(t, run, "http://h/a")
		journal(t, run, loop.BranchStart, "main", "main", loop.Started{Task: "x"})
		if err := run.Finish(t.Context(), Outcome{Status: Completed, Summary: "one"}); err != nil {
			t.Fatal(err)
		}
		for name, ctx := range map[string]struct{ err error }{
			"of the same team": {func() error { _, err := b.Create(b.bob, again); return err }()},
			"a stranger":       {func() error { _, err := b.Create(b.stranger, again); return err }()},
		} {
			if !errs.Is(ctx.err, errs.Conflict) {
				t.Errorf("somebody else, %s, continues: %v", name, ctx.err)
			}
		}
		second, err := b.Create(b.alice, again)
		if err != nil || second.StreamID == made.StreamID || second.Index != 1 || second.Status != Queued ||
			second.Delivery != Artifact || second.Visibility != Unlisted {
			t.Fatalf("%+v, %v", second, err)
		}
		if _, err := b.Start(t.Context(), RunArgs{made.ID, made.StreamID}); !errors.Is(err, ErrLate) {
			t.Errorf("a job of the first stream starts the second: %v", err)
		}
		run = b.mustStart(t, made.ID)
		verified(t, run, "http://h/b")
		if entries, err := run.Entries(t.Context()); err != nil || len(entries) != 1 || entries[0].Stream != 0 {
			t.Errorf("the journal of the turn before: %+v, %v", entries, err)
		}
		if err := run.Finish(t.Context(), Outcome{Status: Completed, Summary: "two"}); err != nil {
			t.Fatal(err)
		}
		doc, err := b.FindArtifact(b.alice, made.ID, false)
		if err != nil || doc.IssueCount != 2 || doc.StreamID != second.StreamID || doc.Summary != "two" {
			t.Errorf("artifact %+v, %v", doc, err)
		}
		streams, err := b.Streams(b.bob, made.ID)
		if err != nil || len(streams) != 2 || streams[0].Summary != "one" || streams[1].Instruction != "and once more" {
			t.Errorf("streams %+v, %v", streams, err)
		}
		for _, s := range streams {
			events, err := b.Follow(b.alice, made.ID, s.StreamID, 0)
			if err != nil {
				t.Fatal(err)
			}
			first, last := int64(0), ""
			for e := range events {
				if first == 0 {
					first = e.Seq
				}
				last = e.Type
			}
			if first != 1 || last != EventFinish {
				t.Errorf("the events of stream %d begin with %d and end with %s", s.Index, first, last)
			}
		}
		if _, err := b.Follow(b.alice, made.ID, b.mustCreate(t, NewTask{}).StreamID, 0); !errs.Is(err, errs.NotFound) {
			t.Errorf("another task's stream: %v", err)
		}
	})
}

func suspended(t *testing.T, b bench) (Task, *Run) {
	t.Helper()
	made := b.mustCreate(t, NewTask{})
	run := b.mustStart(t, made.ID)
	waiting := []loop.Waiting{
		{Branch: "main", Key: "main/3", Ask: loop.Ask{Kind: loop.AskApproval, Tool: "http_request", Text: "May I?"}},
		{Branch: "main.1", Key: "main.1/2", Ask: loop.Ask{Kind: loop.AskUser, Text: "Which?"}},
	}
	for _, w := range waiting {
		journal(t, run, loop.Question, w.Branch, w.Key, w.Ask)
	}
	if err := run.Suspend(t.Context(), json.RawMessage(mustJSON(t, waiting))); err != nil {
		t.Fatal(err)
	}
	return made, run
}

// TestJournalIsKeptLetterByLetter reads back what was written: a model that is told it
// again after a crash must be told the same.
func TestJournalIsKeptLetterByLetter(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		run := b.mustStart(t, b.mustCreate(t, NewTask{}).ID)
		body := `{"longer":[1,{"b":1.50,"a":2}],"b":"\u00e9 <&>","b":1e3}`
		if _, err := run.Append(t.Context(),
			loop.Entry{Branch: "main", Kind: loop.ToolResult, Key: "0/main/1", Body: json.RawMessage(body)}); err != nil {
			t.Fatal(err)
		}
		entries, err := run.Entries(t.Context())
		if err != nil || len(entries) != 1 || string(entries[0].Body) != body {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

func TestOneOfManyApprovalsCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made, run := suspended(t, b)
		if _, err := run.Append(t.Context(), loop.Entry{}); !errors.Is(err, ErrLate) {
			t.Errorf("a suspended run writes: %v", err)
		}
		if _, err := b.Start(t.Context(), RunArgs{made.ID, made.StreamID}); !errors.Is(err, ErrLate) {
			t.Errorf("a suspended stream starts: %v", err)
		}
		if _, err := b.Approve(b.stranger, made.ID, Decision{Approve: true}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger approves: %v", err)
		}
		if _, err := b.Approve(b.alice, made.ID, Decision{CallID: "main/4"}); !errs.Is(err, errs.NotFound) {
			t.Errorf("another call is approved: %v", err)
		}
		if got, err := b.Find(b.alice, made.ID); err != nil || got.Status != Suspended {
			t.Fatalf("a refused decision changes the state to %s, %v", got.Status, err)
		}
		var wg sync.WaitGroup
		results := make(chan error, 8)
		for range cap(results) {
			wg.Go(func() {
				_, err := b.Approve(b.bob, made.ID,
					Decision{Text: "the second", Branch: "main.1", Metadata: json.RawMessage(`{"a":1}`)})
				results <- err
			})
		}
		wg.Wait()
		close(results)
		good := 0
		for err := range results {
			if err == nil {
				good++
			} else if !errs.Is(err, errs.Conflict) {
				t.Errorf("a late approval: %v", err)
			}
		}
		if good != 1 {
			t.Errorf("%d approvals succeed", good)
		}
		again := b.mustStart(t, made.ID)
		entries, err := again.Entries(t.Context())
		if err != nil || len(entries) != 3 {
			t.Fatalf("%+v, %v", entries, err)
		}
		if e := entries[2]; e.Kind != loop.Answer || e.Key != "main.1/2" || e.Branch != "main.1" ||
			!strings.Contains(string(e.Body), "the second") || e.Seq != 3 {
			t.Errorf("the answer is %+v %s", e, e.Body)
		}
	})
}

func TestSuspendedTaskIsAbortedAtOnce(t *testing.T) {
	b := setUp(t, dbtest.Open(t, "sqlite"))
	made, _ := suspended(t, b)
	got, err := b.Abort(b.alice, made.ID)
	if err != nil || got.Status != Aborted {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.Approve(b.alice, made.ID, Decision{Approve: true}); !errs.Is(err, errs.Conflict) {
		t.Errorf("an approval after the end: %v", err)
	}
}

func TestPrivateTaskIsItsOwnersAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{Options: Options{Visibility: string(Private)}})
		verified(t, b.mustStart(t, made.ID), "http://h/a")
		if _, err := b.Find(b.bob, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("bob finds a private task: %v", err)
		}
		if list, total, err := b.FindIssues(b.bob, IssueFilter{Limit: 5}); err != nil || total != 0 || len(list) != 0 {
			t.Errorf("bob sees its issues: %d, %v", total, err)
		}
		if _, _, _, err := b.Shared(t.Context(), made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("it is shared: %v", err)
		}
		public, title := Public, "seen by all\nand more"
		got, err := b.Update(b.alice, made.ID, Update{Visibility: &public, Title: &title})
		if err != nil || got.Visibility != Public || got.Title != "seen by all" {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := b.Update(b.bob, made.ID, Update{Visibility: &public}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("bob decides who sees it: %v", err)
		}
		shown, streams, issues, err := b.Shared(t.Context(), made.ID)
		if err != nil || len(issues) != 1 || len(issues[0].Evidence) != 0 || shown.Owner != "" || len(streams) != 1 {
			t.Errorf("%+v %+v %+v, %v", shown, streams, issues, err)
		}
		if err := b.Delete(b.stranger, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger deletes it: %v", err)
		}
		if err := b.Delete(b.alice, made.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Find(b.alice, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

func TestLogJoinsWhatBelongsTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		run := b.mustStart(t, made.ID)
		journal(t, run, loop.ModelCall, "main", "main/1", loop.Asked{Model: "m"})
		journal(t, run, loop.ModelAnswer, "main", "main/1",
			loop.Answered{Fault: &loop.Fault{Code: "c", Message: "it is down"}})
		journal(t, run, loop.ToolCall, "main", "main/2",
			loop.Called{Tool: "http_request", Args: json.RawMessage(`{"url":"http://h/x"}`), CallID: "call_1"})
		journal(t, run, loop.ToolCall, "main.1", "main.1/2", loop.Called{Tool: "crawl"})
		journal(t, run, loop.ToolResult, "main", "main/2",
			loop.Returned{Tool: "http_request", Status: loop.CallTimeout, Error: "too long"})
		journal(t, run, loop.Question, "main", "main/3", loop.Ask{Kind: loop.AskUser, Text: "Which?"})
		events, more, err := b.FindLog(b.bob, made.ID, LogFilter{Limit: 10})
		if err != nil || more || len(events) != 4 {
			t.Fatalf("%+v, %v", events, err)
		}
		var got []LogStatus
		for _, d := range events {
			got = append(got, d.Status)
		}
		if want := []LogStatus{action.Failed, action.Timeout, action.Started, action.Blocked}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		if d := events[1]; d.ToolName != "http_request" || d.Target != "http://h/x" || d.ErrorMessage != "too long" ||
			d.StreamID != made.StreamID || d.CompletedAt == nil || events[2].AgentType != "subagent" {
			t.Errorf("%+v", d)
		}
		page, more, err := b.FindLog(b.alice, made.ID, LogFilter{After: events[0].Sequence, Limit: 1, EventType: "tool_call"})
		if err != nil || !more || len(page) != 1 || page[0].ID != events[1].ID {
			t.Errorf("a page: %+v %v, %v", page, more, err)
		}
		for id, want := range map[string]bool{"main.1/2": true, "main/2": false, "call_1": false, "x": false} {
			_, found, err := b.Stop(b.bob, made.ID, StopTool, id)
			if err != nil || found != want {
				t.Errorf("stopping %s: %v, %v", id, found, err)
			}
		}
		if stops, err := run.StopRequests(t.Context()); err != nil || !slices.Equal(stops, []string{"main.1/2"}) {
			t.Errorf("stops %v, %v", stops, err)
		}
	})
}

func TestLogSaysHowBranchesEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		run := b.mustStart(t, made.ID)
		ends := map[string]struct {
			outcome loop.Outcome
			want    LogStatus
		}{
			"main":   {loop.Outcome{Status: loop.Completed}, action.Completed},
			"main.1": {loop.Outcome{Status: loop.Failed}, action.Failed}, "main.2": {loop.Outcome{Status: loop.Aborted}, action.Aborted},
			"main.3": {loop.Outcome{Status: loop.Stopped, Code: loop.CodeTime}, action.Timeout},
			"main.4": {loop.Outcome{Status: loop.Stopped, Code: loop.CodeMaxSteps}, action.Completed},
			"main.5": {loop.Outcome{}, action.Aborted}, // never ended
		}
		for branch := range ends {
			journal(t, run, loop.BranchStart, branch, "0/"+branch+"/start", loop.Started{ID: "0/" + branch + "/agent"})
		}
		for branch, end := range ends {
			if end.outcome.Status != "" {
				journal(t, run, loop.BranchEnd, branch, "0/"+branch+"/end", loop.Ended{Outcome: end.outcome})
			}
		}
		for id, want := range map[string]bool{"0/main.1/agent": false, "0/main.5/agent": true} {
			if _, found, err := b.Stop(b.bob, made.ID, StopSubagent, id); err != nil || found != want {
				t.Errorf("stopping %s: %v, %v", id, found, err)
			}
		}
		if err := run.Finish(t.Context(), Outcome{Status: Completed}); err != nil {
			t.Fatal(err)
		}
		events, _, err := b.FindLog(b.alice, made.ID, LogFilter{Limit: 100})
		if err != nil || len(events) != len(ends) {
			t.Fatalf("%+v, %v", events, err)
		}
		for _, e := range events {
			if e.Status != ends[e.AgentID].want || (e.CompletedAt == nil) != (e.AgentID == "main.5") {
				t.Errorf("%s: %s, %v", e.AgentID, e.Status, e.CompletedAt)
			}
		}
	})
}

func TestMemoryHoldsWhatIsWrittenAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		made := b.mustCreate(t, NewTask{})
		run := b.mustStart(t, made.ID)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := run.Remember(t.Context(), strings.Repeat("i", i+1)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		m, at, err := b.FindMemory(b.bob, made.ID)
		if err != nil || len(m.Insights) != 20 || at.IsZero() {
			t.Errorf("%d insights, %v, %v", len(m.Insights), at, err)
		}
		if _, _, err := b.FindMemory(b.stranger, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's: %v", err)
		}
		own := func(Memory) Memory { return Memory{Facts: []string{strings.Repeat("a", memory.MaxSize-1000)}} }
		if _, _, err := b.ChangeMemory(b.alice, "", own); err != nil {
			t.Fatal(err)
		}
		if m, _, err := b.FindMemory(b.bob, ""); err != nil || len(m.Facts) != 0 {
			t.Errorf("bob has alice's memory: %+v, %v", m, err)
		}
		for _, bad := range []Memory{{Facts: []string{strings.Repeat("b", 1001)}}, {Facts: make([]string, 101)},
			{TrackedFiles: make([]TrackedFile, 501)}} {
			if _, _, err := b.ChangeMemory(b.alice, made.ID, func(Memory) Memory { return bad }); !errs.Is(err, errs.Invalid) {
				t.Errorf("too much is taken: %v", err)
			}
		}
		if text, err := run.MemoryText(t.Context()); err != nil || !strings.Contains(text, "The user said") ||
			!strings.Contains(text, `- "iii"`) {
			t.Errorf("%s, %v", text, err)
		}
		if err := b.DeleteMemory(b.alice); err != nil {
			t.Fatal(err)
		}
		if m, at, err := b.FindMemory(b.alice, ""); err != nil || len(m.Facts) != 0 || !at.IsZero() {
			t.Errorf("%+v, %v, %v", m, at, err)
		}
	})
}

func TestScopeThatCannotBeHeldToIsRefused(t *testing.T) {
	b := setUp(t, dbtest.Open(t, "sqlite"))
	past := time.Now().Add(-time.Hour)
	for field, s := range map[string]Scope{
		"scope.hosts":         {Hosts: []string{"not a host"}},
		"scope.ports":         {Ports: []int{0}},
		"scope.paths":         {Paths: []string{"x"}},
		"scope.methods":       {Methods: []string{"get"}},
		"scope.expires_at":    {ExpiresAt: &past},
		"scope.exclude":       {Exclude: []string{" "}},
		"scope.intrusiveness": {Intrusiveness: "very"},
	} {
		_, err := b.Create(b.alice, NewTask{Instruction: "x", Options: Options{Scope: &s}})
		if e := errs.From(err); e == nil || e.Kind != errs.Invalid || e.Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	caller, err := account.From(b.alice)
	if err != nil {
		t.Fatal(err)
	}
	caller.Role = account.Guest
	if _, _, err := b.ChangeMemory(account.WithCaller(t.Context(), caller), "",
		func(m Memory) Memory { return m }); !errs.Is(err, errs.Forbidden) {
		t.Errorf("a guest writes: %v", err)
	}
}
