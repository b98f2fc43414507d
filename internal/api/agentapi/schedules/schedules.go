// Package schedules serves the area Schedules of the agent-task API: tasks that are made once at a time, or again and
// again.
package schedules

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/agentapi/prompts"
	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/prompt"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/taskschedule"
)

// Request is the body of POST /api/v1/schedules.
type Request struct {
	Message    string         `json:"task_message,omitempty" maxLength:"65536" doc:"The instruction of each task, in plain language. Required unless prompt_id is given."`
	Name       string         `json:"name,omitempty" maxLength:"256" doc:"Default: the first line of task_message."`
	Type       string         `json:"schedule_type,omitempty" enum:"recurring,one_time" doc:"Default: one_time with run_at, else recurring."`
	Frequency  string         `json:"scan_frequency,omitempty" enum:"daily,weekly,monthly,custom" doc:"Required for a recurring schedule. monthly: on today's day of the month, at most the 28th; custom: on custom_weekdays."`
	StartTime  string         `json:"start_time,omitempty" maxLength:"16" doc:"HH:MM in time_zone; default: now."`
	TimeZone   string         `json:"time_zone,omitempty" maxLength:"64" doc:"A zone of the IANA database, such as Europe/Berlin; default UTC. Where its clocks are changed, each day still has one run."`
	Weekdays   []int          `json:"custom_weekdays,omitempty" maxItems:"7" doc:"0 is Sunday, 6 Saturday. Required for custom; of a weekly schedule at most one, by default today's."`
	RunAt      string         `json:"run_at,omitempty" maxLength:"40" doc:"Required for a one-time schedule: 5m, 1h or 2d from now; a time of day such as 14:30 or 3:00PM, the next one in time_zone; or a moment such as 2026-05-01T08:00:00Z."`
	AgentID    string         `json:"direct_agent_id,omitempty" maxLength:"128" doc:"The agent of yours that works on the tasks."`
	FileKeys   []string       `json:"file_keys,omitempty" maxItems:"100" doc:"Keys of your files that the tasks may read."`
	Model      string         `json:"llm_model,omitempty" maxLength:"128" doc:"As model of a task."`
	Metadata   map[string]any `json:"metadata,omitempty" doc:"Your own data; it is given back as it is, up to 16 KB."`
	ProjectID  string         `json:"project_id,omitempty" format:"uuid"`
	Reporting  string         `json:"reporting_mode,omitempty" enum:"full,changes_only" doc:"changes_only: a task reports what differs from the runs before, and pushes nothing when nothing does. Default full."`
	Secrets    []string       `json:"secrets,omitempty" maxItems:"100" doc:"Names of your secrets that the tasks may use, with the values that they have then."`
	Visibility string         `json:"selected_visibility_type,omitempty" enum:"private,team,unlisted,public" doc:"Who sees the tasks; default: your team."`
	SourceTask string         `json:"source_task_id,omitempty" format:"uuid" doc:"A task of yours: its secrets and files are taken where the request names none."`
	Delivery   string         `json:"completion_delivery,omitempty" enum:"webhook,artifact" doc:"What to do with each task's completion artifact; default: nothing."`
	Budget     *task.Budget   `json:"budget,omitempty" doc:"Limits of each task."`
	Scope      *task.Scope    `json:"scope,omitempty" doc:"What may be tested; default: what the instruction names."`

	prompts.Use
}

func (r Request) service() (taskschedule.Request, error) {
	out := taskschedule.Request{
		Name: r.Name, Type: taskschedule.Type(r.Type), RunAt: r.RunAt, Instruction: r.Message,
		Delivery: task.Delivery(r.Delivery),
		Options: task.Options{
			AgentID:    r.AgentID,
			Model:      r.Model,
			ProjectID:  strings.ToLower(r.ProjectID),
			FileKeys:   r.FileKeys,
			Secrets:    r.Secrets,
			Visibility: r.Visibility,
			Budget:     r.Budget,
			Scope:      r.Scope,
			Reporting:  r.Reporting,
		},
		Rule: schedule.Rule{Frequency: schedule.Frequency(r.Frequency), StartTime: r.StartTime, Weekdays: r.Weekdays,
			TimeZone: r.TimeZone},
		SourceTaskID: strings.ToLower(r.SourceTask),
	}
	if out.Type == "" {
		out.Type = taskschedule.Recurring
		if r.RunAt != "" {
			out.Type = taskschedule.OneTime
		}
	}
	if out.Options.Reporting == "" {
		out.Options.Reporting = taskschedule.Full
	}
	var err error
	if r.Metadata != nil {
		out.Metadata, err = json.Marshal(r.Metadata)
	}
	return out, err
}

