package model

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Row is the usage of one stream, or of all streams of a task.
type Row struct {
	StreamID, TaskID, TeamID, UserID string
	Title                            string // of the task
	Model                            string // builtin: none
	Provider                         Provider
	Status                           string // completed, error, failed or aborted; another while it runs
	BYOK                             bool
	Priced                           bool // Micros is known; else it is 0
	Usage                            llm.Usage
	Micros                           int64 // millionths of a US dollar
	Steps                            int   // model calls
	Calls                            int   // tool calls
	Agents                           int   // branches started
	LLM, Tools, Total                time.Duration
	Detail                           Detail
	Error                            string
	CreatedAt                        time.Time

	// Set by reads.
	Email   string
	Streams int   // number of streams
	Server  int64 // of Micros, paid by the server
}

// Detail counts what a stream did.
type Detail struct {
	Agents  map[string]int `json:"agents,omitempty"` // steps by branch
	Tools   map[string]int `json:"tools,omitempty"`  // calls by tool
	History []Call         `json:"history,omitempty"`
}

// Call is one tool call.
type Call struct {
	Tool     string    `json:"tool"`
	Duration int64     `json:"duration_ms"`
	At       time.Time `json:"at"`
}

// Bounds of a row.
const (
	maxHistory   = 500
	maxBreakdown = 200
	maxUsageText = 1000 // bytes of title and error
)

// RecordUsage stores the usage of a stream, replacing what was stored. q is the transaction, or nil.
func (s *Models) RecordUsage(ctx context.Context, q db.Querier, r Row) error {
	if q == nil {
		q = s.db
	}
	r.Detail.History = r.Detail.History[:min(len(r.Detail.History), maxHistory)]
	for _, counts := range []map[string]int{r.Detail.Agents, r.Detail.Tools} {
		if len(counts) > maxBreakdown {
			return errs.New(errs.Internal, "usage_too_long", "A stream has more than %d tools or branches.", maxBreakdown)
		}
	}
	_, err := q.Exec(ctx, `INSERT INTO model_usage (stream_id, task_id, team_id, user_id, created_at, `+usageFields+`)
		VALUES (?`+strings.Repeat(", ?", 24)+`) ON CONFLICT (stream_id) DO UPDATE SET `+
		eachColumn(usageFields, "$0 = excluded.$0"),
		r.StreamID, r.TaskID, r.TeamID, r.UserID, db.At(r.CreatedAt), clip(r.Title), clip(r.Model), r.Provider, r.Status,
		r.BYOK, r.Priced,
		r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite, r.Micros, r.Steps, r.Calls, r.Agents,
		r.LLM.Milliseconds(), r.Tools.Milliseconds(), r.Total.Milliseconds(), db.Doc(r.Detail), clip(r.Error), db.At(s.Now()))
	return err
}

// usageFields are the columns of a row that change.
const usageFields = `title, model, provider, status, byok, priced, input_tokens, output_tokens, cache_read, cache_write,
	micros, steps, tool_calls, agent_triggers, llm_ms, tool_ms, total_ms, detail, error, updated_at`

// eachColumn rewrites each column of a list, $0.
func eachColumn(columns, as string) string {
	return regexp.MustCompile(`\w+`).ReplaceAllString(columns, as)
}

func clip(s string) string { return db.Clean(s[:min(len(s), maxUsageText)]) }

// UsageFilter selects rows; zero fields select all.
type UsageFilter struct {
	TaskID   string
	StreamID string
	Status   string
	Model    string
	Email    string // whole
	Search   string // part of a task id or email address
	From, To time.Time
	BYOK     *bool
	ByCost   bool // most expensive first, not newest first
}

// reader limits usage to what the caller may see: an admin the team's, a user who is alone in their team their own.
func (s *Models) reader(ctx context.Context) (where db.Where, err error) {
	c, own, err := s.manager(ctx)
	if err != nil {
		return where, err
	}
	where.And("u.team_id = ?", c.TeamID)
	if own != "" && c.Role != account.Admin {
		where.And("u.user_id = ?", own)
	}
	return where, nil
}

func (f UsageFilter) where(w *db.Where, d db.Dialect) {
	db.Equal(w, "u.task_id", db.Clean(f.TaskID))
	db.Equal(w, "u.stream_id", db.Clean(f.StreamID))
	db.Equal(w, "u.status", db.Clean(f.Status))
	db.Equal(w, "u.model", db.Clean(f.Model))
	db.Equal(w, "a.email", db.Clean(f.Email))
	if f.Search != "" {
		inTask, arg := d.Contains("u.task_id", f.Search)
		inEmail, _ := d.Contains("a.email", f.Search)
		w.And("("+inTask+" OR "+inEmail+")", arg, arg)
	}
	if !f.From.IsZero() {
		w.And("u.created_at >= ?", db.At(f.From))
	}
	if !f.To.IsZero() {
		w.And("u.created_at <= ?", db.At(f.To))
	}
	if f.BYOK != nil {
		w.And("u.byok = ?", *f.BYOK)
	}
}

const (
	usageTables = `model_usage u JOIN user_account a ON a.id = u.user_id`
	usageFrom   = ` FROM ` + usageTables
)

func selectUsage() string {
	return `SELECT u.stream_id, u.task_id, u.team_id, u.user_id, a.email, u.created_at, ` + eachColumn(usageFields, "u.$0")
}

