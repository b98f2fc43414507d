package export

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// taskFindings are the findings of a task: its verified issues, the worst first.
type taskFindings struct {
	issues []task.Issue
}

const (
	maxIssues = 5000 // of a task, or of all tasks in a report of a team
	issuePage = 200
)

// findTask reads a task that the caller may see, with its issues. Issues that a person has decided about stay, with
// the decision as their state.
func (es *Exports) findTask(ctx context.Context, id string) (*taskFindings, error) {
	t, err := es.from.Tasks.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	issues, err := es.issues(ctx, task.IssueFilter{TaskID: t.ID})
	slices.SortStableFunc(issues, func(a, b task.Issue) int {
		return slices.Index(task.Severities, a.Severity) - slices.Index(task.Severities, b.Severity)
	})
	return &taskFindings{issues: issues}, err
}

// issues are at most maxIssues issues.
func (es *Exports) issues(ctx context.Context, f task.IssueFilter) (all []task.Issue, err error) {
	f.Limit = issuePage
	for len(all) < maxIssues {
		page, _, err := es.from.Tasks.FindIssues(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < issuePage {
			break
		}
		f.After = page[len(page)-1].ID
	}
	return all, nil
}

// encode gives each issue to encode as a document, and what it appends to emit.
func (t *taskFindings) encode(
	encode func(dst []byte, d *finding.Document) ([]byte, error), emit func(part []byte, rows int) error,
) error {
	for i := range t.issues {
		d, err := documentOf(&t.issues[i])
		if err != nil {
			return err
		}
		part, err := encode(nil, d)
		if err == nil {
			err = emit(part, 1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// documentOf is an issue as a document of a finding. What people changed of the issue is in it.
func documentOf(i *task.Issue) (*finding.Document, error) {
	e := i.Event
	e.TemplateID, e.MatchedAt = i.TemplateID, i.MatchedAt
	e.Info.Name, e.Info.Description, e.Info.Remediation = i.Title, i.Description, i.Remediation
	if e.Request == "" && len(i.Evidence) > 0 {
		e.Request, e.Response = i.Evidence[0].Request, i.Evidence[0].Response
	}
	d, err := finding.DocumentOf(e, i.Target)
	if err != nil {
		return nil, err
	}
	d.ID, d.Severity, d.Status = i.ID, i.Severity, finding.Status(i.Status)
	d.Tags, d.CreatedAt, d.UpdatedAt = strings.Join(e.Info.Tags, ","), i.CreatedAt.UTC(), i.UpdatedAt.UTC()
	return d, nil
}
