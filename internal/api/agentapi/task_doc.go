package agentapi

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/schedules"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// TaskDoc is a task in an answer.
type TaskDoc struct {
	ID                 string          `json:"id"`
	Title              string          `json:"title"`
	Task               string          `json:"task" doc:"The instruction."`
	Status             task.Status     `json:"status"`
	CompletionDelivery *task.Delivery  `json:"completion_delivery"`
	StreamID           string          `json:"stream_id"`
	CreatedBy          string          `json:"created_by" doc:"The email address of the user who created it."`
	Visibility         task.Visibility `json:"visibility" doc:"Who sees it besides its owner."`
	Model              string          `json:"model" doc:"The model; builtin: no language model."`
	Mode               string          `json:"mode"`
	ProjectID          string          `json:"project_id,omitempty"`
	IsIsolated         bool            `json:"is_isolated" doc:"As in the request."`
	IsScheduled        bool            `json:"is_scheduled" doc:"Whether a schedule made it."`
	SecretNames        []string        `json:"secret_names" doc:"The names of the secrets in the request."`
	Summary            string          `json:"summary"`
	IssueCount         int             `json:"issue_count"`
	CreatedAt          time.Time       `json:"created_at"`
	UpdatedAt          time.Time       `json:"updated_at"`
	StartedAt          *time.Time      `json:"started_at"`
	CompletedAt        *time.Time      `json:"completed_at"`
}

func taskDoc(t task.Task) TaskDoc {
	doc := TaskDoc{
		ID: t.ID, Title: t.Title, Task: t.Instruction, Status: t.Status, StreamID: t.StreamID, CreatedBy: t.Owner,
		Visibility: t.Visibility, Model: t.Model,
		Mode: t.Options.Mode, ProjectID: t.ProjectID, IsIsolated: t.Options.Isolated, IsScheduled: t.ScheduleID != "",
		SecretNames: append([]string{}, t.Options.Secrets...),
		Summary:     t.Summary, IssueCount: t.Issues, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		StartedAt: rest.OrNull(t.StartedAt), CompletedAt: rest.OrNull(t.CompletedAt),
	}
	if doc.Mode == "" {
		doc.Mode = "agent"
	}
	if t.Delivery != task.NoDelivery {
		doc.CompletionDelivery = &t.Delivery
	}
	return doc
}