func scanUsage(row db.Row) (r Row, err error) {
	var llmMS, toolMS, totalMS int64
	var updated db.Time
	err = row.Scan(&r.StreamID, &r.TaskID, &r.TeamID, &r.UserID, &r.Email, db.Into(&r.CreatedAt), &r.Title, &r.Model,
		&r.Provider, &r.Status, &r.BYOK, &r.Priced,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Micros, &r.Steps, &r.Calls, &r.Agents,
		&llmMS, &toolMS, &totalMS, db.Into(&r.Detail), &r.Error, &updated)
	r.LLM, r.Tools, r.Total = time.Duration(llmMS)*time.Millisecond, time.Duration(toolMS)*time.Millisecond,
		time.Duration(totalMS)*time.Millisecond
	r.Streams = 1
	if !r.BYOK {
		r.Server = r.Micros
	}
	return r, err
}

// FindStreams is a page of the streams that the caller may see, and their number.
func (s *Models) FindStreams(ctx context.Context, f UsageFilter, w page.Window) ([]Row, int, error) {
	where, err := s.reader(ctx)
	if err != nil {
		return nil, 0, err
	}
	found, total, err := s.findUsage(ctx, where, f, w)
	return found, total, cmp.Or(err, s.hideTitles(ctx, found))
}

// hideTitles takes out the titles of others' private tasks: who pays for a task need not read what it is about.
func (s *Models) hideTitles(ctx context.Context, rows []Row) error {
	c, err := account.From(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	var where db.Where
	where.And("team_id = ? AND visibility = 'private' AND user_id <> ?", c.TeamID, c.UserID)
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.TaskID
	}
	db.In(&where, "id", ids)
	private, err := db.Values[string](ctx, s.db, `SELECT id FROM task`+where.String(), where.Args...)
	for i := range rows {
		if slices.Contains(private, rows[i].TaskID) {
			rows[i].Title = ""
		}
	}
	return err
}

// FindTasks is a page of the tasks that the caller may see, with all their streams, and their number. The filter is
// about the newest stream.
func (s *Models) FindTasks(ctx context.Context, f UsageFilter, w page.Window) ([]Row, int, error) {
	where, err := s.reader(ctx)
	if err != nil {
		return nil, 0, err
	}
	where.And(`NOT EXISTS (SELECT 1 FROM model_usage n WHERE n.task_id = u.task_id AND (n.created_at, n.stream_id) > (u.created_at, u.stream_id))`)
	newest, total, err := s.findUsage(ctx, where, f, w)
	if err != nil || len(newest) == 0 {
		return newest, total, err
	}
	ids := make([]string, len(newest))
	for i, r := range newest {
		ids[i] = r.TaskID
	}
	tasks, err := s.sumTasks(ctx, newest[0].TeamID, ids)
	return tasks, total, cmp.Or(err, s.hideTitles(ctx, tasks))
}

func (s *Models) findUsage(ctx context.Context, where db.Where, f UsageFilter, w page.Window) ([]Row, int, error) {
	f.where(&where, s.db.Dialect())
	order := ` ORDER BY u.created_at DESC, u.stream_id DESC`
	if f.ByCost {
		order = ` ORDER BY u.micros DESC, u.created_at DESC, u.stream_id DESC`
	}
	return db.Page(ctx, s.db, scanUsage, selectUsage()+usageFrom, usageTables, where, order, w)
}

// sumTasks adds up the streams of tasks, in the order of ids.
func (s *Models) sumTasks(ctx context.Context, teamID string, ids []string) ([]Row, error) {
	var where db.Where
	where.And("u.team_id = ?", teamID)
	db.In(&where, "u.task_id", ids)
	streams, err := db.Select(ctx, s.db, scanUsage,
		selectUsage()+usageFrom+where.String()+` ORDER BY u.created_at, u.stream_id`, where.Args...)
	if err != nil {
		return nil, err
	}
	sums := map[string]Row{}
	for _, r := range streams {
		if sum, ok := sums[r.TaskID]; ok {
			r = sum.plus(r)
		}
		sums[r.TaskID] = r
	}
	out := make([]Row, len(ids))
	for i, id := range ids {
		out[i] = sums[id]
	}
	return out, nil
}

// plus adds a later stream of the task, whose texts stay.
func (r Row) plus(later Row) Row {
	later.CreatedAt, later.Streams = r.CreatedAt, r.Streams+1
	later.Priced = r.Priced && later.Priced
	later.Usage = later.Usage.Plus(r.Usage)
	later.Micros += r.Micros
	later.Server += r.Server
	later.Steps += r.Steps
	later.Calls += r.Calls
	later.Agents += r.Agents
	later.LLM += r.LLM
	later.Tools += r.Tools
	later.Total += r.Total
	later.Detail = Detail{Agents: sumCounts(r.Detail.Agents, later.Detail.Agents),
		Tools: sumCounts(r.Detail.Tools, later.Detail.Tools)}
	return later
}

func sumCounts(a, b map[string]int) map[string]int {
	sum := map[string]int{}
	for _, counts := range []map[string]int{a, b} {
		for name, n := range counts {
			sum[name] += n
		}
	}
	return sum
}

// TaskUsage is the usage of a task. NotFound: the caller has no such task, or it used nothing yet.
func (s *Models) TaskUsage(ctx context.Context, taskID string) (Row, error) {
	tasks, _, err := s.FindTasks(ctx, UsageFilter{TaskID: taskID}, page.Window{Limit: 1})
	if err == nil && len(tasks) == 0 {
		err = errs.Missing("task")
	}
	if err != nil {
		return Row{}, err
	}
	return tasks[0], nil
}
