package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/redact"
)

const maxChildren = 20

type subtask struct {
	Title       string `json:"title"`
	Instruction string `json:"instruction"`
	Agent       string `json:"agent,omitempty"` // name of a custom agent; empty: as the parent
}

func delegateTo(agents []Agent) llm.Tool {
	var text strings.Builder
	text.WriteString("Give independent parts of the work to sub-agents that work side by side. Each knows only the instruction you write for it. Returns one result for each.")
	properties := `"title":{"type":"string"},"instruction":{"type":"string","minLength":1}`
	if len(agents) > 0 {
		text.WriteString(" A part may be given to one of these, by name:")
		var names []string
		for _, a := range agents {
			names = append(names, a.Name)
			fmt.Fprintf(&text, "\n- %s: %s", oneLine(a.Name), cmp.Or(oneLine(a.WhenToUse), "no word on when"))
		}
		list, _ := json.Marshal(names) //nolint:errchkjson // texts have a JSON form
		properties += `,"agent":{"type":"string","enum":` + string(list) + `}`
	}
	return llm.Tool{Name: toolDelegate, Description: text.String(),
		Schema: json.RawMessage(`{"type":"object","properties":{"tasks":{"type":"array","minItems":1,"maxItems":5,` +
			`"items":{"type":"object","properties":{` + properties + `},"required":["instruction"]}}},"required":["tasks"]}`)}
}

// childSetup is how a sub-agent starts: with no more tools than its parent has, but those that are its agent's alone.
func (b *branch) childSetup(task subtask) Started {
	s := Started{Task: task.Instruction, System: b.system(true), Tools: b.started.Tools, Agent: b.agent()}
	i := slices.IndexFunc(b.Agents, func(a Agent) bool { return a.Name == task.Agent })
	if task.Agent == "" || i < 0 {
		return s
	}
	a := b.Agents[i]
	s.Agent = a.ID
	if a.Context != "" {
		s.System += "\n\n" + a.Context
	}
	may := s.Tools
	if a.Tools != nil {
		s.Tools = slices.DeleteFunc(slices.Clone(a.Tools),
			func(name string) bool { return may != nil && !slices.Contains(may, name) })
		s.Tools = append(s.Tools, OwnTools()...) // so that an agent without tools does not get all
	}
	for _, t := range b.Tools {
		if s.Tools != nil && a.ID != "" && t.Agent == a.ID && !slices.Contains(s.Tools, t.Name) {
			s.Tools = append(slices.Clone(s.Tools), t.Name)
		}
	}
	return s
}

// delegate runs sub-agents at the same time and returns their results. Those that have ended are taken from the
// journal.
func (b *branch) delegate(ctx context.Context, key string, call llm.ToolCall, args json.RawMessage) (Returned, error) {
	var input struct{ Tasks []subtask }
	if err := json.Unmarshal(args, &input); err != nil {
		return b.refuse(ctx, key, call, err.Error())
	}
	if b.children+len(input.Tasks) > maxChildren {
		return b.refuse(ctx, key, call, fmt.Sprintf("a branch may have %d sub-agents in all; do the rest yourself",
			maxChildren))
	}
	if !b.history.has(ToolCall, key) {
		if err := b.mayBegin(ctx); err != nil {
			return Returned{}, err
		}
	}
	called, fresh, err := record(ctx, b, ToolCall, key, Called{Tool: call.Name, Args: args, CallID: call.ID}, 0)
	if err != nil {
		return Returned{}, err
	}
	if fresh {
		b.emit(EventInput, key, call.Name, "", called)
	}
	begun := b.Now()
	share := b.budget.share(len(input.Tasks))
	ends, err := b.runChildren(ctx, input.Tasks, share)
	if err != nil {
		return Returned{}, err
	}
	ret := returned(call, CallCompleted, "")
	ret.Took = b.Now().Sub(begun)
	var text strings.Builder
	for i, end := range ends {
		b.addChild(end)
		fmt.Fprintf(&text, "Result %d of %d, %s (%s%s):\n%s\n\n", i+1, len(ends),
			cmp.Or(oneLine(input.Tasks[i].Title), "untitled"),
			end.Status, strings.TrimRight(" "+end.Code, " "), cmp.Or(end.Summary, "(no words)"))
	}
	ret.Result.Text = shorten(redact.Escape(strings.TrimSpace(text.String())), maxText)
	return b.finish(ctx, key, ret)
}

func (b *branch) addChild(end Ended) {
	spent := amounts{micros: end.Micros, tokens: end.Usage.Tokens(), requests: int64(end.Requests)}
	b.budget.settle(amounts{}, spent)
	b.sum.Usage = b.sum.Usage.Plus(end.Usage)
	b.sum.Steps += end.Steps
	b.sum.Calls += end.Calls
	b.sum.Requests += end.Requests
	for _, f := range end.Candidates {
		b.addCandidate(f)
	}
	b.addEvidence(end.Evidence)
}

// runChildren runs the sub-agents to their ends. Their shares stay reserved meanwhile.
func (b *branch) runChildren(ctx context.Context, tasks []subtask, share Caps) ([]Ended, error) {
	n := int64(len(tasks))
	reserved := amounts{share.Micros * n, share.Tokens * n, share.Requests * n}
	if code := b.budget.reserve(reserved); code != "" {
		return nil, &stop{Stopped, code, "too little is left of the budget to share it with sub-agents"}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ends, errs := make([]Ended, len(tasks)), make([]error, len(tasks))
	var group sync.WaitGroup
	for i, task := range tasks {
		b.children++
		child := b.branch(fmt.Sprintf("%s.%d", b.name, b.children))
		child.planning = b.planning
		started := b.childSetup(task)
		started.Caps = share
		group.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					errs[i] = fmt.Errorf("loop: %s crashed: %v\n%s", child.name, cause, debug.Stack())
				}
				if errs[i] != nil && !errors.Is(errs[i], errSuspended) {
					cancel(errInterrupted) // the run is over: the others stop as well
				}
			}()
			ends[i], errs[i] = child.runAsChild(inner, started)
		})
	}
	group.Wait()
	b.budget.settle(reserved, amounts{})
	return ends, worstError(errs)
}

// worstError prefers errors of the run to interruptions, and these to suspensions.
func worstError(all []error) error {
	var found error
	for _, err := range all {
		switch {
		case err == nil:
		case !errors.Is(err, errSuspended) && !errors.Is(err, errInterrupted):
			return err
		case found == nil || errors.Is(err, errInterrupted):
			found = err
		}
	}
	return found
}

func (b *branch) runAsChild(ctx context.Context, s Started) (Ended, error) {
	end, ok, err := find[Ended](b.run, BranchEnd, b.key("end"))
	if ok || err != nil {
		return end, err
	}
	s.ID, s.Messages = b.key("agent"), []llm.Message{{Role: llm.User, Text: b.withoutBoundary(s.Task)}}
	if err := b.begin(ctx, s); err != nil {
		return end, err
	}
	watched, release := b.Control.watch(ctx, b.subagent)
	defer release()
	err = b.work(watched, max(1, b.MaxSteps/2))
	if why, ok := errors.AsType[*stop](err); ok {
		if failed := b.note(ctx, b.key("stop"), why.code, why.reason); failed != nil {
			return end, failed
		}
	}
	out, err := b.outcome(ctx, err)
	switch {
	case err != nil:
		return end, err
	case out.Status == Suspended:
		return end, errSuspended
	case out.Status == Aborted && out.Code == "":
		return end, errInterrupted
	}
	return Ended{Outcome: out, Evidence: b.evidence}, nil
}
