package toolset

import (
	"context"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
	"github.com/vedette-sec/vedette/internal/tools/sshtool"
	"github.com/vedette-sec/vedette/internal/tools/webtool"
)

// addSSH offers the tool ssh, where the task may use keys. What hosts answer is to be shown without the passwords.
func (s Services) addSSH(ctx context.Context, t task.Task, kit *tools.Kit, c *loop.Config) (passwords []string,
	err error) {
	if s.SSHKeys == nil {
		return nil, nil
	}
	keys, passwords, err := s.SSHKeys.ForTask(ctx, t.TeamID, t.UserID, t.ProjectID)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c.Tools = append(c.Tools, sshtool.Tool{Keys: s.SSHKeys, Usable: keys, TeamID: t.TeamID, Scope: kit.Boundary()}.Loop())
	return passwords, nil
}

// ToolNames are the names of the built-in tools that an agent can be restricted to.
func ToolNames() ([]string, error) {
	names, err := tools.ActionNames()
	return append(append(names, webtool.Names...), sshtool.Name), err
}
