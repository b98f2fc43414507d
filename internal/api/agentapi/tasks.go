package agentapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/ids"
	"github.com/vedette-sec/vedette/internal/task"
)

// TaskRequest is the body of POST /api/v1/tasks.
type TaskRequest struct {
	Task               string       `json:"task,omitempty" maxLength:"65536" doc:"The instruction, in plain language. Required unless message is given."`
	Message            *TaskMessage `json:"message,omitempty" doc:"The instruction in structured form, instead of task."`
	CompletionDelivery *string      `json:"completion_delivery,omitempty" nullable:"true" enum:"webhook,artifact" doc:"What to do with the completion artifact; without it the results stay in the service."`
	ResponseFormat     string       `json:"response_format,omitempty" enum:"sse,json" doc:"sse: the answer is the task's stream. json: 202 with the task's ids. Without it, the Accept header decides."`
	ID                 string       `json:"id,omitempty" format:"uuid" doc:"The new task's id; made by the server when absent."`
	Mode               string       `json:"mode,omitempty" enum:"agent,chat,plan" doc:"How to work; kept and shown. The built-in planner always works as an agent."`
	AutoExecute        bool         `json:"auto_execute,omitempty" doc:"Kept and shown."`
	AskQuestion        bool         `json:"ask_question,omitempty" doc:"Kept and shown."`
	AgentID            string       `json:"agent_id,omitempty" maxLength:"128" doc:"Kept and shown."`
	AgentIDs           []string     `json:"agent_ids,omitempty" maxItems:"50" doc:"Kept and shown."`
	MaxSteps           *int         `json:"max_steps,omitempty" minimum:"4" maximum:"200" doc:"Kept and shown."`
	MaxIterations      *int         `json:"max_iterations,omitempty" minimum:"0" maximum:"5" doc:"Kept and shown."`
	Isolated           bool         `json:"isolated,omitempty" doc:"Kept and shown."`
	Model              string       `json:"model,omitempty" maxLength:"128" doc:"Kept and shown; the built-in planner uses no model."`
	ProjectID          string       `json:"project_id,omitempty" format:"uuid" doc:"Kept and shown."`
	FileKeys           []string     `json:"file_keys,omitempty" maxItems:"100" doc:"Kept and shown."`
	Secrets            []string     `json:"secrets,omitempty" maxItems:"100" doc:"Names of the secrets this task may use."`
	Visibility         string       `json:"visibility,omitempty" enum:"private,team,unlisted,public" doc:"Kept and shown; a task is seen by its team."`
}

// TaskMessage is an instruction in parts.
type TaskMessage struct {
	ID    string     `json:"id,omitempty" format:"uuid" doc:"Accepted and ignored."`
	Role  string     `json:"role,omitempty" enum:"user" doc:"Who speaks: always the user."`
	Parts []TaskPart `json:"parts" maxItems:"100" doc:"The parts in their order; those of type text are the instruction."`
}

// TaskPart is one part of a message.
type TaskPart struct {
	Type      string `json:"type" maxLength:"64" doc:"text, or another type, which is accepted and ignored."`
	Text      string `json:"text,omitempty" doc:"The text of a part of type text."`
	MediaType string `json:"media_type,omitempty" doc:"Accepted and ignored."`
	Name      string `json:"name,omitempty" doc:"Accepted and ignored."`
	URL       string `json:"url,omitempty" doc:"Accepted and ignored."`
}

func (r TaskRequest) newTask() (task.NewTask, error) {
	instruction := r.Task
	if r.Message != nil {
		if instruction != "" {
			return task.NewTask{}, errs.Field("message", "Send task or message, not both.")
		}
		var texts []string
		for _, part := range r.Message.Parts {
			if part.Type == "text" {
				texts = append(texts, part.Text)
			}
		}
		instruction = strings.Join(texts, "\n")
	}
	n := task.NewTask{
		ID: strings.ToLower(r.ID), Instruction: instruction,
		Options: task.Options{
			Mode: r.Mode, AutoExecute: r.AutoExecute, AskQuestion: r.AskQuestion, AgentID: r.AgentID, AgentIDs: r.AgentIDs,
			MaxSteps: r.MaxSteps, MaxIterations: r.MaxIterations, Isolated: r.Isolated, Model: r.Model, ProjectID: r.ProjectID,
			FileKeys: r.FileKeys, Secrets: r.Secrets, Visibility: r.Visibility,
		},
	}
	if n.ID != "" && !ids.IsUUID(n.ID) { // the contract's format also takes other spellings
		return task.NewTask{}, errs.Field("id", "id must be a uuid of 36 characters.")
	}
	if r.CompletionDelivery != nil {
		n.Delivery = task.Delivery(*r.CompletionDelivery)
	}
	return n, nil
}

// wantsJSON reports whether the answer is the 202 document rather than the stream.
func (r TaskRequest) wantsJSON(accept string) bool {
	if r.ResponseFormat != "" {
		return r.ResponseFormat == "json"
	}
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, eventStream)
}

