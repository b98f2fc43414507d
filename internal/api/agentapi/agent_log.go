package agentapi

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// AgentLog is a page of a task's log.
type AgentLog struct {
	Events  []task.LogEvent `json:"events" doc:"The page, in the order in which things began."`
	HasMore bool            `json:"has_more"`
	TaskID  string          `json:"task_id"`
}

func (s surface) agentLog() {
	rest.Handle(s.API, op("list-agent-log", "GET /api/v1/tasks/{id}/agent-audit-log", "Tasks",
		"List what the agent did in a task, over all its streams", 404),
		func(ctx context.Context, in *struct {
			TaskPath
			Limit     int    `query:"limit" minimum:"1" maximum:"2000" default:"500" doc:"How many to return."`
			After     int64  `query:"starting_after" minimum:"0" doc:"The sequence of the last event of the page before."`
			StreamID  string `query:"stream_id" format:"uuid" doc:"Only those of this stream; none when the task has no such."`
			EventType string `query:"event_type" maxLength:"64" doc:"Only those of this type, such as tool_call."`
			Status    string `query:"status" enum:"started,completed,failed,timeout,aborted,blocked" doc:"Only those that ended so; started runs, blocked waits for a person."`
			AgentID   string `query:"agent_id" maxLength:"256" doc:"Only those of this agent."`
			ToolName  string `query:"tool_name" maxLength:"128" doc:"Only calls of this tool."`
		}) (*AgentLog, error) {
			events, more, err := s.Tasks.FindLog(ctx, in.ID, task.LogFilter{
				After: in.After, Limit: in.Limit, StreamID: in.StreamID, EventType: in.EventType,
				Status: task.LogStatus(in.Status), AgentID: in.AgentID, ToolName: in.ToolName,
			})
			return &AgentLog{events, more, in.ID}, err
		})
}
