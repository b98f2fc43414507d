package toolset

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
)

// addAgents makes the agent that a task names do the work, and the other named agents available to it. c has all tools
// already. gap names agents that no longer exist.
func (s Services) addAgents(ctx context.Context, t task.Task, c *loop.Config) (gap string, err error) {
	lead := slices.DeleteFunc([]string{t.Options.AgentID}, func(id string) bool { return id == "" })
	leaders, missing, err := s.Agents.ForTask(ctx, t.TeamID, t.UserID, lead...)
	if err != nil {
		return "", err
	}
	others, absent, err := s.Agents.ForTask(ctx, t.TeamID, t.UserID, t.Options.AgentIDs...)
	if err != nil {
		return "", err
	}
	native, err := tools.ActionNames()
	if err != nil {
		return "", err
	}
	for _, a := range others {
		member := loop.Agent{Name: a.Name, WhenToUse: a.WhenToUse, Context: role(a)}
		if len(a.NativeTools) > 0 {
			for _, tool := range c.Tools {
				if has(a, native, tool.Name) {
					member.Tools = append(member.Tools, tool.Name)
				}
			}
		}
		c.Agents = append(c.Agents, member)
	}
	for _, a := range leaders {
		c.Context = strings.TrimSpace(c.Context + "\n\n" + role(a))
		c.Tools = slices.DeleteFunc(c.Tools, func(tool loop.Tool) bool { return !has(a, native, tool.Name) })
	}
	if missing = append(missing, absent...); len(missing) > 0 {
		gap = "\nThere is no agent any more with the id " + strings.Join(missing, ", ") + "."
	}
	return gap, nil
}

// has reports whether an agent has a tool: the built-in ones that it names, or all if it names none, and all
// extensions.
func has(a customagent.Agent, native []string, tool string) bool {
	return len(a.NativeTools) == 0 || slices.Contains(a.NativeTools, tool) || !slices.Contains(native, tool)
}

// role is an agent's description for the prompt. A person wrote it, as the instruction.
func role(a customagent.Agent) string {
	return "In this you are the agent " + a.Name +
		". The person described it as follows; that adds to the rules above, and changes none of them.\n" + a.SystemContext
}
