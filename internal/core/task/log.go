package task

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// LogEvent is one line of a task's log of the agent's actions: a step of the journal with its
// end, when it has one (agent API, agent-audit-log).
type LogEvent struct {
	ID            string         `json:"id"`
	Sequence      int64          `json:"sequence"`
	TaskID        string         `json:"task_id"`
	StreamID      string         `json:"stream_id"`
	EventType     string         `json:"event_type"`
	Action        string         `json:"action"`
	Status        LogStatus      `json:"status"`
	AgentID       string         `json:"agent_id"`
	AgentType     string         `json:"agent_type"`
	ToolName      string         `json:"tool_name"`
	ToolCallID    string         `json:"tool_call_id"`
	Target        string         `json:"target"`
	InputSummary  string         `json:"input_summary"`
	OutputSummary string         `json:"output_summary"`
	OutputPreview string         `json:"output_preview"`
	ErrorMessage  string         `json:"error_message"`
	Metadata      map[string]any `json:"metadata"`
	StartedAt     time.Time      `json:"started_at"`
	CompletedAt   *time.Time     `json:"completed_at"`
	DurationMS    int64          `json:"duration_ms"`
}

// LogStatus is how an action ended.
type LogStatus string

// The ends of an action.
const (
	LogStarted   LogStatus = "started" // runs
	LogCompleted LogStatus = "completed"
	LogFailed    LogStatus = "failed"
	LogTimeout   LogStatus = "timeout"
	LogAborted   LogStatus = "aborted"
	LogBlocked   LogStatus = "blocked" // waits for a person
)

// LogStatuses are all ends.
var LogStatuses = []LogStatus{LogStarted, LogCompleted, LogFailed, LogTimeout, LogAborted, LogBlocked}

// LogFilter picks lines of the log.
type LogFilter struct {
	After     int64 // the sequence of the last line of the page before
	Limit     int
	StreamID  string
	EventType string
	Status    LogStatus
	AgentID   string
	ToolName  string
}

// begins are the kinds of entry that open a line of the log, with the kind that ends it;
// a verdict and a note are both at once.
var begins = map[loop.EntryKind]loop.EntryKind{
	loop.ModelCall: loop.ModelAnswer, loop.ToolCall: loop.ToolResult, loop.Question: loop.Answer,
	loop.BranchStart: loop.BranchEnd, loop.Verified: "", loop.Note: "",
}

// FindLog lists what the agent did in a task the caller may see, in order, and whether
// there is more.
func (ts *Tasks) FindLog(ctx context.Context, id string, f LogFilter) (events []LogEvent, more bool, err error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return nil, false, err
	}
	streams, err := ts.streams(ctx, t.ID)
	if err != nil {
		return nil, false, err
	}
	entries, err := ts.entries(ctx, ts.db, "task_id = ?", t.ID)
	if err != nil {
		return nil, false, err
	}
	events = []LogEvent{}
	for _, d := range logOf(t, streams, entries) {
		if d.Sequence <= f.After || !f.picks(d) {
			continue
		}
		if len(events) == f.Limit {
			return events, true, nil
		}
		events = append(events, d)
	}
	return events, false, nil
}

func (f LogFilter) picks(d LogEvent) bool {
	for _, pair := range [][2]string{
		{f.StreamID, d.StreamID}, {f.EventType, d.EventType}, {string(f.Status), string(d.Status)}, {f.AgentID, d.AgentID}, {f.ToolName, d.ToolName},
	} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return true
}

// pairKey is what the two entries of a pair have in common.
type pairKey struct {
	turn   int
	branch string
	key    string
	ends   loop.EntryKind
}

// logOf joins the entries of a journal into lines.
func logOf(t Task, streams []Stream, entries []loop.Entry) []LogEvent {
	open := map[pairKey]int{}
	var out []LogEvent
	for _, e := range entries {
		ends, isBegin := begins[e.Kind]
		if i, ok := open[pairKey{e.Turn, e.Branch, e.Key, loop.ToolResult}]; ok && e.Kind == loop.Verified { // the end of verifying
			out[i].judged(read[loop.Verification](e), e.At)
			continue
		}
		if !isBegin {
			if i, ok := open[pairKey{e.Turn, e.Branch, e.Key, e.Kind}]; ok {
				out[i].end(e)
			}
			continue
		}
		d := LogEvent{
			ID: t.ID + "-" + strconv.FormatInt(e.Seq, 10), Sequence: e.Seq, TaskID: t.ID, EventType: string(e.Kind), Status: LogStarted,
			AgentID: e.Branch, AgentType: agentType(e.Branch), Metadata: map[string]any{}, StartedAt: e.At.UTC(),
		}
		if i := slices.IndexFunc(streams, func(s Stream) bool { return s.Turn == e.Turn }); i >= 0 {
			d.StreamID = streams[i].StreamID
			if streams[i].Status.Final() {
				d.Status = LogAborted // and nothing ended it
			}
		}
		d.begin(e)
		if ends == "" {
			d.ended(LogCompleted, e.At)
		} else {
			open[pairKey{e.Turn, e.Branch, e.Key, ends}] = len(out)
		}
		out = append(out, d)
	}
	return out
}

func agentType(branch string) string {
	switch branch {
	case planned:
		return "planner"
	case "main":
		return "agent"
	}
	return "subagent"
}

