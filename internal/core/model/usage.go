package model

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Row is what one stream of a task used, or all of a task's streams together.
type Row struct {
	StreamID, TaskID, TeamID, UserID string
	Title                            string // of the task
	Model                            string // builtin: none was called
	Provider                         Provider
	Status                           string // completed, error, failed or aborted; another word while it runs
	BYOK                             bool
	Priced                           bool // Micros is known; else it is 0
	Usage                            llm.Usage
	Micros                           int64 // millionths of a US dollar
	Steps                            int   // calls of models
	Calls                            int   // of tools
	Agents                           int   // branches that were started
	LLM, Tools, Total                time.Duration
	Detail                           Detail
	Error                            string
	CreatedAt                        time.Time

	// Reads fill these in.
	Email   string // of the user
	Streams int    // how many there are in it
	Server  int64  // of Micros, what was paid for by the server's key
}

// Detail is what a stream did, counted.
type Detail struct {
	Agents  map[string]int `json:"agents,omitempty"` // steps by branch
	Tools   map[string]int `json:"tools,omitempty"`  // calls by tool
	History []Call         `json:"history,omitempty"`
}

// Call is one call of a tool.
type Call struct {
	Tool     string    `json:"tool"`
	Duration int64     `json:"duration_ms"`
	At       time.Time `json:"at"`
}

// The bounds of a row; what is beyond is left out.
const (
	maxHistory   = 500
	maxBreakdown = 200
	maxUsageText = 1000 // bytes of its title and of its error
)

// RecordUsage stores what a stream used, in the place of what was stored of it before.
// q is the transaction to do it in; nil: none.
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
	_, err := q.Exec(ctx, `INSERT INTO model_usage (stream_id, task_id, team_id, user_id, title, model, provider, status, byok, priced,
		input_tokens, output_tokens, cache_read, cache_write, micros, steps, tool_calls, agent_triggers, llm_ms, tool_ms, total_ms, detail, error, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (stream_id) DO UPDATE SET title = excluded.title, model = excluded.model, provider = excluded.provider, status = excluded.status, byok = excluded.byok,
		priced = excluded.priced, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cache_read = excluded.cache_read,
		cache_write = excluded.cache_write, micros = excluded.micros, steps = excluded.steps, tool_calls = excluded.tool_calls, agent_triggers = excluded.agent_triggers,
		llm_ms = excluded.llm_ms, tool_ms = excluded.tool_ms, total_ms = excluded.total_ms, detail = excluded.detail, error = excluded.error, updated_at = excluded.updated_at`,
		r.StreamID, r.TaskID, r.TeamID, r.UserID, clip(r.Title), clip(r.Model), r.Provider, r.Status, r.BYOK, r.Priced,
		r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite, r.Micros, r.Steps, r.Calls, r.Agents,
		r.LLM.Milliseconds(), r.Tools.Milliseconds(), r.Total.Milliseconds(), db.Doc(r.Detail), clip(r.Error), db.At(r.CreatedAt), db.At(s.Now()))
	return err
}

func clip(s string) string { return db.Clean(s[:min(len(s), maxUsageText)]) }

// UsageFilter chooses rows; zero fields choose all.
type UsageFilter struct {
	TaskID   string
	StreamID string
	Status   string
	Model    string
	Email    string // whole; of an admin's team
	Search   string // a part of a task id or of an email address
	From, To time.Time
	BYOK     *bool
	ByCost   bool // the dearest first, else the newest
}

// reader is whose usage the caller may see: an admin the team's, somebody who is alone in
// their team their own. Others are refused.
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