// Patch is the body of PATCH /api/v1/schedules/{schedule_id}.
type Patch struct {
	Message    *string             `json:"task_message,omitempty" minLength:"1" maxLength:"65536"`
	Name       *string             `json:"name,omitempty" minLength:"1" maxLength:"256"`
	Type       *taskschedule.Type  `json:"schedule_type,omitempty" enum:"recurring,one_time" doc:"It cannot be changed: delete the schedule and create another."`
	Frequency  *schedule.Frequency `json:"scan_frequency,omitempty" enum:"daily,weekly,monthly,custom"`
	StartTime  *string             `json:"start_time,omitempty" maxLength:"16"`
	TimeZone   *string             `json:"time_zone,omitempty" maxLength:"64"`
	Weekdays   []int               `json:"custom_weekdays,omitempty" maxItems:"7" doc:"An empty list clears it."`
	RunAt      *string             `json:"run_at,omitempty" maxLength:"40" doc:"Of a one-time schedule; one that has come due becomes active again."`
	AgentID    *string             `json:"direct_agent_id,omitempty" nullable:"true" maxLength:"128" doc:"An empty text clears it."`
	FileKeys   []string            `json:"file_keys,omitempty" maxItems:"100" doc:"An empty list clears it."`
	Model      *string             `json:"llm_model,omitempty" maxLength:"128"`
	Metadata   map[string]any      `json:"metadata,omitempty" doc:"Replaces all of it."`
	ProjectID  *string             `json:"project_id,omitempty" maxLength:"36" doc:"An empty text takes it out of its project."`
	Reporting  *string             `json:"reporting_mode,omitempty" enum:"full,changes_only"`
	Secrets    []string            `json:"secrets,omitempty" maxItems:"100" doc:"An empty list clears it."`
	Visibility *string             `json:"selected_visibility_type,omitempty" enum:"private,team,unlisted,public"`
	Delivery   *string             `json:"completion_delivery,omitempty" enum:"webhook,artifact,none"`
	Budget     *task.Budget        `json:"budget,omitempty"`
	Scope      *task.Scope         `json:"scope,omitempty"`
}

func (p Patch) service() (up taskschedule.Update, err error) {
	up = taskschedule.Update{
		Name:        p.Name,
		Type:        p.Type,
		Instruction: p.Message,
		Frequency:   p.Frequency,
		StartTime:   p.StartTime,
		TimeZone:    p.TimeZone,
		RunAt:       p.RunAt,
		Options:     p.options,
	}
	if p.Weekdays != nil {
		up.Weekdays = &p.Weekdays
	}
	if p.Delivery != nil {
		up.Delivery = new(task.Delivery(strings.TrimPrefix(*p.Delivery, "none")))
	}
	if p.Metadata != nil {
		var text json.RawMessage
		text, err = json.Marshal(p.Metadata)
		up.Metadata = &text
	}
	return up, err
}

// options changes the options that were sent.
func (p Patch) options(o *task.Options) {
	for field, sent := range map[*string]*string{&o.AgentID: p.AgentID, &o.Model: p.Model, &o.ProjectID: p.ProjectID,
		&o.Reporting: p.Reporting, &o.Visibility: p.Visibility} {
		if sent != nil {
			*field = *sent
		}
	}
	for list, sent := range map[*[]string][]string{&o.FileKeys: p.FileKeys, &o.Secrets: p.Secrets} {
		if sent != nil {
			*list = sent
		}
	}
	if p.Budget != nil {
		o.Budget = p.Budget
	}
	if p.Scope != nil {
		o.Scope = p.Scope
	}
}

// Area is the area with the services that it calls.
type Area struct {
	*rest.API
	Schedules *taskschedule.Schedules
	Names     Names
	Prompts   *prompt.Prompts
}

// Path names a schedule. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"schedule_id" doc:"The schedule's id."`
}