// begin fills in what the first entry of a line says. A body of another shape leaves
// fields empty: the log shows what there is.
func (d *LogEvent) begin(e loop.Entry) {
	switch e.Kind {
	case loop.ModelCall:
		asked := read[loop.Asked](e)
		d.Action, d.Target = "think", asked.Model
		d.Metadata["messages"], d.Metadata["reserved_tokens"] = asked.Messages, asked.Tokens
	case loop.ToolCall:
		called := read[loop.Called](e)
		d.Action, d.ToolName, d.ToolCallID = "call_tool", called.Tool, e.Key
		d.InputSummary, d.Target = clip(string(called.Args), summaryLength), targetOf(called.Args)
		if d.AgentType == "planner" {
			d.InputSummary = "" // the plan, which the task shows
		}
	case loop.Question:
		ask := read[loop.Ask](e)
		d.Action, d.ToolName, d.ToolCallID, d.Status = "ask_"+string(ask.Kind), ask.Tool, e.Key, LogBlocked
		d.InputSummary = clip(ask.Text, summaryLength)
	case loop.BranchStart:
		started := read[loop.Started](e)
		d.Action, d.InputSummary = "start", clip(started.Task, summaryLength)
		if started.ID != "" {
			d.Metadata["subagent_run_id"] = started.ID
		}
	case loop.Verified:
		d.Action = "review"
		d.judged(read[loop.Verification](e), e.At)
	case loop.Note:
		remark := read[loop.Remark](e)
		d.Action, d.OutputSummary = remark.Code, clip(remark.Text, summaryLength)
	}
}

// end fills in what the second entry of a line says.
func (d *LogEvent) end(e loop.Entry) {
	switch e.Kind {
	case loop.ModelAnswer:
		answered := read[loop.Answered](e)
		d.OutputSummary, d.OutputPreview = clip(answered.Response.Text, summaryLength), clip(answered.Response.Text, previewLength)
		d.Metadata["usage"], d.Metadata["cost_micros"], d.Metadata["calls"] = answered.Response.Usage, e.Cost, len(answered.Response.Calls)
		if answered.Fault != nil {
			d.ErrorMessage = answered.Fault.Message
			d.ended(LogFailed, e.At)
			return
		}
	case loop.ToolResult:
		d.endCall(e)
		return
	case loop.Answer:
		reply := read[loop.Reply](e)
		d.OutputSummary = clip(reply.Text, summaryLength)
		d.Metadata["approved"] = reply.Approve
	case loop.BranchEnd:
		ended := read[loop.Ended](e)
		d.OutputSummary, d.OutputPreview = clip(ended.Summary, summaryLength), clip(ended.Summary, previewLength)
		d.Metadata["code"], d.Metadata["status"] = ended.Code, ended.Status
		switch ended.Status {
		case loop.Failed:
			d.ended(LogFailed, e.At)
			return
		case loop.Aborted:
			d.ended(LogAborted, e.At)
			return
		}
	}
	d.ended(LogCompleted, e.At)
}

func (d *LogEvent) judged(j loop.Verification, at time.Time) {
	d.OutputSummary = j.Result
	d.Metadata["confirmed"], d.Metadata["tried"], d.Metadata["reason"], d.Metadata["requests"] = j.Confirmed, j.Tried, j.Reason, j.Requests
	d.ended(LogCompleted, at)
}

func (d *LogEvent) endCall(e loop.Entry) {
	if d.AgentType == "planner" {
		done := read[agent.Done](e)
		d.OutputSummary, d.OutputPreview, d.ErrorMessage = clip(done.Words, summaryLength), clip(string(done.Output), previewLength), done.Error
		d.ended(statusOfCall(string(done.Status)), e.At)
		return
	}
	returned := read[loop.Returned](e)
	d.OutputSummary, d.OutputPreview, d.ErrorMessage = clip(returned.Result.Text, summaryLength), clip(returned.Result.Text, previewLength), returned.Error
	d.Metadata["requests"] = returned.Result.Requests
	d.ended(statusOfCall(string(returned.Status)), e.At)
}

// statusOfCall is the log's word for how a call ended.
func statusOfCall(s string) LogStatus {
	if status := LogStatus(s); slices.Contains(LogStatuses, status) {
		return status
	}
	return map[string]LogStatus{"declined": LogAborted, "skipped": LogTimeout}[s] // else: failed
}

func (d *LogEvent) ended(s LogStatus, at time.Time) {
	if s == "" {
		s = LogFailed
	}
	at = at.UTC()
	d.Status, d.CompletedAt, d.DurationMS = s, &at, at.Sub(d.StartedAt).Milliseconds()
}

// The lengths to which texts of the log are cut, in bytes.
const (
	summaryLength = 300
	previewLength = 2000
)

func clip(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return db.Clean(s)
}

// targetOf is what a call is about, by the usual names of arguments.
func targetOf(args json.RawMessage) string {
	var named struct {
		URL, Target, Host, Name string
		Targets                 []string
	}
	_ = json.Unmarshal(args, &named) // a model's arguments may be anything
	for _, s := range append([]string{named.URL, named.Target, named.Host, named.Name}, named.Targets...) {
		if s != "" {
			return clip(s, summaryLength)
		}
	}
	return ""
}

func read[T any](e loop.Entry) (body T) {
	_ = json.Unmarshal(e.Body, &body)
	return body
}