// TaskAccepted is the 202 answer.
type TaskAccepted struct {
	TaskID    string      `json:"task_id"`
	StreamID  string      `json:"stream_id"`
	Status    task.Status `json:"status" doc:"How far the task is."`
	StreamURL string      `json:"stream_url" doc:"Where to follow the task, from the server's root."`
	CreatedAt time.Time   `json:"created_at"`
}

func streamURL(t task.Task) string { return "/api/v1/tasks/" + t.ID + "/stream" }

func (s surface) tasks() {
	const path, tag = "/api/v1/tasks", "Tasks"
	create := op("create-task", http.MethodPost, path, tag, "Hand over a task")
	create.DefaultStatus = http.StatusAccepted
	create.Errors = []int{409}
	create.Responses = map[string]*huma.Response{
		"200": eventStreamResponse("The task's stream, from its first event to its last."),
		"202": {Description: "The task is on disk and will run.", Content: map[string]*huma.MediaType{
			"application/json": {Schema: s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[TaskAccepted](), true, "TaskAccepted")},
		}},
	}
	rest.Register(s.API, create, func(ctx context.Context, in *struct {
		Accept string `header:"Accept" doc:"application/json asks for the 202 document; otherwise the answer is the stream."`
		Body   TaskRequest
	}) (*huma.StreamResponse, error) {
		n, err := in.Body.newTask()
		if err != nil {
			return nil, err
		}
		t, err := s.Tasks.Create(ctx, n)
		if err != nil {
			return nil, err
		}
		rest.About(ctx, t.ID)
		if in.Body.wantsJSON(in.Accept) {
			return &huma.StreamResponse{Body: func(out huma.Context) {
				out.SetStatus(http.StatusAccepted)
				out.SetHeader("Content-Type", "application/json")
				// The answer is written to memory by net/http; a client that has gone loses nothing.
				_ = json.NewEncoder(out.BodyWriter()).Encode(TaskAccepted{t.ID, t.StreamID, t.Status, streamURL(t), t.CreatedAt})
			}}, nil
		}
		return s.stream(ctx, t, 0)
	})

	rest.Register(s.API, op("list-tasks", http.MethodGet, path, tag, "List your tasks, newest first"), s.listTasks)

	get := op("get-task", http.MethodGet, path+"/{id}", tag, "A task of your team, with its issues")
	get.Errors = []int{404}
	rest.Register(s.API, get, s.getTask)

	abort := op("abort-task", http.MethodPost, path+"/{id}/abort", tag, "Stop a task; what it found until then is kept")
	abort.Errors = []int{404}
	abort.Description = "A task that waits ends at once; one that runs ends within seconds. For a task that has ended nothing changes."
	rest.Register(s.API, abort, func(ctx context.Context, in *TaskPath) (*struct{ Body TaskAccepted }, error) {
		t, err := s.Tasks.Abort(ctx, in.ID)
		return &struct{ Body TaskAccepted }{TaskAccepted{t.ID, t.StreamID, t.Status, streamURL(t), t.CreatedAt}}, err
	})

	artifacts := op("get-task-artifact", http.MethodGet, path+"/{id}/artifacts", tag, "The completion artifact of a task")
	artifacts.Errors = []int{404}
	rest.Register(s.API, artifacts, s.getArtifact)
}

// TaskPath names a task. huma reads embedded fields of exported types only.
type TaskPath struct {
	ID string `path:"id" doc:"The task's id."`
}

// TaskDoc is a task in an answer.
type TaskDoc struct {
	ID                 string         `json:"id"`
	Title              string         `json:"title"`
	Task               string         `json:"task" doc:"The instruction."`
	Status             task.Status    `json:"status" doc:"How far the task is."`
	CompletionDelivery *task.Delivery `json:"completion_delivery"`
	StreamID           string         `json:"stream_id"`
	CreatedBy          string         `json:"created_by" doc:"The email address of the user who handed it over."`
	Model              string         `json:"model" doc:"What plans it; builtin: no language model."`
	Mode               string         `json:"mode"`
	ProjectID          string         `json:"project_id,omitempty"`
	IsIsolated         bool           `json:"is_isolated" doc:"As in the request."`
	IsScheduled        bool           `json:"is_scheduled" doc:"Whether a schedule made it."`
	SecretNames        []string       `json:"secret_names" doc:"The names of the secrets in the request."`
	Summary            string         `json:"summary"`
	IssueCount         int            `json:"issue_count"`
	CreatedAt          time.Time      `json:"created_at"`
	UpdatedAt          time.Time      `json:"updated_at"`
	StartedAt          *time.Time     `json:"started_at"`
	CompletedAt        *time.Time     `json:"completed_at"`
}

