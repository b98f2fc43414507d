package issues

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Comment is what somebody said about an issue, and so about the finding that it is.
type Comment struct {
	ID        string     `json:"id" doc:"The comment's id."`
	Author    string     `json:"author" doc:"The address of who wrote it, or a name and the tracker that it was written in."`
	Text      string     `json:"text" doc:"Plain text or Markdown."`
	CreatedAt time.Time  `json:"created_at"`
	EditedAt  *time.Time `json:"edited_at,omitempty" doc:"When it was changed last; absent: never."`
	Mentioned []string   `json:"mentioned,omitempty" doc:"Of one that was just written: the members that were told."`
	Strangers []string   `json:"not_members,omitempty" doc:"Of one that was just written: addresses in it that no member has."`
}

func commentOf(c comment.Comment) Comment {
	return Comment{c.ID, c.Author, c.Text, c.At, rest.OrNull(c.EditedAt), c.Mentioned, c.Strangers}
}

// CommentList is a page of comments.
type CommentList struct {
	Comments []Comment `json:"comments" doc:"The oldest first."`
	Total    int       `json:"total"`
	HasMore  bool      `json:"has_more"`
}

// CommentText is the text of a comment.
type CommentText struct {
	Text string `json:"text" minLength:"1" maxLength:"4000" doc:"Plain text or Markdown. @ and the address of a member tells them."`
}

// CommentPath names a comment on an issue.
type CommentPath struct {
	Path
	CommentID string `path:"comment_id" maxLength:"100" doc:"The comment's id."`
}

// Deleted says that something was deleted.
type Deleted struct {
	Message string `json:"message"`
}

func (s area) comments() {
	const comments, one = path + "/{id}/comments", path + "/{id}/comments/{comment_id}"
	rest.Handle(s.API, op("list-issue-comments", "GET "+comments, tag, "List the comments on an issue, the oldest first",
		403,
		404),
		func(ctx context.Context, in *struct {
			Path
			Limit  int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
			Offset int `query:"offset" minimum:"0" maximum:"100000" doc:"How many to leave out first."`
		}) (*CommentList, error) {
			found, total, err := s.issues.Comments(ctx, in.ID, page.Window{Limit: in.Limit, Offset: in.Offset})
			return &CommentList{rest.Each(found, commentOf), total, in.Offset+len(found) < total}, err
		})
	add := op("comment-issue", "POST "+comments, tag, "Comment on an issue", 404, 409)
	add.DefaultStatus = http.StatusCreated
	add.Description = "The comment is one on the finding: it is in its timeline, and in its issues in trackers whose configuration has comments: true."
	rest.Handle(s.API, add, func(ctx context.Context, in *struct {
		Path
		Body CommentText
	}) (*Comment, error) {
		c, err := s.issues.Comment(ctx, in.ID, in.Body.Text)
		return body(commentOf(c), err)
	})
	rest.Handle(s.API, op("edit-issue-comment", "PATCH "+one, tag, "Change a comment of yours", 403, 404, 409),
		func(ctx context.Context, in *struct {
			CommentPath
			Body CommentText
		}) (*Comment, error) {
			c, err := s.issues.EditComment(ctx, in.ID, in.CommentID, in.Body.Text)
			return body(commentOf(c), err)
		})
	rest.Handle(s.API, op("delete-issue-comment", "DELETE "+one, tag,
		"Delete a comment of yours, also from the timeline", 403,
		404, 409),
		func(ctx context.Context, in *CommentPath) (*Deleted, error) {
			return &Deleted{"The comment is deleted."}, s.issues.DeleteComment(ctx, in.ID, in.CommentID)
		})
}
