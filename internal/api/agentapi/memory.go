package agentapi

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// GlobalMemory is the caller's memory for all their tasks.
type GlobalMemory struct {
	Data      task.Memory `json:"data"`
	Scope     string      `json:"scope" enum:"global"`
	UpdatedAt *time.Time  `json:"updated_at" doc:"When it last changed; null: never."`
}

// TaskMemory is the memory of one task.
type TaskMemory struct {
	Data      task.Memory `json:"data"`
	Scope     string      `json:"scope" enum:"task"`
	TaskID    string      `json:"task_id"`
	UpdatedAt *time.Time  `json:"updated_at" doc:"When it last changed; null: never."`
}

// TaskMemorySaved is the answer about a stored memory.
type TaskMemorySaved struct {
	Scope     string    `json:"scope" enum:"task"`
	Success   bool      `json:"success" doc:"Always true."`
	TaskID    string    `json:"task_id"`
	UpdatedAt time.Time `json:"updated_at"`
}

// MemoryRequest is a new memory. Absent lists are empty, or unchanged in a PATCH.
type MemoryRequest struct {
	Facts        []string           `json:"facts,omitempty" maxItems:"100" doc:"Facts from you."`
	Insights     []string           `json:"insights,omitempty" maxItems:"100" doc:"Conclusions of the agent."`
	Todos        []task.Todo        `json:"todos,omitempty" maxItems:"100" doc:"Open work."`
	TrackedFiles []task.TrackedFile `json:"tracked_files,omitempty" maxItems:"500" doc:"Relevant files."`
	RuntimeInput []string           `json:"user_runtime_input,omitempty" maxItems:"100" doc:"Your messages during the run."`
}

func (r MemoryRequest) memory(task.Memory) task.Memory {
	return task.Memory(r)
}

// over is m with its lists replaced by those of r.
func (r MemoryRequest) over(m task.Memory) task.Memory {
	if r.Facts != nil {
		m.Facts = r.Facts
	}
	if r.Insights != nil {
		m.Insights = r.Insights
	}
	if r.Todos != nil {
		m.Todos = r.Todos
	}
	if r.TrackedFiles != nil {
		m.TrackedFiles = r.TrackedFiles
	}
	if r.RuntimeInput != nil {
		m.RuntimeInput = r.RuntimeInput
	}
	return m
}

type memoryInput struct{ Body MemoryRequest }

func (s surface) memory() {
	const path, tag = "/api/v1/memory", "Memory"
	answer := func(m task.Memory, at time.Time, err error) (*GlobalMemory, error) {
		return &GlobalMemory{m, "global", rest.OrNull(at)}, err
	}
	rest.Handle(s.API, op("get-memory", "GET "+path, tag, "Get what all your tasks remember about you"),
		func(ctx context.Context, _ *struct{}) (*GlobalMemory, error) {
			return answer(s.Tasks.FindMemory(ctx, ""))
		})
	rest.Handle(s.API, op("replace-memory", "PUT "+path, tag, "Replace your memory"),
		func(ctx context.Context, in *memoryInput) (*GlobalMemory, error) {
			return answer(s.Tasks.ChangeMemory(ctx, "", in.Body.memory))
		})
	rest.Handle(s.API, op("update-memory", "PATCH "+path, tag, "Replace some lists of your memory"),
		func(ctx context.Context, in *memoryInput) (*GlobalMemory, error) {
			return answer(s.Tasks.ChangeMemory(ctx, "", in.Body.over))
		})
	act(s, op("delete-memory", "DELETE "+path, tag, "Delete your memory"), "The memory is deleted.",
		func(ctx context.Context, _ *struct{}) error { return s.Tasks.DeleteMemory(ctx) })

	type TaskMemoryPath struct {
		ID string `path:"task_id" doc:"The task's id."`
	}
	rest.Handle(s.API, op("get-task-memory", "GET "+path+"/{task_id}", tag, "Get a task's memory", 404),
		func(ctx context.Context, in *TaskMemoryPath) (*TaskMemory, error) {
			m, at, err := s.Tasks.FindMemory(ctx, in.ID)
			return &TaskMemory{m, "task", in.ID, rest.OrNull(at)}, err
		})
	rest.Handle(s.API, op("save-task-memory", "POST "+path+"/{task_id}", tag, "Replace a task's memory", 404),
		func(ctx context.Context, in *struct {
			TaskMemoryPath
			Body MemoryRequest
		}) (*TaskMemorySaved, error) {
			_, at, err := s.Tasks.ChangeMemory(ctx, in.ID, in.Body.memory)
			return &TaskMemorySaved{"task", true, in.ID, at}, err
		})
}
