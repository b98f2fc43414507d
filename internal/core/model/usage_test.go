package model_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestUsage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{})
		ada, adas := r.person("ada", "blue", account.Admin)
		bob, bobs := r.person("bob", "blue", account.Member)
		eve, eves := r.person("eve", "", account.Member)
		tasks := []string{ids.New(), ids.New(), ids.New()}
		record := func(c account.Caller, task, status, name string, byok bool, at time.Time, micros int64) model.Row {
			t.Helper()
			row := model.Row{
				StreamID: ids.New(), TaskID: task, TeamID: c.TeamID, UserID: c.UserID, Title: "check", Model: name,
				Provider: llm.ProviderAnthropic, Status: status, BYOK: byok, Priced: true,
				Usage: llm.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40}, Micros: micros, Steps: 4, Calls: 3,
				Agents: 1, LLM: 2 * time.Second, Tools: time.Second, Total: 4 * time.Second,
				Detail: model.Detail{Tools: map[string]int{"look": 3},
					History: []model.Call{{Tool: "look", Duration: 7, At: at}}},
				CreatedAt: at,
			}
			for range 2 { // the second takes the first's place
				if err := r.RecordUsage(t.Context(), nil, row); err != nil {
					t.Fatal(err)
				}
			}
			return row
		}
		record(adas, tasks[0], "failed", "opus-4.7", false, noon, 100)
		later := record(adas, tasks[0], "completed", "opus-4.7", true, noon.AddDate(0, 0, 1), 50)
		record(bobs, tasks[1], "aborted", "haiku-4.5", false, noon.AddDate(0, 0, 7), 7)
		record(eves, tasks[2], "completed", "haiku-4.5", false, noon, 1000)

		all := page.Window{Limit: 50}
		found, total, err := r.FindTasks(ada, model.UsageFilter{}, all)
		if err != nil || total != 2 || len(found) != 2 || found[0].TaskID != tasks[1] || found[1].TaskID != tasks[0] {
			t.Fatalf("tasks: %+v, %d, %v", found, total, err)
		}
		sum := found[1]
		if sum.Micros != 150 || sum.Server != 100 || sum.Streams != 2 || sum.Status != "completed" ||
			sum.StreamID != later.StreamID || !sum.CreatedAt.Equal(noon) ||
			sum.Usage != (llm.Usage{Input: 20, Output: 40, CacheRead: 60, CacheWrite: 80}) || sum.Detail.Tools["look"] != 6 ||
			sum.Steps != 8 || sum.Email != "ada@example.com" || len(sum.Detail.History) != 0 {
			t.Errorf("two streams together: %+v", sum)
		}
		yes, no := true, false
		for name, c := range map[string]struct {
			filter model.UsageFilter
			tasks  int // by their newest stream
			stream int
		}{
			"status": {model.UsageFilter{Status: "failed"}, 0, 1}, "model": {model.UsageFilter{Model: "opus-4.7"}, 1, 2},
			"email":          {model.UsageFilter{Email: "bob@example.com"}, 1, 1},
			"search by mail": {model.UsageFilter{Search: "BOB@"}, 1, 1},
			"search by id":   {model.UsageFilter{Search: tasks[0][3:]}, 1, 2},
			"a percent sign": {model.UsageFilter{Search: "%"}, 0, 0},
			"byok":           {model.UsageFilter{BYOK: &yes}, 1, 1}, "not": {model.UsageFilter{BYOK: &no}, 1, 2},
			"from": {model.UsageFilter{From: noon.AddDate(0, 0, 1)}, 2, 2},
			"to":   {model.UsageFilter{To: noon}, 0, 1}, "another team's": {model.UsageFilter{TaskID: tasks[2]}, 0, 0},
			"its mail": {model.UsageFilter{Email: "eve@example.com"}, 0, 0},
		} {
			_, n, err := r.FindTasks(ada, c.filter, all)
			_, m, serr := r.FindStreams(ada, c.filter, all)
			if err != nil || serr != nil || n != c.tasks || m != c.stream {
				t.Errorf("%s: %d tasks and %d streams (%v, %v)", name, n, m, err, serr)
			}
		}
		streams, _, err := r.FindStreams(ada, model.UsageFilter{ByCost: true}, page.Window{Limit: 2})
		if err != nil || len(streams) != 2 || streams[0].Micros != 100 || streams[1].Micros != 50 ||
			len(streams[0].Detail.History) != 1 {
			t.Errorf("the dearest: %+v, %v", streams, err)
		}
		if _, _, err := r.FindTasks(bob, model.UsageFilter{}, all); code(err) != "team_admin_required" {
			t.Errorf("a member of several: %v", err)
		}
		if own, n, err := r.FindStreams(eve, model.UsageFilter{}, all); err != nil || n != 1 || own[0].TaskID != tasks[2] {
			t.Errorf("somebody alone: %+v, %v", own, err)
		}
		if _, err := r.TaskUsage(eve, tasks[0]); code(err) != "task_not_found" {
			t.Errorf("a stranger's task: %v", err)
		}
		if one, err := r.TaskUsage(ada, tasks[0]); err != nil || one.Micros != 150 {
			t.Errorf("one task: %+v, %v", one, err)
		}

		for by, want := range map[model.Period]string{
			model.Daily: "2026-03-04:1:100 2026-03-05:1:50 2026-03-11:1:7 ", model.Weekly: "2026-03-02:1:150 2026-03-09:1:7 ",
			model.Monthly: "2026-03-01:2:157 ",
		} {
			s, err := r.Summarise(ada, time.Time{}, time.Time{}, by)
			got := ""
			for _, p := range s.ByPeriod {
				got += fmt.Sprintf("%s:%d:%d ", p.Name, p.Tasks, p.Micros)
			}
			if err != nil || got != want || s.All.Tasks != 2 || s.All.Streams != 3 || s.All.Server != 107 ||
				s.BYOK.Micros != 50 || s.BYOK.Tasks != 1 {
				t.Errorf("%s: %s, %+v, %v", by, got, s, err)
			}
			if !slices.IsSortedFunc(s.ByEmail, func(a, b model.Share) int { return int(b.Micros - a.Micros) }) ||
				s.ByEmail[0].Name != "ada@example.com" || len(s.ByModel) != 2 || len(s.ByStatus) != 3 {
				t.Errorf("%s: %+v", by, s)
			}
		}
		if _, err := r.Summarise(ada, time.Time{}, time.Time{}, "year"); code(err) != "invalid_group_by" {
			t.Errorf("by year: %v", err)
		}
	})
}