// TaskList is a page of tasks.
type TaskList struct {
	Tasks      []TaskDoc `json:"tasks" doc:"The page."`
	Total      int       `json:"total"`
	HasMore    bool      `json:"has_more"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// PageQuery selects a page.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Cursor string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
}

// pageOf removes the item that was read beyond the page, and returns the cursor of the next page.
func pageOf[T any](items []T, limit int, id func(T) string) (page []T, more bool, next string) {
	if len(items) <= limit {
		return items, false, ""
	}
	return items[:limit], true, id(items[limit-1])
}

func (s surface) listTasks(ctx context.Context, in *struct {
	PageQuery
	Status    string `query:"status" enum:"queued,running,suspended,resuming,completed,failed,aborted" doc:"Only those in this state."`
	ProjectID string `query:"project_id" format:"uuid" doc:"Those of this project, whoever owns them; default: your own."`
	Scheduled string `query:"scheduled" enum:"true,false" doc:"Only those that a schedule created, or only others."`
}) (*TaskList, error) {
	f := task.Filter{
		ProjectID: strings.ToLower(in.ProjectID),
		Status:    task.Status(in.Status),
		After:     in.Cursor,
		Limit:     in.Limit + 1,
	}
	if in.Scheduled != "" {
		f.Scheduled = new(in.Scheduled == "true")
	}
	found, total, err := s.Tasks.FindAll(ctx, f)
	if err != nil {
		return nil, err
	}
	list := TaskList{Total: total}
	found, list.HasMore, list.NextCursor = pageOf(found, in.Limit, func(t task.Task) string { return t.ID })
	list.Tasks = rest.Each(found, taskDoc)
	return &list, nil
}

// TaskDetail is a task with its messages, issues and streams.
type TaskDetail struct {
	Task       TaskDoc         `json:"task" doc:"The task."`
	Status     task.Status     `json:"status"`
	Messages   []chatMessage   `json:"messages"`
	Plan       json.RawMessage `json:"plan,omitempty" doc:"The plan, and the parts of the instruction that were not understood."`
	Pending    json.RawMessage `json:"pending,omitempty" doc:"Open questions of a suspended task, for POST …/approve."`
	Issues     []task.Issue    `json:"issues" doc:"Its verified issues, newest first; at most 1000."`
	ReadOnly   bool            `json:"read_only" doc:"Whether another member of your team owns it."`
	Stream     streamDoc       `json:"stream" doc:"Its newest output stream."`
	StreamURLs []streamLink    `json:"streamUrls" doc:"Where to follow it."`
	Streams    []streamRow     `json:"streams" doc:"All of its output streams, one a turn."`
	Schedule   *schedules.Info `json:"schedule_info,omitempty" doc:"The schedule that created it; absent: a person did, or it was deleted."`
}

type chatMessage struct {
	Role      string    `json:"role" enum:"user,assistant" doc:"Who wrote it."`
	Text      string    `json:"text" doc:"The text."`
	CreatedAt time.Time `json:"created_at"`
}

// The mixed casing of these three is what clients of the public service know.
type streamDoc struct {
	HasStream bool         `json:"hasStream" doc:"Always true."`
	StreamID  string       `json:"streamId"`
	Status    task.Status  `json:"streamStatus" doc:"How far the task is."`
	LastSeq   int64        `json:"last_seq" doc:"The number of the stream's last event so far."`
	RunConfig task.Options `json:"run_config"`
}

type streamLink struct {
	StreamID string      `json:"streamId"`
	URL      string      `json:"url" doc:"From the server's root."`
	Status   task.Status `json:"status"`
}

type streamRow struct {
	StreamID    string       `json:"stream_id"`
	Status      task.Status  `json:"status"`
	CreatedAt   time.Time    `json:"created_at"`
	CompletedAt *time.Time   `json:"completed_at"`
	RunConfig   task.Options `json:"run_config"`
}

const detailIssues = 1000

func (s surface) getTask(ctx context.Context, in *TaskPath) (*TaskDetail, error) {
	t, err := s.Tasks.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	issues, _, err := s.Tasks.FindIssues(ctx, task.IssueFilter{TaskID: t.ID, Limit: detailIssues})
	if err != nil {
		return nil, err
	}
	streams, err := s.Tasks.Streams(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	caller, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	detail := TaskDetail{
		Task: taskDoc(t), Status: t.Status, Plan: t.Plan, Issues: issues, ReadOnly: caller.UserID != t.UserID,
		Messages: messages(streams), Pending: t.Pending,
		Stream: streamDoc{HasStream: true, StreamID: t.StreamID, Status: t.Status, LastSeq: t.LastSeq, RunConfig: t.Options},
	}
	if detail.Schedule, err = schedules.InfoOf(ctx, s.Schedules, t); err != nil {
		return nil, err
	}
	for _, one := range streams {
		detail.StreamURLs = append(detail.StreamURLs,
			streamLink{one.StreamID, streamURL(t) + "?stream_id=" + one.StreamID, one.Status})
		detail.Streams = append(detail.Streams,
			streamRow{one.StreamID, one.Status, one.RequestedAt, rest.OrNull(one.CompletedAt), one.Options})
	}
	return &detail, nil
}

// messages are the instructions and results of a task's streams.
func messages(streams []task.Stream) (out []chatMessage) {
	for _, one := range streams {
		out = append(out, chatMessage{Role: "user", Text: one.Instruction, CreatedAt: one.RequestedAt})
		if one.Status.Final() {
			out = append(out, chatMessage{Role: "assistant", Text: one.Summary, CreatedAt: one.CompletedAt})
		}
	}
	return out
}

// ArtifactWrapper is an artifact with its task.
type ArtifactWrapper struct {
	TaskID             string                  `json:"task_id"`
	CompletionDelivery task.Delivery           `json:"completion_delivery"`
	Artifact           task.CompletionArtifact `json:"artifact" doc:"The artifact, without event."`
}

func (s surface) getArtifact(ctx context.Context, in *struct {
	TaskPath
	Refresh bool `query:"refresh" doc:"Build the artifact anew from the task's current issues, its summary too, and store it."`
}) (*ArtifactWrapper, error) {
	artifact, err := s.Tasks.FindArtifact(ctx, in.ID, in.Refresh)
	return &ArtifactWrapper{artifact.TaskID, artifact.CompletionDelivery, artifact}, err
}