func taskDoc(t task.Task) TaskDoc {
	doc := TaskDoc{
		ID: t.ID, Title: t.Title(), Task: t.Instruction, Status: t.Status, StreamID: t.StreamID, CreatedBy: t.Owner, Model: task.BuiltinModel,
		Mode: t.Options.Mode, ProjectID: t.Options.ProjectID, IsIsolated: t.Options.Isolated, SecretNames: append([]string{}, t.Options.Secrets...),
		Summary: t.Summary, IssueCount: t.Issues, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		StartedAt: orNull(t.StartedAt), CompletedAt: orNull(t.CompletedAt),
	}
	if doc.Mode == "" {
		doc.Mode = "agent"
	}
	if t.Delivery != task.NoDelivery {
		doc.CompletionDelivery = &t.Delivery
	}
	return doc
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// TaskList is a page of tasks.
type TaskList struct {
	Tasks      []TaskDoc `json:"tasks" doc:"The page."`
	Total      int       `json:"total"`
	HasMore    bool      `json:"has_more"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// PageQuery asks for a page.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Cursor string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
}

// pageOf cuts the one item that was read beyond the page, and says what comes next.
func pageOf[T any](items []T, limit int, id func(T) string) (page []T, more bool, next string) {
	if len(items) <= limit {
		return items, false, ""
	}
	return items[:limit], true, id(items[limit-1])
}

func (s surface) listTasks(ctx context.Context, in *struct {
	PageQuery
	Status string `query:"status" enum:"queued,running,completed,failed,aborted" doc:"Only those in this state."`
}) (*struct{ Body TaskList }, error) {
	found, total, err := s.Tasks.FindAll(ctx, task.Filter{Status: task.Status(in.Status), After: in.Cursor, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	list := TaskList{Tasks: []TaskDoc{}, Total: total}
	found, list.HasMore, list.NextCursor = pageOf(found, in.Limit, func(t task.Task) string { return t.ID })
	for _, t := range found {
		list.Tasks = append(list.Tasks, taskDoc(t))
	}
	return &struct{ Body TaskList }{list}, nil
}

// TaskDetail is a task with what belongs to it.
type TaskDetail struct {
	Task       TaskDoc         `json:"task" doc:"The task."`
	Status     task.Status     `json:"status" doc:"How far the task is."`
	Messages   []chatMessage   `json:"messages" doc:"What was said: the instruction, and in the end the summary."`
	Plan       json.RawMessage `json:"plan,omitempty" doc:"What was understood of the instruction, and what was not."`
	Issues     []task.Issue    `json:"issues" doc:"Its verified issues, newest first; at most 1000."`
	ReadOnly   bool            `json:"read_only" doc:"Whether it is somebody else's in your team."`
	Stream     streamDoc       `json:"stream" doc:"Its output stream."`
	StreamURLs []streamLink    `json:"streamUrls" doc:"Where to follow it."`
	Streams    []streamRow     `json:"streams" doc:"All of its output streams."`
}

type chatMessage struct {
	Role      string    `json:"role" enum:"user,assistant" doc:"Who said it."`
	Text      string    `json:"text" doc:"What was said."`
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
	Status   task.Status `json:"status" doc:"How far the task is."`
}

type streamRow struct {
	StreamID    string       `json:"stream_id"`
	Status      task.Status  `json:"status" doc:"How far the task is."`
	CreatedAt   time.Time    `json:"created_at"`
	CompletedAt *time.Time   `json:"completed_at"`
	RunConfig   task.Options `json:"run_config"`
}

const detailIssues = 1000

func (s surface) getTask(ctx context.Context, in *TaskPath) (*struct{ Body TaskDetail }, error) {
	t, err := s.Tasks.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	issues, _, err := s.Tasks.FindIssues(ctx, task.IssueFilter{TaskID: t.ID, Limit: detailIssues})
	if err != nil {
		return nil, err
	}
	caller, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	detail := TaskDetail{
		Task: taskDoc(t), Status: t.Status, Plan: t.Plan, Issues: issues, ReadOnly: caller.UserID != t.UserID,
		Messages:   []chatMessage{{Role: "user", Text: t.Instruction, CreatedAt: t.CreatedAt}},
		Stream:     streamDoc{HasStream: true, StreamID: t.StreamID, Status: t.Status, LastSeq: t.LastSeq, RunConfig: t.Options},
		StreamURLs: []streamLink{{t.StreamID, streamURL(t), t.Status}},
		Streams:    []streamRow{{t.StreamID, t.Status, t.CreatedAt, orNull(t.CompletedAt), t.Options}},
	}
	if t.Status.Final() {
		detail.Messages = append(detail.Messages, chatMessage{Role: "assistant", Text: t.Summary, CreatedAt: t.CompletedAt})
	}
	return &struct{ Body TaskDetail }{detail}, nil
}

// ArtifactWrapper is the specification's artifact retrieval wrapper.
type ArtifactWrapper struct {
	TaskID             string                  `json:"task_id"`
	CompletionDelivery task.Delivery           `json:"completion_delivery" doc:"What the task was created with."`
	Artifact           task.CompletionArtifact `json:"artifact" doc:"The artifact, without event."`
}

func (s surface) getArtifact(ctx context.Context, in *struct {
	TaskPath
	Refresh bool `query:"refresh" doc:"Build the artifact anew from the task's current issues."`
}) (*struct{ Body ArtifactWrapper }, error) {
	delivery, artifact, err := s.Tasks.FindArtifact(ctx, in.ID, in.Refresh)
	return &struct{ Body ArtifactWrapper }{ArtifactWrapper{artifact.TaskID, delivery, artifact}}, err
}
