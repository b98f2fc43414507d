package agentapi

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// UsageRow is the usage of a stream, or of all streams of a task.
type UsageRow struct {
	TaskID           string         `json:"task_id"`
	TaskTitle        string         `json:"task_title"`
	StreamID         string         `json:"stream_id" doc:"The stream; of a task its newest."`
	StreamCount      int            `json:"stream_count" doc:"Number of streams in this row."`
	Email            string         `json:"email"`
	Model            string         `json:"model" doc:"The model, or builtin."`
	Provider         string         `json:"provider"`
	Status           string         `json:"status" doc:"completed, error, failed or aborted; another word while it runs."`
	CreatedAt        time.Time      `json:"created_at"`
	StepCount        int            `json:"step_count" doc:"Number of model calls."`
	ToolCalls        int            `json:"tool_calls"`
	AgentTriggers    int            `json:"agent_triggers" doc:"Number of branches."`
	AgentBreakdown   map[string]int `json:"agent_breakdown" doc:"Steps by branch."`
	ToolBreakdown    map[string]int `json:"tool_breakdown" doc:"Calls by tool."`
	ToolCallHistory  []UsageCall    `json:"tool_call_history" doc:"The calls of a stream, at most 500; of a task with several streams none."`
	AvgStepLatencyMS *int64         `json:"avg_step_latency_ms" doc:"Average duration of a model call; null without one."`
	LLMTimeMS        int64          `json:"llm_time_ms"`
	ToolTimeMS       int64          `json:"tool_time_ms"`
	TotalExecutionMS int64          `json:"total_execution_ms"`
	Tokens           UsageTokens    `json:"tokens"`
	LLMCost          float64        `json:"llm_cost"`
	VedetteCost      float64        `json:"vedette_cost" doc:"The part of it that the server's operator paid; 0 with keys of your own."`
	VedetteCredits   float64        `json:"vedette_credits" doc:"The same in credits, of which one is a US dollar."`
	Priced           bool           `json:"priced" doc:"Whether the model's price is known; else its cost counts as 0."`
	IsBYOK           bool           `json:"is_byok"`
	ErrorMessage     *string        `json:"error_message"`
}

