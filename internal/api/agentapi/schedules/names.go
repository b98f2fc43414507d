package schedules

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// Names are the services that know what a request for tasks names.
type Names struct {
	Files  *file.Files
	Agents *customagent.Agents
}

// Check refuses options that name what the caller does not have. agentID is the name of the field of AgentID.
func (n Names) Check(ctx context.Context, o task.Options, agentID string) error {
	if err := n.Files.Check(ctx, "file_keys", o.FileKeys); err != nil {
		return err
	}
	if o.AgentID != "" {
		if err := n.Agents.Check(ctx, agentID, o.AgentID); err != nil {
			return err
		}
	}
	return n.Agents.Check(ctx, "agent_ids", o.AgentIDs...)
}