func (f UsageFilter) where(w *db.Where, speaks db.Dialect) {
	for _, eq := range []struct{ column, value string }{
		{"u.task_id", f.TaskID}, {"u.stream_id", f.StreamID}, {"u.status", f.Status}, {"u.model", f.Model}, {"a.email", f.Email},
	} {
		if eq.value != "" {
			w.And(eq.column+" = ?", db.Clean(eq.value))
		}
	}
	if f.Search != "" {
		inTask, arg := speaks.Contains("u.task_id", f.Search)
		inEmail, _ := speaks.Contains("a.email", f.Search)
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

const usageFrom = ` FROM model_usage u JOIN user_account a ON a.id = u.user_id`

const usageColumns = `u.stream_id, u.task_id, u.team_id, u.user_id, a.email, u.title, u.model, u.provider, u.status, u.byok, u.priced,
	u.input_tokens, u.output_tokens, u.cache_read, u.cache_write, u.micros, u.steps, u.tool_calls, u.agent_triggers,
	u.llm_ms, u.tool_ms, u.total_ms, u.detail, u.error, u.created_at`

func scanUsage(row db.Row) (r Row, err error) {
	var llmMS, toolMS, totalMS int64
	var detail db.JSON[Detail]
	var created db.Time
	err = row.Scan(&r.StreamID, &r.TaskID, &r.TeamID, &r.UserID, &r.Email, &r.Title, &r.Model, &r.Provider, &r.Status, &r.BYOK, &r.Priced,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.CacheRead, &r.Usage.CacheWrite, &r.Micros, &r.Steps, &r.Calls, &r.Agents,
		&llmMS, &toolMS, &totalMS, &detail, &r.Error, &created)
	r.LLM, r.Tools, r.Total = time.Duration(llmMS)*time.Millisecond, time.Duration(toolMS)*time.Millisecond, time.Duration(totalMS)*time.Millisecond
	r.Detail, r.CreatedAt, r.Streams = detail.V, created.Time, 1
	if !r.BYOK {
		r.Server = r.Micros
	}
	return r, err
}

// FindStreams is a window of the streams that the caller may see, and how many there are.
func (s *Models) FindStreams(ctx context.Context, f UsageFilter, w page.Window) ([]Row, int, error) {
	where, err := s.reader(ctx)
	if err != nil {
		return nil, 0, err
	}
	return s.findUsage(ctx, where, f, w)
}

// FindTasks is a window of the tasks that the caller may see, each with all its streams
// together, and how many there are. The filter looks at a task's newest stream.
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
	return tasks, total, err
}

func (s *Models) findUsage(ctx context.Context, where db.Where, f UsageFilter, w page.Window) ([]Row, int, error) {
	f.where(&where, s.db.Speaks())
	var total int
	if err := s.db.QueryRow(ctx, `SELECT count(*)`+usageFrom+where.String(), where.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	order := ` ORDER BY u.created_at DESC, u.stream_id DESC`
	if f.ByCost {
		order = ` ORDER BY u.micros DESC, u.created_at DESC, u.stream_id DESC`
	}
	limit, args := db.Limit(w)
	rows, err := s.db.Query(ctx, `SELECT `+usageColumns+usageFrom+where.String()+order+limit, append(where.Args, args...)...)
	found, err := db.Collect(rows, err, scanUsage)
	return found, total, err
}

// sumTasks gives each task with all its streams together, in the order of ids.
func (s *Models) sumTasks(ctx context.Context, teamID string, ids []string) ([]Row, error) {
	var where db.Where
	where.And("u.team_id = ?", teamID)
	db.In(&where, "u.task_id", ids)
	rows, err := s.db.Query(ctx, `SELECT `+usageColumns+usageFrom+where.String()+` ORDER BY u.created_at, u.stream_id`, where.Args...)
	streams, err := db.Collect(rows, err, scanUsage)
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

// plus adds a later stream of the same task: counts add up, words are the later one's.
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
	later.Detail = Detail{Agents: sumCounts(r.Detail.Agents, later.Detail.Agents), Tools: sumCounts(r.Detail.Tools, later.Detail.Tools)}
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

// TaskUsage is what a task used, all its streams together. NotFound when the caller has
// no such task, or it has used nothing yet.
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
