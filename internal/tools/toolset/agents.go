package toolset

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/customagent/install"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
)

// crew are the agents of a stream, in the versions that it keeps.
type crew struct {
	leaders []customagent.Agent // the one that does the work; none: an agent without a description
	others  []customagent.Agent // to delegate to
	missing []string            // ids of agents that no longer exist
	ready   []*install.Ready
	gaps    []extension.Missing // tools of agents that are not offered
}

func (s Services) crewOf(ctx context.Context, t task.Task) (c crew, err error) {
	stream := customagent.Stream{TeamID: t.TeamID, UserID: t.UserID, TaskID: t.ID, ID: t.StreamID}
	lead := slices.DeleteFunc([]string{t.Options.AgentID}, func(id string) bool { return id == "" })
	var missing, absent []string
	if c.leaders, missing, err = s.Agents.ForStream(ctx, stream, true, lead...); err != nil {
		return c, err
	}
	if c.others, absent, err = s.Agents.ForStream(ctx, stream, false, t.Options.AgentIDs...); err != nil {
		return c, err
	}
	c.missing = slices.Concat(missing, absent)
	return c, nil
}

// addPrograms makes the programs of the agents ready, and gives each agent its own tools; release what it holds. The
// error says why an agent's cannot be run, before anything is done.
func (w *crew) addPrograms(ctx context.Context, s Services, kit *tools.Kit, c *loop.Config) (err error) {
	var ids, names []string
	for _, t := range c.Tools {
		names = append(names, t.Name)
	}
	for _, a := range slices.Concat(w.leaders, w.others) {
		if slices.Contains(ids, a.ID) {
			continue
		}
		ids = append(ids, a.ID)
		ready, err := s.Installs.Ready(ctx, a)
		if err != nil {
			return err
		}
		w.ready = append(w.ready, ready)
		c.Hidden = append(c.Hidden, ready.Hidden()...)
		for _, o := range ready.Tools() {
			if slices.Contains(names, o.Name) {
				w.gaps = append(w.gaps, extension.Missing{Source: "the tool " + o.Name + " of the agent " + a.Name,
					Why: "another tool has its name"})
				continue
			}
			names = append(names, o.Name)
			t := program(o, kit.Dial())
			t.Agent = a.ID
			c.Tools = append(c.Tools, t)
		}
	}
	return nil
}

// release lets go what the agents' programs hold.
func (w *crew) release() {
	for _, ready := range w.ready {
		ready.Close()
	}
}

// skills are the names of the skills that the agents choose; nil: all.
func (w *crew) skills() (names []string) {
	if len(w.leaders) == 0 || len(w.leaders[0].Skills) == 0 {
		return nil
	}
	for _, a := range slices.Concat(w.leaders, w.others) {
		names = append(names, a.Skills...)
	}
	return names
}

// addAgents makes the agent that a task names do the work, and the other named agents available to it. c has all tools
// already. gap names agents that no longer exist.
func (w *crew) addAgents(c *loop.Config) (gap string, err error) {
	native, err := ToolNames()
	if err != nil {
		return "", err
	}
	for _, a := range w.others {
		member := loop.Agent{ID: a.ID, Name: a.Name, WhenToUse: a.WhenToUse, Context: role(a)}
		if len(a.NativeTools) > 0 {
			for _, tool := range c.Tools {
				if has(a, native, tool.Name) {
					member.Tools = append(member.Tools, tool.Name)
				}
			}
		}
		c.Agents = append(c.Agents, member)
	}
	for _, a := range w.leaders {
		c.Lead = a.ID
		c.Context = strings.TrimSpace(c.Context + "\n\n" + role(a))
		c.Tools = slices.DeleteFunc(c.Tools, func(tool loop.Tool) bool { return !has(a, native, tool.Name) })
	}
	if len(w.missing) > 0 {
		gap = "\nThere is no agent any more with the id " + strings.Join(w.missing, ", ") + "."
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
