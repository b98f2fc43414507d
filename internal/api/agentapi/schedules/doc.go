package schedules

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/task/change"
	"github.com/vedette-sec/vedette/internal/core/taskschedule"
)

// Doc is a schedule in an answer.
type Doc struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Status      string          `json:"status" enum:"active,paused,completed" doc:"completed: a one-time schedule that has come due."`
	Type        string          `json:"schedule_type" enum:"recurring,one_time"`
	Message     string          `json:"task_message" doc:"The instruction of each task."`
	Frequency   string          `json:"scan_frequency,omitempty" doc:"As in the request."`
	StartTime   string          `json:"start_time,omitempty" doc:"HH:MM in time_zone."`
	TimeZone    string          `json:"time_zone" doc:"A zone of the IANA database."`
	Weekdays    []int           `json:"custom_weekdays" doc:"0 is Sunday, 6 Saturday."`
	Description string          `json:"frequency_description" doc:"When it comes due, in words."`
	NextRun     *time.Time      `json:"next_execution_at" doc:"When it comes due next; null: paused or completed."`
	LastRun     *time.Time      `json:"last_executed_at" doc:"When it last created a task; null: never."`
	Count       int64           `json:"execution_count" doc:"How many tasks it has created."`
	AgentID     string          `json:"direct_agent_id,omitempty"`
	Model       string          `json:"llm_model,omitempty"`
	ProjectID   string          `json:"project_id,omitempty"`
	HasFiles    bool            `json:"has_files"`
	FileCount   int             `json:"file_count"`
	FileKeys    []string        `json:"file_keys"`
	Secrets     []string        `json:"secrets" doc:"Names."`
	Reporting   string          `json:"reporting_mode" enum:"full,changes_only"`
	Visibility  string          `json:"selected_visibility_type" doc:"Who sees the tasks."`
	Delivery    *task.Delivery  `json:"completion_delivery"`
	Metadata    json.RawMessage `json:"metadata,omitempty" doc:"As in the request."`
	SourceTask  string          `json:"source_task_id,omitempty"`
	Budget      *task.Budget    `json:"budget,omitempty"`
	Scope       *task.Scope     `json:"scope,omitempty"`
	CreatedBy   string          `json:"created_by" doc:"The email address of its creator."`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
}

func scheduleDoc(s taskschedule.Schedule) Doc {
	o := s.Options
	doc := Doc{
		ID: s.ID, Name: s.Name, Status: string(s.Status), Type: string(s.Type), Message: s.Instruction,
		Frequency: string(s.Rule.Frequency), StartTime: s.Rule.StartTime, TimeZone: s.Rule.TimeZone,
		Weekdays: append([]int{}, s.Rule.Weekdays...), Description: s.Describe(), LastRun: rest.OrNull(s.LastRun),
		Count:   s.Runs,
		AgentID: o.AgentID, Model: o.Model, ProjectID: o.ProjectID, HasFiles: len(o.FileKeys) > 0, FileCount: len(o.FileKeys),
		FileKeys: append([]string{}, o.FileKeys...), Secrets: append([]string{}, o.Secrets...), Reporting: o.Reporting,
		Visibility: o.Visibility, Metadata: s.Metadata, SourceTask: s.SourceTaskID, Budget: o.Budget, Scope: o.Scope,
		CreatedBy: s.Owner, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if s.Status == taskschedule.Active {
		doc.NextRun = rest.OrNull(s.NextRun)
	}
	if doc.TimeZone == "" {
		doc.TimeZone = "UTC"
	}
	if doc.Visibility == "" {
		doc.Visibility = string(task.Team)
	}
	if s.Delivery != task.NoDelivery {
		doc.Delivery = &s.Delivery
	}
	return doc
}

// Answer is a schedule.
type Answer struct {
	Schedule Doc `json:"schedule" doc:"The schedule as it is now."`
}

func answer(s taskschedule.Schedule, err error) (*Answer, error) { return &Answer{scheduleDoc(s)}, err }

// List is a page of schedules.
type List struct {
	Schedules  []Doc  `json:"schedules" doc:"The page."`
	Total      int    `json:"total"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// Execution is a time at which a schedule came due, or was run by hand.
type Execution struct {
	ID          string         `json:"execution_id" doc:"A uuid."`
	Number      int64          `json:"number" doc:"1 for the schedule's first, and so on."`
	DueAt       time.Time      `json:"scheduled_at" doc:"When it came due."`
	Manual      bool           `json:"manual" doc:"Whether a person ran it."`
	Status      string         `json:"status" enum:"started,skipped,missed,failed" doc:"started: a task was created. skipped: the task before had not ended. missed: no worker ran. failed: no task could be created."`
	Note        string         `json:"note,omitempty" doc:"Why no task was created."`
	TaskID      string         `json:"task_id,omitempty"`
	TaskStatus  string         `json:"task_status,omitempty" doc:"State of the task's first turn."`
	StartedAt   *time.Time     `json:"started_at"`
	CompletedAt *time.Time     `json:"completed_at"`
	Changes     *change.Report `json:"changes,omitempty" doc:"What the task found compared with the runs before; absent: it has not ended."`
}

func executionDoc(e taskschedule.Execution) Execution {
	return Execution{ID: e.ID, Number: e.N, DueAt: e.DueAt, Manual: e.Manual, Status: string(e.Status), Note: e.Note,
		TaskID: e.TaskID, TaskStatus: string(e.TaskStatus), StartedAt: rest.OrNull(e.StartedAt),
		CompletedAt: rest.OrNull(e.CompletedAt), Changes: e.Report}
}

// ExecutionAnswer is one execution.
type ExecutionAnswer struct {
	Execution Execution `json:"execution" doc:"What was created."`
}

// Detail is a schedule with its last executions.
type Detail struct {
	Schedule   Doc         `json:"schedule" doc:"The schedule."`
	Executions []Execution `json:"executions" doc:"The last 20, the latest first."`
	Total      int         `json:"total_executions" doc:"How many are kept."`
}

// Executions is a page of the history of a schedule.
type Executions struct {
	Executions []Execution `json:"executions" doc:"The page."`
	Total      int         `json:"total"`
	HasMore    bool        `json:"has_more"`
	NextBefore int64       `json:"next_before,omitempty" doc:"before of the next page; absent on the last."`
}

// Info is the schedule of a task, in the answer about the task.
type Info struct {
	ID        string     `json:"schedule_id" doc:"A uuid."`
	Name      string     `json:"schedule_name" doc:"Its name."`
	Count     int64      `json:"execution_count" doc:"How many tasks it has created."`
	StartTime string     `json:"start_time,omitempty" doc:"HH:MM in its time zone."`
	LastRun   *time.Time `json:"last_executed_at" doc:"When it last created a task."`
	NextRun   *time.Time `json:"next_execution_at" doc:"When it comes due next; null: it does not."`
	Execution Execution  `json:"execution_info" doc:"The execution that created this task."`
}

// InfoOf is the schedule of a task; nil when there is none.
func InfoOf(ctx context.Context, ss *taskschedule.Schedules, t task.Task) (*Info, error) {
	s, e, ok, err := ss.OfTask(ctx, t)
	if err != nil || !ok {
		return nil, err
	}
	doc := scheduleDoc(s)
	return &Info{s.ID, s.Name, s.Runs, doc.StartTime, doc.LastRun, doc.NextRun, executionDoc(e)}, nil
}
