// Package action makes the log of what an agent did in a task, of the task's journal: an action is an entry with the
// one that ends it, if there is one yet.
package action

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Event is an action of the agent: an entry of the journal with its end, if it has one (agent API,
// agent-audit-log).
type Event struct {
	ID            string         `json:"id"`
	Sequence      int64          `json:"sequence"`
	TaskID        string         `json:"task_id"`
	StreamID      string         `json:"stream_id"`
	EventType     string         `json:"event_type"`
	Action        string         `json:"action"`
	Status        Status         `json:"status"`
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

// Status is the state of an action.
type Status string

// The states of an action.
const (
	Started   Status = "started"
	Completed Status = "completed"
	Failed    Status = "failed"
	Timeout   Status = "timeout"
	Aborted   Status = "aborted"
	Blocked   Status = "blocked" // waits for a person
)

// Statuses are all states.
var Statuses = []Status{Started, Completed, Failed, Timeout, Aborted, Blocked}

// Filter picks events of the log; an empty field picks all.
type Filter struct {
	After     int64 // the sequence of the last event of the page before
	Limit     int
	StreamID  string
	EventType string
	Status    Status
	AgentID   string
	ToolName  string
}

// endOf is the kind of entry that ends an action, by the kind that begins it; empty: the same entry.
var endOf = map[loop.EntryKind]loop.EntryKind{
	loop.ModelCall: loop.ModelAnswer, loop.ToolCall: loop.ToolResult, loop.Question: loop.Answer,
	loop.BranchStart: loop.BranchEnd, loop.Verified: "", loop.Note: "",
}

// Picks reports whether the filter lets an event through, its page aside.
func (f Filter) Picks(d Event) bool {
	return cmp.Or(f.StreamID, d.StreamID) == d.StreamID && cmp.Or(f.EventType, d.EventType) == d.EventType &&
		cmp.Or(f.Status, d.Status) == d.Status && cmp.Or(f.AgentID, d.AgentID) == d.AgentID &&
		cmp.Or(f.ToolName, d.ToolName) == d.ToolName
}

// pairKey is what the two entries of an action have in common.
type pairKey struct {
	stream int
	branch string
	key    string
	end    loop.EntryKind
}

// actionKey is the key that both entries of an action have. Those of a branch are named 0/main/start and 0/main/end;
// a branch begins and ends once, and pairKey has its name.
func actionKey(e loop.Entry) string {
	if e.Kind == loop.BranchStart || e.Kind == loop.BranchEnd {
		return ""
	}
	return e.Key
}

// Planner is the branch of the journal with the built-in planner's steps.
const Planner = "builtin"

// Stream is what the log tells of a stream.
type Stream struct {
	ID    string
	Ended bool
}

// Of is the log of a task, of all its streams by their turns, and its journal.
func Of(taskID string, streams map[int]Stream, entries []loop.Entry) []Event {
	open := map[pairKey]int{}
	var out []Event
	for _, e := range entries {
		key := actionKey(e)
		if i, ok := open[pairKey{e.Stream, e.Branch, key, loop.ToolResult}]; ok && e.Kind == loop.Verified { // of verifying
			out[i].verified(e)
			continue
		}
		end, begins := endOf[e.Kind]
		if !begins {
			if i, ok := open[pairKey{e.Stream, e.Branch, key, e.Kind}]; ok {
				out[i].ended(out[i].end(e), e)
			}
			continue
		}
		d := Event{
			ID: taskID + "-" + strconv.FormatInt(e.Seq, 10), Sequence: e.Seq, TaskID: taskID, EventType: string(e.Kind),
			Status: Started, AgentID: e.Branch, AgentType: agentType(e.Branch), Metadata: map[string]any{},
			StartedAt: e.At.UTC(),
		}
		d.StreamID = streams[e.Stream].ID
		if streams[e.Stream].Ended {
			d.Status = Aborted // unless an entry ends it
		}
		d.begin(e)
		if end == "" {
			d.ended(Completed, e)
		} else {
			open[pairKey{e.Stream, e.Branch, key, end}] = len(out)
		}
		out = append(out, d)
	}
	return out
}

func agentType(branch string) string {
	switch branch {
	case Planner:
		return "planner"
	case "main":
		return "agent"
	}
	return "subagent"
}

// begin fills in the first entry of an action. An entry of another shape leaves fields empty.
func (d *Event) begin(e loop.Entry) {
	switch e.Kind {
	case loop.ModelCall:
		asked := read[loop.Asked](e)
		d.Action, d.Target = "think", asked.Model
		d.Metadata["messages"], d.Metadata["reserved_tokens"] = asked.Messages, asked.Tokens
	case loop.ToolCall:
		called := read[loop.Called](e)
		d.Action, d.ToolName, d.ToolCallID, d.Target = "call_tool", called.Tool, e.Key, targetOf(called.Args)
		if d.AgentType != "planner" { // whose input is the plan, which the task shows
			d.InputSummary = clip(string(called.Args), summaryLength)
		}
	case loop.Question:
		ask := read[loop.Ask](e)
		d.Action, d.ToolName, d.ToolCallID, d.Status = "ask_"+string(ask.Kind), ask.Tool, e.Key, Blocked
		d.InputSummary = clip(ask.Text, summaryLength)
	case loop.BranchStart:
		started := read[loop.Started](e)
		d.Action, d.InputSummary = "start", clip(started.Task, summaryLength)
		if started.ID != "" {
			d.Metadata["subagent_run_id"] = started.ID
		}
	case loop.Verified:
		d.Action = "review"
		d.verified(e)
	case loop.Note:
		remark := read[loop.Remark](e)
		d.Action, d.OutputSummary = remark.Code, clip(remark.Text, summaryLength)
	}
}

// end fills in the last entry of an action, and returns the status that it ended with.
func (d *Event) end(e loop.Entry) Status {
	switch e.Kind {
	case loop.ModelAnswer:
		answered := read[loop.Answered](e)
		d.output(answered.Response.Text, answered.Response.Text)
		d.Metadata["usage"], d.Metadata["cost_micros"] = answered.Response.Usage, e.Cost
		d.Metadata["calls"] = len(answered.Response.Calls)
		if answered.Fault != nil {
			d.ErrorMessage = answered.Fault.Message
			return Failed
		}
	case loop.ToolResult:
		return d.endCall(e)
	case loop.Answer:
		reply := read[loop.Reply](e)
		d.OutputSummary = clip(reply.Text, summaryLength)
		d.Metadata["approved"] = reply.Approve
	case loop.BranchEnd:
		ended := read[loop.Ended](e)
		d.output(ended.Summary, ended.Summary)
		d.Metadata["code"], d.Metadata["status"] = ended.Code, ended.Status
		switch {
		case ended.Status == loop.Failed:
			return Failed
		case ended.Status == loop.Aborted:
			return Aborted
		case ended.Code == loop.CodeTime:
			return Timeout
		}
	}
	return Completed
}

func (d *Event) verified(e loop.Entry) {
	j := read[loop.Verification](e)
	d.OutputSummary = j.Result
	d.Metadata["confirmed"], d.Metadata["tried"] = j.Confirmed, j.Tried
	d.Metadata["reason"], d.Metadata["requests"] = j.Reason, j.Requests
	d.ended(Completed, e)
}

func (d *Event) endCall(e loop.Entry) Status {
	if d.AgentType == "planner" {
		done := read[agent.Done](e)
		d.output(done.Summary, string(done.Output))
		d.ErrorMessage = done.Error
		return statusOfCall(string(done.Status))
	}
	returned := read[loop.Returned](e)
	d.output(returned.Result.Text, returned.Result.Text)
	d.ErrorMessage, d.Metadata["requests"] = returned.Error, returned.Result.Requests
	return statusOfCall(string(returned.Status))
}

func statusOfCall(s string) Status {
	if slices.Contains(Statuses, Status(s)) {
		return Status(s)
	}
	return cmp.Or(map[string]Status{"declined": Aborted, "skipped": Timeout}[s], Failed)
}

func (d *Event) ended(s Status, e loop.Entry) {
	at := e.At.UTC()
	d.Status, d.CompletedAt, d.DurationMS = s, &at, at.Sub(d.StartedAt).Milliseconds()
}

const summaryLength = 300 // bytes of a summary in the log

func (d *Event) output(summary, preview string) {
	d.OutputSummary, d.OutputPreview = clip(summary, summaryLength), clip(preview, 2000)
}

func clip(s string, most int) string { return db.Clean(errs.Clip(s, most)) }

func targetOf(args json.RawMessage) string {
	var named struct {
		URL, Target, Host, Name string
		Targets                 []string
	}
	_ = json.Unmarshal(args, &named) // a model's arguments may be anything
	return clip(cmp.Or(append([]string{named.URL, named.Target, named.Host, named.Name}, named.Targets...)...),
		summaryLength)
}

func read[T any](e loop.Entry) (body T) {
	_ = json.Unmarshal(e.Body, &body)
	return body
}
