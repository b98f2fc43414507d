package agentapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TaskDecision is the body of POST /api/v1/tasks/{id}/approve.
type TaskDecision struct {
	Decision   string         `json:"decision" enum:"approve,decline" doc:"Whether what is asked may happen. A question is answered with approve, and the answer in text or metadata."`
	Text       string         `json:"text,omitempty" maxLength:"20000" doc:"The answer to a question, or the reason to decline."`
	Metadata   map[string]any `json:"metadata,omitempty" doc:"Answers for the tool that asked."`
	AgentID    string         `json:"agent_id,omitempty" maxLength:"256" doc:"The branch that asks, where several do."`
	RunID      string         `json:"run_id,omitempty" maxLength:"256" doc:"As agent_id."`
	ToolCallID string         `json:"tool_call_id,omitempty" maxLength:"256" doc:"The key of the question that is meant, where there are several."`
}

// TaskDecided is the answer to a decision.
type TaskDecided struct {
	Success  bool   `json:"success" doc:"Always true: what cannot be decided is refused with an error."`
	Error    string `json:"error" doc:"Always empty."`
	StreamID string `json:"stream_id"`
}

// AbortTools is the body of POST /api/v1/tasks/{id}/abort-tools.
type AbortTools struct {
	SubagentRunID string `json:"subagent_run_id,omitempty" maxLength:"256" doc:"The sub-agent to stop, with all that it does."`
	ToolCallID    string `json:"tool_call_id,omitempty" maxLength:"256" doc:"The call of a tool to stop."`
}

// AbortedTools is the answer to AbortTools.
type AbortedTools struct {
	Message       string          `json:"message"`
	StreamID      string          `json:"stream_id"`
	Success       bool            `json:"success" doc:"Always true: to stop what has ended is no error."`
	Found         bool            `json:"found" doc:"Whether it was running; false for a wrong id, too."`
	Target        task.StopTarget `json:"target" doc:"Kind of what was to be stopped."`
	SubagentRunID string          `json:"subagent_run_id,omitempty" doc:"As in the request."`
	ToolCallID    string          `json:"tool_call_id,omitempty" doc:"As in the request."`
}

// TaskPatch is the body of PATCH /api/v1/tasks/{id}; absent fields stay.
type TaskPatch struct {
	Title      *string          `json:"title,omitempty" minLength:"1" maxLength:"200" doc:"What the task is called; its first line."`
	Visibility *task.Visibility `json:"visibility,omitempty" enum:"private,team,unlisted,public" doc:"Who sees it besides its owner, who alone decides that."`
}

func (s surface) decisions() {
	const path, tag = "/api/v1/tasks/{id}", "Tasks"
	approve := op("approve-task", "POST "+path+"/approve", tag, "Answer the question of a suspended task", 404, 409)
	approve.Description = "Of several decisions at once, one counts: the task goes from suspended to resuming once. " +
		"409: it does not wait for a decision."
	rest.Handle(s.API, approve, func(ctx context.Context, in *struct {
		TaskPath
		Body TaskDecision
	}) (*TaskDecided, error) {
		d := task.Decision{Approve: in.Body.Decision == "approve", Text: in.Body.Text, Branch: in.Body.AgentID,
			CallID: in.Body.ToolCallID}
		if d.Branch == "" {
			d.Branch = in.Body.RunID
		}
		if in.Body.Metadata != nil {
			var err error
			if d.Metadata, err = json.Marshal(in.Body.Metadata); err != nil {
				return nil, errs.Field("metadata", "metadata is not valid JSON.").Because(err)
			}
		}
		t, err := s.Tasks.Approve(ctx, in.ID, d)
		return &TaskDecided{Success: true, StreamID: t.StreamID}, err
	})

	rest.Handle(s.API, op("abort-task-tools", "POST "+path+"/abort-tools", tag,
		"Stop one call of a tool, or one sub-agent; the task goes on", 404),
		func(ctx context.Context, in *struct {
			TaskPath
			Body AbortTools
		}) (*AbortedTools, error) {
			out := AbortedTools{Success: true, Target: task.StopTool, SubagentRunID: in.Body.SubagentRunID,
				ToolCallID: in.Body.ToolCallID}
			id := in.Body.ToolCallID
			if (id == "") == (in.Body.SubagentRunID == "") {
				return nil, errs.Field("tool_call_id", "Send exactly one of tool_call_id and subagent_run_id.")
			}
			if id == "" {
				out.Target, id = task.StopSubagent, in.Body.SubagentRunID
			}
			t, found, err := s.Tasks.Stop(ctx, in.ID, out.Target, id)
			out.Found, out.StreamID, out.Message = found, t.StreamID, "It is being stopped."
			if !found {
				out.Message = "There is nothing under way with this id."
			}
			return &out, err
		})

	rest.Handle(s.API, op("update-task", "PATCH "+path, tag, "Change the title or the visibility of a task", 404),
		func(ctx context.Context, in *struct {
			TaskPath
			Body TaskPatch
		}) (*TaskDoc, error) {
			return bodyOf(taskDoc)(s.Tasks.Update(ctx, in.ID, task.Update(in.Body)))
		})

	act(s, op("delete-task", "DELETE "+path, tag,
		"Delete a task with its issues, streams and log; a running one is stopped", 404), "The task is deleted.",
		func(ctx context.Context, in *TaskPath) error { return s.Tasks.Delete(ctx, in.ID) })
	s.sharing()
}

// SharedTask is the part of a public or unlisted task that can be read without credentials.
type SharedTask struct {
	ID          string          `json:"id"`
	Title       string          `json:"title"`
	Status      task.Status     `json:"status"`
	Visibility  task.Visibility `json:"visibility" doc:"public or unlisted."`
	ReadOnly    bool            `json:"read_only" doc:"Always true."`
	Messages    []chatMessage   `json:"messages"`
	Issues      []task.Issue    `json:"issues" doc:"Its verified issues, the worst first, without their evidence."`
	CreatedAt   time.Time       `json:"created_at"`
	CompletedAt *time.Time      `json:"completed_at"`
}

func (s surface) sharing() {
	share := op("share-task", "GET /api/v1/tasks/{id}/share", "Tasks",
		"Read a task that is public or unlisted, without credentials", 404)
	share.Auth = rest.None
	rest.Handle(s.API, share, func(ctx context.Context, in *TaskPath) (*SharedTask, error) {
		t, streams, issues, err := s.Tasks.Shared(ctx, in.ID)
		return &SharedTask{
			ID: t.ID, Title: t.Title, Status: t.Status, Visibility: t.Visibility, ReadOnly: true, Messages: messages(streams),
			Issues:    issues,
			CreatedAt: t.CreatedAt, CompletedAt: rest.OrNull(t.CompletedAt),
		}, err
	})
}
