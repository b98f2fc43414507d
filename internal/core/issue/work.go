package issue

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// shared is an issue that is a finding of the team, as assignees and comments belong to those. Conflict
// (issue_is_private) for one of a private task.
func (is *Issues) shared(ctx context.Context, id string) (task.Issue, error) {
	i, err := is.tasks.FindIssue(ctx, id)
	if err == nil && i.VulnID == "" {
		err = errs.New(errs.Conflict, "issue_is_private",
			"The issue is no finding of the team: its task is private, or it is not verified.")
	}
	return i, err
}

// Update changes an issue as package task does, and (assignee not nil) who works on it; empty: nobody.
func (is *Issues) Update(ctx context.Context, id string, up task.IssueUpdate, assignee *string) (task.Issue, error) {
	if assignee != nil {
		if _, err := account.Writer(ctx); err != nil {
			return task.Issue{}, err
		}
		i, err := is.shared(ctx, id)
		if err != nil {
			return i, err
		}
		if _, err := is.works.Assign(ctx, finding.Filter{IDs: []string{i.VulnID}}, *assignee); err != nil {
			return i, err
		}
	}
	return is.tasks.UpdateIssue(ctx, id, up)
}

// Comments lists the comments on the finding that an issue is, the oldest first, and their number. A guest of the team
// may not see them. A private issue has none.
func (is *Issues) Comments(ctx context.Context, id string, w page.Window) ([]comment.Comment, int, error) {
	if _, err := account.Insider(ctx); err != nil {
		return nil, 0, err
	}
	i, err := is.tasks.FindIssue(ctx, id)
	if err != nil || i.VulnID == "" {
		return nil, 0, err
	}
	return is.comments.Find(ctx, i.VulnID, w)
}

// Comment comments on the finding that an issue is.
func (is *Issues) Comment(ctx context.Context, id, text string) (comment.Comment, error) {
	i, err := is.sharedForWriter(ctx, id)
	if err != nil {
		return comment.Comment{}, err
	}
	return is.comments.Add(ctx, i.VulnID, text)
}

// EditComment changes a comment of the caller.
func (is *Issues) EditComment(ctx context.Context, id, commentID, text string) (comment.Comment, error) {
	i, err := is.sharedForWriter(ctx, id)
	if err != nil {
		return comment.Comment{}, err
	}
	return is.comments.Edit(ctx, i.VulnID, commentID, text)
}

// DeleteComment deletes a comment of the caller.
func (is *Issues) DeleteComment(ctx context.Context, id, commentID string) error {
	i, err := is.sharedForWriter(ctx, id)
	if err != nil {
		return err
	}
	return is.comments.Delete(ctx, i.VulnID, commentID)
}

func (is *Issues) sharedForWriter(ctx context.Context, id string) (task.Issue, error) {
	if _, err := account.Writer(ctx); err != nil {
		return task.Issue{}, err
	}
	return is.shared(ctx, id)
}
