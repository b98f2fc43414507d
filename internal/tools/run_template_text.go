package tools

import (
	"context"
	"errors"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/runner"
)

type textArgs struct {
	Targets  []string `json:"targets"`
	Template string   `json:"template"`
}

const maxTemplate = 64 << 10 // bytes

func (k *Kit) runTemplateText() action[textArgs] {
	return action[textArgs]{
		name: "run_template_text", repeatable: true,
		schema:   `{"type": "object", "required": ["targets", "template"], "properties": {"targets": {"type": "array", "maxItems": 100, "items": {"type": "string"}}, "template": {"type": "string", "description": "the YAML text of one template"}}}`,
		requests: func(a textArgs) int { return runCost * len(a.Targets) },
		approval: func(a textArgs) *loop.Approval {
			if k.scope.Doc.Intrusiveness == task.Intrusive {
				return nil
			}
			t, err := syntax.Parse(distill.OwnTemplate, []byte(a.Template))
			if err != nil || !isHarmful(t.Info.Tags) && readsOnly(t) {
				return nil // Call reports an error
			}
			return &loop.Approval{
				Action: "run a template written for this task: " + errs.Clip(t.Info.Name, brief.MaxReason),
				Reason: "It sends more than requests that read.",
				Risk:   "Data may be written or deleted, and load may rise.",
			}
		},
		call: func(ctx context.Context, a textArgs, progress func(string)) (loop.Result, error) {
			if len(a.Template) > maxTemplate {
				return loop.Result{}, errors.New("the template is too long")
			}
			t, err := syntax.Parse(distill.OwnTemplate, []byte(a.Template))
			if err != nil {
				return loop.Result{}, err
			}
			if !AllowsMethods(k.scope.Doc, t) {
				return loop.Result{}, k.scope.Refuse("the template "+t.ID, "it uses methods that are not in scope")
			}
			text := runner.Text(distill.OwnTemplate, a.Template)
			return k.run(ctx, a.Targets, []child.Template{text}, &task.Proof{Template: a.Template}, progress)
		},
	}
}
