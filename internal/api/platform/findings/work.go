package findings

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
)

// VulnAssignment says who works on findings.
type VulnAssignment struct {
	IDs      []string `json:"vuln_ids,omitempty" maxItems:"10000" doc:"The findings; default: those that the other fields select."`
	Assignee string   `json:"assignee" maxLength:"254" doc:"The address of a member of the team; empty: nobody."`
	VulnFilter
}

// CommentRequest is a comment on a finding.
type CommentRequest struct {
	Text string `json:"text" minLength:"1" maxLength:"4000" doc:"Plain text or Markdown. @ and the address of a member tells them."`
}

// CommentAnswer is a comment that was written.
type CommentAnswer struct {
	OK        bool     `json:"ok"`
	ID        string   `json:"comment_id" doc:"The comment's id."`
	Mentioned []string `json:"mentioned" doc:"The members that were told."`
	Strangers []string `json:"not_members" doc:"Addresses that the text mentions and that no member has: nobody was told."`
}

func commentAnswer(c comment.Comment) *CommentAnswer {
	return &CommentAnswer{true, c.ID, rest.OrEmpty(c.Mentioned), rest.OrEmpty(c.Strangers)}
}

// VulnComment is a comment on a finding.
type VulnComment struct {
	ID        string     `json:"comment_id" doc:"The comment's id."`
	Author    string     `json:"author" doc:"The address of who wrote it, or a name and the tracker it was written in; empty: a rule."`
	Text      string     `json:"text" doc:"Plain text or Markdown."`
	CreatedAt time.Time  `json:"created_at"`
	EditedAt  *time.Time `json:"edited_at,omitempty" doc:"When it was changed last; absent when it was not."`
}

// CommentList is a page of comments.
type CommentList struct {
	wire.Listing
	Data []VulnComment `json:"data" doc:"The earliest first."`
}

// CommentPath names a comment on a finding.
type CommentPath struct {
	wire.VulnPath
	CommentID string `path:"comment_id" maxLength:"100" doc:"The comment's id."`
}

func (s area) work() {
	assign := wire.Op("assign-vulnerabilities", "PATCH /v1/scans/vulns/assignee", vulnTag,
		"Assign findings, named by id or by a filter, to a member of the team", 404)
	assign.Description = "The member is told. All sightings of a weakness have the same assignee, those to come included."
	rest.Handle(s.API, assign, func(ctx context.Context, in *struct{ Body VulnAssignment }) (*wire.Message, error) {
		f, err := in.Body.picked(in.Body.IDs)
		if err != nil {
			return nil, err
		}
		n, err := s.Works.Assign(ctx, f, in.Body.Assignee)
		return wire.Messagef("The assignee of %d findings is changed.", n), err
	})
	const path = "/v1/scans/vulns/{vuln_id}/comments"
	add := wire.Op("comment-vulnerability", "POST "+path, vulnTag,
		"Comment on a finding: in its timeline, and in its issues where the configuration has comments: true", 403, 404)
	add.Description = "Members that the text mentions as @address are told."
	rest.Handle(s.API, add, func(ctx context.Context, in *struct {
		wire.VulnPath
		Body CommentRequest
	}) (*CommentAnswer, error) {
		c, err := s.Comments.Add(ctx, in.ID, in.Body.Text)
		return commentAnswer(c), err
	})
	rest.Handle(s.API, wire.Op("list-vulnerability-comments", "GET "+path, vulnTag, "Comments on a finding", 403, 404),
		func(ctx context.Context, in *struct {
			wire.VulnPath
			wire.Window
		}) (*CommentList, error) {
			found, total, err := s.Comments.Find(ctx, in.ID, in.Page())
			return &CommentList{wire.ListOf(in.Window, len(found), total, "Comments."),
				rest.Each(found, func(c comment.Comment) VulnComment {
					return VulnComment{c.ID, c.Author, c.Text, c.At, rest.OrNull(c.EditedAt)}
				})}, err
		})
	rest.Handle(s.API, wire.Op("edit-vulnerability-comment", "PATCH "+path+"/{comment_id}", vulnTag,
		"Change a comment of yours", 403, 404),
		func(ctx context.Context, in *struct {
			CommentPath
			Body CommentRequest
		}) (*CommentAnswer, error) {
			c, err := s.Comments.Edit(ctx, in.ID, in.CommentID, in.Body.Text)
			return commentAnswer(c), err
		})
	remove := wire.Op("delete-vulnerability-comment", "DELETE "+path+"/{comment_id}", vulnTag,
		"Delete a comment of yours, also from the timeline", 403, 404)
	remove.Description = "What was written into an issue of a tracker stays there."
	rest.Handle(s.API, remove, func(ctx context.Context, in *CommentPath) (*wire.OK, error) {
		return wire.Done(), s.Comments.Delete(ctx, in.ID, in.CommentID)
	})
}
