package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Ending is how a stream ends.
type Ending struct {
	Status   Status
	Opening  string     // what the summary begins with
	Plan     agent.Plan // of the built-in planner
	Requests int        // that the language model's run sent to targets
}

// Conclude ends the stream with a summary of what was done and found.
func (r *Run) Conclude(ctx context.Context, e Ending) error {
	found, err := r.Issues(ctx)
	if err != nil {
		return err
	}
	steps, err := r.finished(ctx)
	if err != nil {
		return err
	}
	denied, err := db.Value[int](ctx, r.tasks.db, `SELECT count(*) FROM stream_event WHERE stream_id = ? AND type = ?`,
		r.Task.StreamID, EventDenied)
	if err != nil {
		return err
	}
	text := summary(e.Opening, e.Plan, steps, found) +
		fmt.Sprintf("\nRequests sent to targets: %d, all of them in scope", e.Requests+int(sent(steps)))
	if denied > 0 {
		text += fmt.Sprintf("; attempts to leave it that were refused: %d", denied)
	}
	return r.Finish(ctx, Outcome{Status: e.Status, Summary: text + "."})
}

// RequestsSent is how many requests the built-in planner's steps of the stream sent to targets.
func (r *Run) RequestsSent(ctx context.Context) (int64, error) {
	steps, err := r.finished(ctx)
	return sent(steps), err
}

func sent(steps []agent.Done) (sum int64) {
	for _, step := range steps {
		var output struct{ Requests int64 }
		_ = json.Unmarshal(step.Output, &output) // a step that failed has no output
		sum += output.Requests
	}
	return sum
}

// summary describes the result of a task: what was found, what each step did, what could not be confirmed, and
// what of the instruction was not used or not done.
func summary(opening string, plan agent.Plan, steps []agent.Done, found []Issue) string {
	var lines []string
	if opening != "" {
		lines = append(lines, opening)
	}
	bySeverity := map[string]int{}
	verified := 0
	doubts := map[string]int{} // by reason
	var reasons []string
	for _, i := range found {
		if i.Verification == Verified {
			verified++
			bySeverity[i.Severity]++
			continue
		}
		reason := i.Note
		if i.Verification == Pending {
			reason = "it was not checked a second time"
		}
		if doubts[reason]++; doubts[reason] == 1 {
			reasons = append(reasons, reason)
		}
	}
	lines = append(lines, counted(verified, bySeverity))
	for _, step := range steps {
		if step.Words != "" {
			lines = append(lines, step.Words)
		}
		if step.Status != agent.Completed {
			lines = append(lines,
				fmt.Sprintf("The step %s did not come to its end (%s): %s", step.Tool, step.Status, Sentence(step.Error)))
		}
	}
	for _, why := range reasons {
		lines = append(lines, fmt.Sprintf("Not reported, because %s: %d.", why, doubts[why]))
	}
	if len(plan.NotUnderstood) > 0 {
		lines = append(lines, "Of the instruction I did not use: "+strings.Join(plan.NotUnderstood, "; ")+".")
	}
	return strings.Join(append(lines, plan.NotDone...), "\n")
}

// counted is the sentence "3 verified findings: 1 high, 2 low".
func counted(n int, bySeverity map[string]int) string {
	if n == 0 {
		return "No verified findings."
	}
	var parts []string
	for _, severity := range Severities {
		if c := bySeverity[severity]; c > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c, severity))
		}
	}
	noun := "findings"
	if n == 1 {
		noun = "finding"
	}
	return fmt.Sprintf("%d verified %s: %s.", n, noun, strings.Join(parts, ", "))
}

// Sentence is a text with a full stop at its end.
func Sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
