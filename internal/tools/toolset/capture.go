package toolset

import (
	"context"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// capture takes the requests of a task, where its team's policy says so. The passwords and the like that the
// instruction gives are hidden where the requests are shown.
func (s Services) capture(ctx context.Context, t task.Task, plan agent.Plan) (*network.Recorder, error) {
	if s.Network == nil {
		return nil, nil //nolint:nilnil // a nil recorder records nothing
	}
	subject := network.Subject{TeamID: t.TeamID, TaskID: t.ID}
	for _, access := range []agent.Access{plan.Access, builtin.Plan(t.Instruction).Access} {
		for _, l := range access.Logins {
			subject.Hidden = append(subject.Hidden, l.Password)
		}
		for _, h := range access.Headers {
			subject.Hidden = append(subject.Hidden, h.Value)
		}
		subject.Hidden = append(subject.Hidden, access.Cookies)
	}
	return s.Network.Begin(ctx, subject)
}
