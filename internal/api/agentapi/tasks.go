package agentapi

import (
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/agentapi/prompts"
	"github.com/vedette-sec/vedette/internal/api/agentapi/schedules"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/prompt"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TaskRequest is the body of POST /api/v1/tasks.
type TaskRequest struct {
	Task               string       `json:"task,omitempty" maxLength:"65536" doc:"The instruction, in plain language. Required unless message or prompt_id is given."`
	Message            *TaskMessage `json:"message,omitempty" doc:"The instruction in structured form, instead of task."`
	CompletionDelivery *string      `json:"completion_delivery,omitempty" nullable:"true" enum:"webhook,artifact" doc:"What to do with the completion artifact; default: nothing."`
	ResponseFormat     string       `json:"response_format,omitempty" enum:"sse,json" doc:"sse: the answer is the task's stream. json: 202 with the task's ids. Without it, the Accept header decides."`
	ID                 string       `json:"id,omitempty" format:"uuid" doc:"The new task's id, made by the server when absent; or that of a task of yours that has ended, to continue it."`
	Mode               string       `json:"mode,omitempty" enum:"agent,chat,plan" doc:"agent: all tools. plan: gather, plan, wait for an approval, then work. chat: only tools that touch no target: without a language model, none."`
	AutoExecute        bool         `json:"auto_execute,omitempty" doc:"In plan mode, carry the plan out without waiting for an approval."`
	AskQuestion        bool         `json:"ask_question,omitempty" doc:"Whether the agent may ask you; the task is suspended until you answer."`
	AgentID            string       `json:"agent_id,omitempty" maxLength:"128" doc:"The agent of yours that works on it."`
	AgentIDs           []string     `json:"agent_ids,omitempty" maxItems:"50" doc:"Agents of yours that it may delegate to."`
	MaxSteps           *int         `json:"max_steps,omitempty" minimum:"4" maximum:"200" doc:"Largest number of model calls; default 45."`
	MaxIterations      *int         `json:"max_iterations,omitempty" minimum:"0" maximum:"5" doc:"Cycles of work and verification; 0 verifies nothing; default 1."`
	Isolated           bool         `json:"isolated,omitempty" doc:"Work without your memory."`
	Model              string       `json:"model,omitempty" maxLength:"128" doc:"The model; auto or absent: the configured one. builtin: none."`
	ProjectID          string       `json:"project_id,omitempty" format:"uuid"`
	FileKeys           []string     `json:"file_keys,omitempty" maxItems:"100" doc:"Keys of your files that this task may read."`
	Secrets            []string     `json:"secrets,omitempty" maxItems:"100" doc:"Names of the secrets this task may use, besides those that every task may."`
	Visibility         string       `json:"visibility,omitempty" enum:"private,team,unlisted,public" doc:"Who sees it: you alone, your team (default), or everybody who knows its id."`
	Budget             *task.Budget `json:"budget,omitempty" doc:"Limits of this turn. When one is reached, the findings so far are its result."`
	Scope              *task.Scope  `json:"scope,omitempty" doc:"What may be tested; default: what the instruction names."`

	prompts.Use
}

// TaskMessage is an instruction in parts.
type TaskMessage struct {
	ID    string     `json:"id,omitempty" format:"uuid" doc:"Accepted and ignored."`
	Role  string     `json:"role,omitempty" enum:"user" doc:"Always user."`
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
			MaxSteps: r.MaxSteps, MaxIterations: r.MaxIterations, Isolated: r.Isolated, Model: r.Model,
			ProjectID: strings.ToLower(r.ProjectID),
			FileKeys:  r.FileKeys, Secrets: r.Secrets, Visibility: r.Visibility, Budget: r.Budget, Scope: r.Scope,
		},
	}
	if n.ID != "" && !ids.IsUUID(n.ID) { // the contract's format allows other spellings
		return task.NewTask{}, errs.Field("id", "id must be a uuid of 36 characters.")
	}
	if r.CompletionDelivery != nil {
		n.Delivery = task.Delivery(*r.CompletionDelivery)
	}
	return n, nil
}

// wantsStream reports whether to answer with the stream rather than 202 with JSON (ADR 23).
func (r TaskRequest) wantsStream(accept string) bool {
	if r.ResponseFormat != "" {
		return r.ResponseFormat == "sse"
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || media != eventStream {
			continue
		}
		weight, err := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64)
		return err != nil || weight != 0
	}
	return false
}

