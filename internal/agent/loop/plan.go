package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// maxPlans bounds the plans that are declined with a reason, planSteps the model calls for one.
const maxPlans, planSteps = 5, 20

func (b *branch) makePlan(ctx context.Context) error {
	b.planning = true
	for n := 1; n <= maxPlans; n++ {
		b.plan, b.steps = nil, 0
		err := b.work(ctx, planSteps)
		if err != nil {
			return err
		}
		if b.plan == nil { // an answer without propose_plan is the plan
			b.plan = &Plan{Summary: b.text}
		}
		b.text = b.plan.Summary
		reply, err := b.approval(ctx, b.key(fmt.Sprintf("plan.%d", n)), *b.plan)
		if err != nil {
			return err
		}
		b.guard.progress()
		if reply.Approve {
			b.plan, b.steps, b.planning = nil, 0, false
			b.addUserText(strings.TrimSpace("The plan is approved. Carry it out now, with all your tools. " + replyText(reply)))
			return nil
		}
		if replyText(reply) == "" {
			break
		}
		b.addUserText("The plan was declined. Make another one that heeds this: " + replyText(reply))
	}
	return &stop{Stopped, CodePlanDeclined, "the plan was declined"}
}

// approval asks the person, unless the task approves plans in advance.
func (b *branch) approval(ctx context.Context, key string, plan Plan) (Reply, error) {
	ask := Ask{Kind: AskPlan, Text: plan.Summary, Plan: &plan}
	if b.AutoExecute {
		if _, _, err := record(ctx, b, Question, key, ask, 0); err != nil {
			return Reply{}, err
		}
		reply, fresh, err := record(ctx, b, Answer, key, Reply{Approve: true}, 0)
		if err == nil && fresh {
			b.emit(EventPlan, key, "", plan.Summary, Waiting{Stream: b.Stream, Branch: b.name, Key: key, Ask: ask})
		}
		return reply, err
	}
	return b.question(ctx, key, ask)
}

func (b *branch) propose(ctx context.Context, key string, call llm.ToolCall, args json.RawMessage) (Returned, error) {
	var plan Plan
	if err := json.Unmarshal(args, &plan); err != nil {
		return b.refuse(ctx, key, call, err.Error())
	}
	b.plan = &plan
	ret := returned(call, CallCompleted, "")
	ret.Result.Text = "The plan is with the person."
	return b.finish(ctx, key, ret)
}

func (b *branch) askUser(ctx context.Context, key string, call llm.ToolCall, args json.RawMessage) (Returned, error) {
	var input struct {
		Question string
		Options  []string
	}
	if err := json.Unmarshal(args, &input); err != nil {
		return b.refuse(ctx, key, call, err.Error())
	}
	reply, err := b.question(ctx, key+"/question", Ask{Kind: AskUser, Text: input.Question, Options: input.Options})
	if err != nil {
		return Returned{}, err
	}
	b.guard.progress()
	if !reply.Approve {
		return b.finish(ctx, key, returned(call, CallDeclined, replyText(reply)))
	}
	ret := returned(call, CallCompleted, "")
	ret.Result.Text = cmp.Or(replyText(reply), "yes")
	return b.finish(ctx, key, ret)
}

// replyText is what a person wrote besides yes or no.
func replyText(r Reply) string {
	text := strings.TrimSpace(r.Text)
	if m := strings.TrimSpace(string(r.Metadata)); m != "" && m != "null" && m != "{}" {
		text = strings.TrimSpace(text + " " + m)
	}
	return text
}
