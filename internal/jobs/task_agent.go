package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// underAgents holds the built-in planner's plan to the agent that a task names, as far as the planner can, and has the
// plan say what it cannot, of the files that the task names, too.
func (w worker) underAgents(ctx context.Context, t task.Task, plan agent.Plan) (agent.Plan, error) {
	notDone := func(text string) { plan.NotDone = append(slices.Clone(plan.NotDone), text) }
	if t.Options.AgentID != "" {
		s := customagent.Stream{TeamID: t.TeamID, UserID: t.UserID, TaskID: t.ID, ID: t.StreamID}
		leaders, _, err := w.Agents.ForStream(ctx, s, true, t.Options.AgentID)
		if err != nil {
			return plan, err
		}
		if len(leaders) == 0 {
			notDone("There is no agent any more with the id " + t.Options.AgentID + ".")
		}
		for _, a := range leaders {
			if err := w.Installs.CheckSecrets(ctx, a); err != nil {
				return plan, err
			}
			plan = under(plan, a)
		}
	}
	if len(t.Options.AgentIDs) > 0 {
		notDone("The work is not shared with other agents: that needs a language model.")
	}
	if len(t.Options.FileKeys) > 0 {
		notDone("The files were not read: that needs a language model.")
	}
	return plan, nil
}

// under holds a plan to one agent.
func under(plan agent.Plan, a customagent.Agent) agent.Plan {
	tested := plan.TestsWeb()
	if a.Origin == sharing.Shipped { // which tell a model how to work, and restrict nothing but their tools
		plan.NotDone = append(slices.Clone(plan.NotDone), "What the agent "+a.Name+
			" is told was not used: it is for language models. I do my own checks.")
	} else {
		plan = plan.Under(builtin.Rules(a.Name, a.SystemContext, a.Origin == sharing.Own && a.OriginalID == ""))
	}
	if len(a.NativeTools) > 0 {
		may := strings.Join(a.NativeTools, ", ")
		runs := slices.Contains(a.NativeTools, "run_templates")
		plan.NoWebTest = true
		switch {
		case !runs && len(plan.Targets) > 0:
			plan.Targets = []agent.Target{}
			plan.NotDone = append(slices.Clone(plan.NotDone), "Nothing was sent: the agent "+a.Name+" may only use "+may+
				", and without a language model I only run templates (run_templates).")
		case runs && tested:
			plan.NotDone = append(slices.Clone(plan.NotDone), "The application's inputs were not tested: the agent "+a.Name+
				" may only use "+may+".")
		}
	}
	if len(a.CustomTools) > 0 || a.Installs() {
		plan.NotDone = append(slices.Clone(plan.NotDone), "The tools and commands of the agent "+
			a.Name+" were not used: they are for language models.")
	}
	if len(a.Skills) > 0 {
		plan.NotDone = append(
			slices.Clone(plan.NotDone),
			"The skills of the agent "+a.Name+" were not read: they are for language models.",
		)
	}
	return plan
}