// UsageTokens are tokens by how they are billed.
type UsageTokens struct {
	Input      int `json:"input" doc:"Without what came from the provider's cache or went into it."`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// UsageCall is one call of a tool.
type UsageCall struct {
	Index      int       `json:"index"`
	ToolName   string    `json:"tool_name"`
	DurationMS int64     `json:"duration_ms"`
	Timestamp  time.Time `json:"timestamp"`
}

func usageRow(r model.Row) UsageRow {
	out := UsageRow{
		TaskID: r.TaskID, TaskTitle: r.Title, StreamID: r.StreamID, StreamCount: r.Streams, Email: r.Email, Model: r.Model,
		Provider: string(r.Provider),
		Status:   r.Status, CreatedAt: r.CreatedAt, StepCount: r.Steps, ToolCalls: r.Calls, AgentTriggers: r.Agents,
		AgentBreakdown: rest.OrEmptyMap(r.Detail.Agents), ToolBreakdown: rest.OrEmptyMap(r.Detail.Tools),
		ToolCallHistory: make([]UsageCall, len(r.Detail.History)), LLMTimeMS: r.LLM.Milliseconds(),
		ToolTimeMS: r.Tools.Milliseconds(), TotalExecutionMS: r.Total.Milliseconds(),
		Tokens:  UsageTokens{r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite},
		LLMCost: usd(r.Micros), VedetteCost: usd(r.Server), VedetteCredits: usd(r.Server), Priced: r.Priced, IsBYOK: r.BYOK,
	}
	for i, c := range r.Detail.History {
		out.ToolCallHistory[i] = UsageCall{i, c.Tool, c.Duration, c.At}
	}
	if r.Steps > 0 {
		out.AvgStepLatencyMS = new(r.LLM.Milliseconds() / int64(r.Steps))
	}
	if r.Error != "" {
		out.ErrorMessage = &r.Error
	}
	return out
}

// UsageList is a page of usage rows.
type UsageList struct {
	Data    []UsageRow `json:"data"`
	HasMore bool       `json:"has_more"`
	Total   int        `json:"total"`
}

// UsageQuery filters usage rows.
type UsageQuery struct {
	TaskID string    `query:"task_id" maxLength:"64" doc:"Only this task."`
	Status string    `query:"status" enum:"completed,error,failed,aborted" doc:"Only with this status."`
	Model  string    `query:"model" maxLength:"200" doc:"Only those of this model."`
	Email  string    `query:"email" maxLength:"254" doc:"Only those of this member, for admins."`
	Search string    `query:"search" maxLength:"200" doc:"A part of a task's id or of an email address."`
	From   time.Time `query:"from" doc:"Only those that began then or later."`
	To     time.Time `query:"to" doc:"Only those that began then or earlier."`
	IsBYOK string    `query:"is_byok" enum:"true,false" doc:"Only with own keys, or only without."`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Offset int       `query:"offset" minimum:"0" maximum:"2147483648" doc:"How many to skip."`
}

func (q UsageQuery) filter() (model.UsageFilter, page.Window) {
	f := model.UsageFilter{TaskID: q.TaskID, Status: q.Status, Model: q.Model, Email: q.Email, Search: q.Search,
		From: q.From, To: q.To}
	if q.IsBYOK != "" {
		f.BYOK = new(q.IsBYOK == "true")
	}
	return f, page.Window{Offset: q.Offset, Limit: q.Limit}
}

func usageList(rows []model.Row, total int, w page.Window, err error) (*UsageList, error) {
	return &UsageList{rest.Each(rows, usageRow), w.Offset+len(rows) < total, total}, err
}

func (s surface) usage() {
	const path, tag = "/api/v1/usage", "Usage"
	const whose = "In a team of one, the member sees their own usage; in a larger team, admins see the team's and other members get 403."
	tasks := op("list-task-usage", "GET "+path+"/tasks", tag, "List the usage of tasks, newest first")
	tasks.Description = "A row sums up all streams of a task; the filters apply to its newest. " + whose
	rest.Handle(s.API, tasks, func(ctx context.Context, in *UsageQuery) (*UsageList, error) {
		f, w := in.filter()
		rows, total, err := s.Models.FindTasks(ctx, f, w)
		return usageList(rows, total, w, err)
	})
	one := op("get-task-usage", "GET "+path+"/tasks/{task_id}", tag, "Get the usage of a task", 404)
	one.Description = whose
	rest.Handle(s.API, one, func(ctx context.Context, in *struct {
		TaskID string `path:"task_id" format:"uuid" doc:"The task's id."`
	}) (*UsageRow, error) {
		return bodyOf(usageRow)(s.Models.TaskUsage(ctx, in.TaskID))
	})
	streams := op("list-stream-usage", "GET "+path+"/streams", tag, "List the usage of streams")
	streams.Description = whose
	rest.Handle(s.API, streams, func(ctx context.Context, in *struct {
		UsageQuery
		StreamID string `query:"stream_id" maxLength:"64" doc:"Only this stream."`
		Sort     string `query:"sort" enum:"created_at,cost" default:"created_at" doc:"created_at: the newest first. cost: the most expensive first."`
	}) (*UsageList, error) {
		f, w := in.filter()
		f.StreamID, f.ByCost = in.StreamID, in.Sort == "cost"
		rows, total, err := s.Models.FindStreams(ctx, f, w)
		return usageList(rows, total, w, err)
	})
	s.usageSummary(path, tag, whose)
}

// UsageSummary is the usage in a time range, in total and by model, member and period.
type UsageSummary struct {
	ByModel             map[string]int `json:"by_model" doc:"Tasks by model."`
	ByStatus            map[string]int `json:"by_status" doc:"Tasks by status."`
	CostByModel         []UsageShare   `json:"cost_by_model"`
	ByEmail             []EmailShare   `json:"by_email" doc:"By member, the most expensive first."`
	ByPeriod            []PeriodShare  `json:"by_period" doc:"By period, the earliest first, without those in which nothing was used."`
	BYOK                BYOKSum        `json:"byok" doc:"The part that was paid with keys of your own."`
	TotalVedetteCredits float64        `json:"total_vedette_credits" doc:"What the operator paid, in credits, of which one is a US dollar."`
	TotalLLMCost        float64        `json:"total_llm_cost"`
	TotalTasks          int            `json:"total_tasks"`
	TotalSteps          int            `json:"total_steps"`
	TotalToolCalls      int            `json:"total_tool_calls"`
	TotalAgentTriggers  int            `json:"total_agent_triggers"`
	TotalExecutionMS    int64          `json:"total_execution_ms"`
}

// Share is the cost of one part.
type Share struct {
	LLMCost        float64 `json:"llm_cost"`
	VedetteCredits float64 `json:"vedette_credits"`
	Tasks          int     `json:"tasks"`
}

func share(s model.Share) Share { return Share{usd(s.Micros), usd(s.Server), s.Tasks} }

// UsageShare is a model's part.
type UsageShare struct {
	Model string `json:"model"`
	Share
}

// EmailShare is a member's part.
type EmailShare struct {
	Email string `json:"email"`
	Share
}

// PeriodShare is the part of a day, a week or a month.
type PeriodShare struct {
	Date string `json:"date" doc:"The first day of the period, such as 2026-01-31."`
	Share
}

// BYOKSum is the part that was paid with users' own keys.
type BYOKSum struct {
	TotalLLMCost     float64 `json:"total_llm_cost"`
	TotalVedetteCost float64 `json:"total_vedette_cost" doc:"Always 0."`
	TotalStreams     int     `json:"total_streams"`
	TotalTasks       int     `json:"total_tasks"`
}

func (s surface) usageSummary(path, tag, whose string) {
	summary := op("get-usage-summary", "GET "+path+"/summary", tag,
		"Get the usage in a time range, by model, member and period")
	summary.Description = whose
	rest.Handle(s.API, summary, func(ctx context.Context, in *struct {
		From    time.Time `query:"from" doc:"What began then or later; absent: from the beginning."`
		To      time.Time `query:"to" doc:"What began then or earlier; absent: until now."`
		GroupBy string    `query:"group_by" enum:"day,week,month" default:"day" doc:"The periods, in UTC; a week begins on a Monday."`
	}) (*UsageSummary, error) {
		sum, err := s.Models.Summarise(ctx, in.From, in.To, model.Period(in.GroupBy))
		out := UsageSummary{
			ByModel: map[string]int{}, ByStatus: map[string]int{}, CostByModel: []UsageShare{},
			ByEmail: rest.Each(sum.ByEmail, func(m model.Share) EmailShare { return EmailShare{m.Name, share(m)} }),
			ByPeriod: rest.Each(sum.ByPeriod,
				func(m model.Share) PeriodShare { return PeriodShare{m.Name, share(m)} }),
			BYOK: BYOKSum{TotalLLMCost: usd(sum.BYOK.Micros), TotalStreams: sum.BYOK.Streams,
				TotalTasks: sum.BYOK.Tasks},
			TotalVedetteCredits: usd(sum.All.Server), TotalLLMCost: usd(sum.All.Micros), TotalTasks: sum.All.Tasks,
			TotalSteps:     sum.All.Steps,
			TotalToolCalls: sum.All.Calls, TotalAgentTriggers: sum.All.Agents, TotalExecutionMS: sum.All.Total.Milliseconds(),
		}
		for _, m := range sum.ByModel {
			out.ByModel[m.Name] = m.Tasks
			out.CostByModel = append(out.CostByModel, UsageShare{m.Name, share(m)})
		}
		for _, status := range sum.ByStatus {
			out.ByStatus[status.Name] = status.Tasks
		}
		return &out, err
	})
}
