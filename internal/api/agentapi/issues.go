package agentapi

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// IssueList is a page of issues.
type IssueList struct {
	Issues     []task.Issue `json:"issues" doc:"The page."`
	Total      int          `json:"total"`
	HasMore    bool         `json:"has_more"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// IssuePatch is what may be changed of an issue.
type IssuePatch struct {
	Status      *task.IssueStatus `json:"status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"What was decided; false_positive and duplicate take it out of artifacts."`
	Severity    *string           `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown"`
	Title       *string           `json:"title,omitempty" minLength:"1" maxLength:"500"`
	Description *string           `json:"description,omitempty" maxLength:"20000"`
	Remediation *string           `json:"remediation,omitempty" maxLength:"20000"`
}

func (s surface) issues() {
	const path, tag = "/api/v1/issues", "Issues"
	type IssuePath struct {
		ID string `path:"id" doc:"The issue's id."`
	}

	rest.Handle(s.API, op("list-issues", "GET "+path, tag, "List your team's verified issues, newest first"),
		func(ctx context.Context, in *struct {
			PerPage    int    `query:"per_page" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
			Cursor     string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
			TaskID     string `query:"task_id" format:"uuid" doc:"Only those of this task."`
			Status     string `query:"status" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"Only those with this decision."`
			Severity   string `query:"severity" enum:"critical,high,medium,low,info,unknown" doc:"Only those of this severity."`
			Unverified bool   `query:"unverified" doc:"Also what was seen once and could not be confirmed."`
		}) (*IssueList, error) {
			found, total, err := s.Tasks.FindIssues(ctx, task.IssueFilter{
				TaskID: in.TaskID, Status: task.IssueStatus(in.Status), Severity: in.Severity, Unverified: in.Unverified,
				After: in.Cursor, Limit: in.PerPage + 1,
			})
			if err != nil {
				return nil, err
			}
			list := IssueList{Total: total}
			list.Issues, list.HasMore, list.NextCursor = pageOf(found, in.PerPage, func(i task.Issue) string { return i.ID })
			return &list, nil
		})

	rest.Handle(s.API, op("get-issue", "GET "+path+"/{id}", tag, "Get an issue of your team", 404),
		func(ctx context.Context, in *IssuePath) (*task.Issue, error) {
			return body(s.Tasks.FindIssue(ctx, in.ID))
		})

	retest := op("retest-issue", "POST "+path+"/{id}/retest", tag, "Retest an issue with the template that found it", 404,
		409)
	retest.DefaultStatus = http.StatusAccepted
	retest.Description = "It uses no language model. An issue that is not found any more becomes fixed; a fixed one that is found again becomes open. The issue's `retest` has the progress."
	rest.Handle(s.API, retest, func(ctx context.Context, in *IssuePath) (*task.Issue, error) {
		return body(s.Tasks.QueueRetest(ctx, in.ID))
	})

	rest.Handle(s.API, op("update-issue", "PATCH "+path+"/{id}", tag, "Change an issue; a refreshed artifact shows it",
		404),
		func(ctx context.Context, in *struct {
			IssuePath
			Body IssuePatch
		}) (*task.Issue, error) {
			return body(s.Tasks.UpdateIssue(ctx, in.ID, task.IssueUpdate(in.Body)))
		})
}