// Register adds the area's operations.
func (a Area) Register() {
	const path, tag = "/api/v1/schedules", "Schedules"
	one := path + "/{schedule_id}"
	create := rest.NewOp("create-schedule", "POST "+path, tag, "Create tasks at a time, or again and again")
	create.DefaultStatus = http.StatusCreated
	create.Description = "Each task is created as you, with your rights, files and secrets as they are then. Each time is carried " +
		"out once; one that passes while no worker runs is written down as missed, and only the last such is made up for. No task " +
		"is created while the one before still works."
	rest.Handle(a.API, create, a.create)
	rest.Handle(a.API, rest.NewOp("list-schedules", "GET "+path, tag, "List your schedules, newest first"), a.list)
	rest.Handle(a.API, rest.NewOp("get-schedule", "GET "+one, tag, "Get a schedule with its last executions", 404), a.get)
	rest.Handle(
		a.API,
		rest.NewOp("update-schedule", "PATCH "+one, tag, "Change a schedule, and the tasks that it creates from then on",
			404),
		a.update,
	)
	signin.Act(
		a.API,
		rest.NewOp("delete-schedule", "DELETE "+one, tag, "Delete a schedule with its history; its tasks stay", 404),
		"The schedule is deleted.",
		func(ctx context.Context, in *Path) error { return a.Schedules.Delete(ctx, in.ID) },
	)
	rest.Handle(
		a.API,
		rest.NewOp("pause-schedule", "POST "+one+"/pause", tag, "Keep a schedule from coming due", 404, 409),
		func(ctx context.Context, in *Path) (*Answer, error) { return answer(a.Schedules.Pause(ctx, in.ID)) },
	)
	rest.Handle(a.API, rest.NewOp("resume-schedule", "POST "+one+"/resume", tag,
		"Let a paused schedule come due again, from its next time on", 404, 409),
		func(ctx context.Context, in *Path) (*Answer, error) { return answer(a.Schedules.Resume(ctx, in.ID)) })
	run := rest.NewOp(
		"run-schedule",
		"POST "+one+"/run",
		tag,
		"Create a schedule's task now; its next time stays as it is",
		404,
		409,
	)
	run.DefaultStatus = http.StatusAccepted
	rest.Handle(a.API, run, func(ctx context.Context, in *Path) (*ExecutionAnswer, error) {
		e, err := a.Schedules.RunNow(ctx, in.ID)
		return &ExecutionAnswer{executionDoc(e)}, err
	})
	rest.Handle(a.API, rest.NewOp("list-schedule-executions", "GET "+one+"/executions", tag,
		"List when a schedule came due, and what became of it, the latest first", 404), a.history)
}

func (a Area) create(ctx context.Context, in *struct{ Body Request }) (*Answer, error) {
	r, err := in.Body.service()
	if err != nil {
		return nil, err
	}
	if err := a.Names.Check(ctx, r.Options, "direct_agent_id"); err != nil {
		return nil, err
	}
	var filled prompt.Filled
	if r.Instruction, filled, err = in.Body.Fill(ctx, a.Prompts, "task_message", r.Instruction); err != nil {
		return nil, err
	}
	made, err := a.Schedules.Create(ctx, r)
	if err == nil {
		err = prompts.Made(ctx, a.Prompts, filled, made.ID)
	}
	return answer(made, err)
}

func (a Area) update(ctx context.Context, in *struct {
	Path
	Body Patch
}) (*Answer, error) {
	up, err := in.Body.service()
	if err != nil {
		return nil, err
	}
	var sent task.Options
	in.Body.options(&sent)
	if err := a.Names.Check(ctx, sent, "direct_agent_id"); err != nil {
		return nil, err
	}
	return answer(a.Schedules.Update(ctx, in.ID, up))
}

func (a Area) list(ctx context.Context, in *struct {
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Cursor    string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
	Status    string `query:"status" enum:"active,paused,completed" doc:"Only those in this state."`
	ProjectID string `query:"project_id" format:"uuid" doc:"Only those of this project."`
}) (*List, error) {
	found, total, err := a.Schedules.FindAll(ctx, taskschedule.Filter{Status: taskschedule.Status(in.Status),
		ProjectID: strings.ToLower(in.ProjectID), After: in.Cursor, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	out := &List{Total: total}
	if len(found) > in.Limit {
		found, out.HasMore, out.NextCursor = found[:in.Limit], true, found[in.Limit-1].ID
	}
	out.Schedules = rest.Each(found, scheduleDoc)
	return out, nil
}

const lastExecutions = 20 // in the answer about one schedule

func (a Area) get(ctx context.Context, in *Path) (*Detail, error) {
	s, err := a.Schedules.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	found, total, err := a.Schedules.History(ctx, in.ID, 0, lastExecutions)
	return &Detail{scheduleDoc(s), rest.Each(found, executionDoc), total}, err
}

func (a Area) history(ctx context.Context, in *struct {
	Path
	Limit  int   `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Before int64 `query:"before" minimum:"0" doc:"Only those with a smaller number; next_before of the page before."`
}) (*Executions, error) {
	found, total, err := a.Schedules.History(ctx, in.ID, in.Before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &Executions{Total: total}
	if len(found) > in.Limit {
		found, out.HasMore, out.NextBefore = found[:in.Limit], true, found[in.Limit-1].N
	}
	out.Executions = rest.Each(found, executionDoc)
	return out, nil
}
