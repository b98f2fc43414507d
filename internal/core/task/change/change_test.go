package change

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func known(key, severity string, values ...string) Known {
	return Known{Key: key, IssueID: "i-" + key, Title: "T", Severity: severity, Template: "t-" + key, Target: "h", MatchedAt: "http://h/" + key,
		Values: values}
}

func TestCompare(t *testing.T) {
	before := []Known{known("same", "low"), known("worse", "low"), known("gone", "low"), known("unseen", "low"),
		known("version", "info", "1.0")}
	now := []Known{known("same", "low"), known("worse", "high"), known("fresh", "high"), known("version", "info", "1.1")}
	r, after := Compare(before, now, func(template, _ string) bool { return template != "t-unseen" })
	if len(r.New) != 1 || r.New[0].IssueID != "i-fresh" || len(r.Gone) != 1 || r.Gone[0].IssueID != "i-gone" ||
		len(r.Changed) != 2 || r.Unchanged != 1 || len(r.NotTested) != 1 || r.Quiet || len(after) != 5 {
		t.Errorf("%+v, %v", r, after)
	}
	if text := r.Words(); !strings.Contains(text, "1 new, 1 gone, 2 changed, 1 unchanged, 1 not tested") ||
		!strings.Contains(text, "severity high, was low") || !strings.Contains(text, "extracted 1.1, was 1.0") {
		t.Error(text)
	}
	again, _ := Compare(after, now, func(template, _ string) bool { return template != "t-unseen" })
	if !again.Quiet || again.Unchanged != 4 || len(again.NotTested) != 1 {
		t.Errorf("the same once more: %+v", again)
	}
	back, _ := Compare(after, append(now, known("unseen", "low")), func(string, string) bool { return true })
	if !back.Quiet || len(back.New) != 0 {
		t.Errorf("what was not tested is new when it is found again: %+v", back)
	}
}

// TestNothingIsLostBetweenRuns: over any runs, each finding is new exactly when it is found and not known, gone exactly when it was tested and not
// found, and the report of a run that repeats the one before is quiet.
func TestNothingIsLostBetweenRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := map[string]string{} // what is known: key to severity
		var state []Known
		for range rapid.IntRange(1, 8).Draw(t, "runs") {
			tested, found := map[string]bool{}, map[string]string{}
			var now []Known
			for i := range 6 {
				key := fmt.Sprint(i)
				switch rapid.IntRange(0, 3).Draw(t, key) {
				case 0: // not tested
				case 1:
					tested["t-"+key] = true
				default:
					tested["t-"+key] = true
					found[key] = rapid.SampledFrom([]string{"low", "high"}).Draw(t, "severity")
					now = append(now, known(key, found[key]))
				}
			}
			r, after := Compare(state, now, func(template, _ string) bool { return tested[template] })
			fresh, gone, changed, same, untested := 0, 0, 0, 0, 0
			for key, severity := range found {
				switch was, is := model[key]; {
				case !is:
					fresh++
				case was != severity:
					changed++
				default:
					same++
				}
			}
			for key := range model {
				if _, is := found[key]; !is && tested["t-"+key] {
					gone++
					delete(model, key)
				} else if !is {
					untested++
				}
			}
			maps.Copy(model, found)
			if len(r.New) != fresh || len(r.Gone) != gone || len(r.Changed) != changed || r.Unchanged != same ||
				len(r.NotTested) != untested || len(after) != len(model) {
				t.Fatalf("%+v; want %d new, %d gone, %d changed, %d unchanged, %d not tested", r, fresh, gone, changed, same, untested)
			}
			if r.Quiet && fresh+gone+changed > 0 {
				t.Fatal("quiet although something changed")
			}
			if again, _ := Compare(after, now, func(template, _ string) bool { return tested[template] }); !again.Quiet {
				t.Fatalf("a run that repeats the one before is not quiet: %+v", again)
			}
			state = after
		}
	})
}

func TestReportsOfASchedule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		at := db.At(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := d.Exec(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO user_account (id, email, password_hash, created_at) VALUES ('u', 'u@example.com', '', ?)`, at)
		exec(`INSERT INTO team (id, name, owner_id, plan, created_at, updated_at) VALUES ('t', 'blue', 'u', 'FREE', ?, ?)`, at, at)
		exec(`INSERT INTO task_schedule (id, team_id, user_id, name, status, type, instruction, delivery, options, rule, created_at, updated_at)
			VALUES ('s', 't', 'u', 'n', 'active', 'recurring', 'x', '', '{}', '{}', ?, ?)`, at, at)
		run := func(n int, id string, now []Known, ledger Ledger) *Report {
			t.Helper()
			exec(`INSERT INTO task (id, team_id, user_id, title, visibility, stream_id, created_at, schedule_id) VALUES (?, 't', 'u', 'x', 'team', ?, ?, 's')`,
				id, id, at)
			exec(`INSERT INTO task_execution (id, schedule_id, n, due_at, manual, status, note, task_id, created_at)
				VALUES (?, 's', ?, ?, FALSE, 'started', '', ?, ?)`, "e"+id, n, n, id, at)
			if err := d.Tx(ctx, func(tx *db.Tx) error {
				if err := ledger.Store(ctx, tx, id); err != nil {
					return err
				}
				return Settle(ctx, tx, id, now)
			}); err != nil {
				t.Fatal(err)
			}
			r, err := Of(ctx, d, id)
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			return r
		}
		if r := run(1, "a", []Known{known("x", "low"), known("y", "low")}, Ledger{}); !r.First || len(r.New) != 2 || r.Quiet {
			t.Errorf("%+v", r)
		}
		l := Ledger{Targets: []string{"other", "h"}, Templates: []string{"t-z", "t-x"}}
		l.Mark(1, 1)
		l.Mark(0, 0)
		if r := run(2, "b", nil, l); r.First || len(r.Gone) != 1 || r.Gone[0].TemplateID != "t-x" || len(r.NotTested) != 1 {
			t.Errorf("%+v", r)
		}
		if err := d.Tx(ctx, func(tx *db.Tx) error { return Settle(ctx, tx, "nobody's", nil) }); err != nil {
			t.Error(err)
		}
		if r, err := Of(ctx, d, "nobody's"); r != nil || err != nil {
			t.Error(r, err)
		}
	})
}