// TaskAccepted is the 202 answer.
type TaskAccepted struct {
	ID        string      `json:"id" doc:"The same as task_id."`
	TaskID    string      `json:"task_id"`
	StreamID  string      `json:"stream_id"`
	Status    task.Status `json:"status"`
	StreamURL string      `json:"stream_url" doc:"Where to follow the task, from the server's root."`
	CreatedAt time.Time   `json:"created_at"`
}

func streamURL(t task.Task) string { return "/api/v1/tasks/" + t.ID + "/stream" }

// accepted is the 202 answer about a task.
func accepted(t task.Task) TaskAccepted {
	return TaskAccepted{t.ID, t.ID, t.StreamID, t.Status, streamURL(t), t.RequestedAt}
}

func (s surface) tasks() {
	const path, tag = "/api/v1/tasks", "Tasks"
	create := op("create-task", "POST "+path, tag, "Create a task, or continue one", 409)
	create.DefaultStatus = http.StatusAccepted
	create.Responses = map[string]*huma.Response{
		"200": eventStreamResponse("The task's stream, from its first event to its last."),
		"202": {Description: "The task is stored and will run.", Content: map[string]*huma.MediaType{
			"application/json": {Schema: s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[TaskAccepted](), true,
				"TaskAccepted")},
		}},
	}
	rest.Register(s.API, create, func(ctx context.Context, in *struct {
		Accept string `header:"Accept" doc:"text/event-stream asks for the task's stream; otherwise the answer is the 202 document."`
		Body   TaskRequest
	}) (*huma.StreamResponse, error) {
		n, err := in.Body.newTask()
		if err != nil {
			return nil, err
		}
		var filled prompt.Filled
		if n.Instruction, filled, err = in.Body.Fill(ctx, s.Prompts, "task", n.Instruction); err != nil {
			return nil, err
		}
		if err := s.names().Check(ctx, n.Options, "agent_id"); err != nil {
			return nil, err
		}
		if n.Delivery == task.Webhook {
			if err := s.warnWithoutWebhook(ctx); err != nil {
				return nil, err
			}
		}
		open, end, streams := ctx, func() {}, in.Body.wantsStream(in.Accept)
		if streams {
			if open, end, err = s.OpenStream(ctx); err != nil {
				return nil, err
			}
		}
		t, err := s.Tasks.Create(ctx, n)
		if err == nil {
			err = prompts.Made(ctx, s.Prompts, filled, t.StreamID)
		}
		if err != nil {
			end()
			return nil, err
		}
		rest.About(ctx, t.ID)
		if !streams {
			return &huma.StreamResponse{Body: func(out huma.Context) {
				out.SetHeader("Content-Type", "application/json")
				out.SetStatus(http.StatusAccepted)
				_ = json.NewEncoder(out.BodyWriter()).Encode(rest.Warned(ctx, accepted(t))) // the client may have disconnected
			}}, nil
		}
		return s.stream(open, end, t, t.StreamID, 0)
	})

	rest.Handle(s.API, op("list-tasks", "GET "+path, tag, "List your tasks, newest first"), s.listTasks)

	rest.Handle(s.API, op("get-task", "GET "+path+"/{id}", tag, "Get a task of your team, with its issues", 404),
		s.getTask)

	abort := op("abort-task", "POST "+path+"/{id}/abort", tag, "Stop a task; its findings so far are kept", 404)
	abort.Description = "A queued task ends at once, a running one within seconds, and an ended one does not change."
	rest.Handle(s.API, abort, func(ctx context.Context, in *TaskPath) (*TaskAccepted, error) {
		return bodyOf(accepted)(s.Tasks.Abort(ctx, in.ID))
	})

	rest.Handle(s.API, op("get-task-artifact", "GET "+path+"/{id}/artifacts", tag, "Get a task's completion artifact",
		404), s.getArtifact)
}

// warnWithoutWebhook tells the caller that nothing will be pushed as long as their team has no webhook_url.
func (s surface) warnWithoutWebhook(ctx context.Context) error {
	team, err := s.Accounts.FindTeam(ctx)
	if err == nil && team.WebhookURL == "" {
		rest.Warnf(
			ctx,
			"completion_delivery pushes nothing unless an admin sets webhook_url before the task ends: your team has "+
				"none. The artifact is stored in any case.",
		)
	}
	return err
}

// names know what a task may name.
func (s surface) names() schedules.Names {
	return schedules.Names{Files: s.Files, Agents: s.CustomAgents}
}

// TaskPath names a task. huma reads embedded fields of exported types only.
type TaskPath struct {
	ID string `path:"id" doc:"The task's id."`
}
