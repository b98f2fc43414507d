package mcp

import (
	"cmp"
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TaskRequest creates a task.
type TaskRequest struct {
	Task   string  `json:"task" jsonschema:"the instruction in plain language; what it names is what may be reached, such as: look for exposed backups on https://shop.example"`
	Mode   string  `json:"mode,omitempty" jsonschema:"agent: all tools, also when absent. plan: plan and wait for a person's approval. chat: nothing is sent to targets"`
	Scope  *Scope  `json:"scope,omitempty" jsonschema:"what may be touched, where it is not what the instruction names"`
	Budget *Budget `json:"budget,omitempty" jsonschema:"what it may use at most; what was found until then is its result"`
}

// Scope bounds a task.
type Scope struct {
	Hosts         []string `json:"hosts,omitempty" jsonschema:"names, *.names, addresses and ranges, each with a port where it has one; with any, they are all that may be reached"`
	Exclude       []string `json:"exclude,omitempty" jsonschema:"names, addresses, ranges and URLs that are left alone"`
	Ports         []int    `json:"ports,omitempty" jsonschema:"with any, no other port is reached"`
	Paths         []string `json:"paths,omitempty" jsonschema:"with any, only what lies under one of them is asked for"`
	Methods       []string `json:"methods,omitempty" jsonschema:"with any, no other HTTP method is used"`
	Intrusiveness string   `json:"intrusiveness,omitempty" jsonschema:"passive: nothing is sent to targets. safe, also when absent: what changes something waits for a person's approval"`
}

// Budget limits a task; 0 is no limit.
type Budget struct {
	MoneyUSD float64 `json:"money_usd,omitempty" jsonschema:"spent on models, in US dollars"`
	Tokens   int64   `json:"tokens,omitempty" jsonschema:"of models, all kinds together"`
	Requests int64   `json:"requests,omitempty" jsonschema:"sent to targets"`
	Seconds  int64   `json:"seconds,omitempty" jsonschema:"of working time"`
}

// Task is a task and how far it is.
type Task struct {
	ID          string     `json:"id" jsonschema:"for get_task and stop_task"`
	Title       string     `json:"title"`
	Status      string     `json:"status" jsonschema:"queued, running and resuming are on their way; suspended waits for a person, who answers through the API; completed, failed and aborted are ends"`
	Model       string     `json:"model" jsonschema:"the model; builtin: no language model"`
	Summary     string     `json:"summary" jsonschema:"the result, when it has ended"`
	Issues      int        `json:"issue_count" jsonschema:"verified ones"`
	CreatedAt   time.Time  `json:"created_at"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
}

// Issue is a verified issue of a task.
type Issue struct {
	ID          string `json:"id"`
	Status      string `json:"status"`
	Severity    string `json:"severity"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Remediation string `json:"remediation"`
	Template    string `json:"template,omitempty"`
	MatchedAt   string `json:"matched_at"`
}

// TaskDetail is a task with its issues.
type TaskDetail struct {
	Task
	List []Issue `json:"issues" jsonschema:"the newest 200"`
}

func taskDoc(t task.Task) Task {
	return Task{
		ID: t.ID, Title: t.Title, Status: string(t.Status), Model: t.Model, Summary: t.Summary, Issues: t.Issues,
		CreatedAt: t.CreatedAt, CompletedAt: rest.OrNull(t.CompletedAt),
	}
}

const (
	mostMoney   = 1_000_000
	mostSeconds = 365 * 24 * 60 * 60
)

func (r TaskRequest) newTask() (n task.NewTask, err error) {
	// Where a scope says how far a task may go, its instruction says nothing: a program may have written that.
	safe := &task.Scope{Intrusiveness: task.Safe}
	n = task.NewTask{Instruction: r.Task, Options: task.Options{Mode: r.Mode, Scope: safe}}
	switch r.Mode {
	case "", "agent", "plan", "chat":
	default:
		return n, errs.Field("mode", "mode must be agent, plan or chat.")
	}
	if sc := r.Scope; sc != nil {
		if is := task.Intrusiveness(sc.Intrusiveness); is == task.Active || is == task.Intrusive {
			return n, errs.Field("scope.intrusiveness",
				"scope.intrusiveness must be passive or safe: only a person can let a task change something.")
		}
		n.Options.Scope = &task.Scope{
			Hosts: sc.Hosts, Exclude: sc.Exclude, Ports: sc.Ports, Paths: sc.Paths, Methods: sc.Methods,
			Intrusiveness: cmp.Or(task.Intrusiveness(sc.Intrusiveness), task.Safe),
		}
	}
	if b := r.Budget; b != nil {
		if !(b.MoneyUSD >= 0 && b.MoneyUSD <= mostMoney) || min(b.Tokens, b.Requests,
			b.Seconds) < 0 || b.Seconds > mostSeconds {
			return n, errs.Field("budget",
				"budget must hold numbers that are not negative: at most %d of money_usd, and %d of seconds.", mostMoney,
				mostSeconds)
		}
		n.Options.Budget = new(task.Budget(*b))
	}
	return n, nil
}

func (s *surface) tasks() {
	offer(s, tool{name: "create_task", title: "Hand over a task", changes: true,
		words: "Hands over a security task in plain language. It answers at once; get_task says how far it is and what it found. Each issue is verified a second time before it is one. Test only what you are allowed to test."},
		func(ctx context.Context, in TaskRequest) (Task, error) {
			n, err := in.newTask()
			if err != nil {
				return Task{}, err
			}
			made, err := s.Tasks.Create(ctx, n)
			rest.About(ctx, made.ID)
			return taskDoc(made), err
		})
	offer(s, tool{name: "get_task", title: "See a task",
		words: "How far a task is, its summary, and its verified issues."}, s.getTask)
	offer(s, tool{name: "stop_task", title: "Stop a task", changes: true,
		words: "Stops a task; what it found until then is kept."},
		func(ctx context.Context, in ID) (Task, error) {
			rest.About(ctx, in.ID)
			t, err := s.Tasks.Abort(ctx, in.ID)
			return taskDoc(t), err
		})
}

func (s *surface) getTask(ctx context.Context, in ID) (TaskDetail, error) {
	t, err := s.Tasks.Find(ctx, in.ID)
	if err != nil {
		return TaskDetail{}, err
	}
	issues, _, err := s.Tasks.FindIssues(ctx, task.IssueFilter{TaskID: t.ID, Limit: mostLimit})
	return TaskDetail{taskDoc(t), rest.Each(issues, func(i task.Issue) Issue {
		return Issue{i.ID, string(i.Status), i.Severity, i.Title, i.Description, i.Remediation, i.TemplateID, i.MatchedAt}
	})}, err
}
