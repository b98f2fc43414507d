// Package work says who works on findings, and gives all findings of a list a severity of the team's own. An assignee
// belongs to a weakness, as its status does: all its sightings have the same one, those to come included, and each
// change is in their timelines.
package work

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Works is the service.
type Works struct {
	db       *db.DB
	findings *finding.Findings
	inbox    *inbox.Inbox
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings, in *inbox.Inbox) *Works {
	return &Works{d, findings, in}
}

// Assign gives the findings of the caller's team that a filter picks to a member, or (empty) to nobody, and returns how
// many had another assignee. The member is told. Who is no member, or a guest, is refused by name; so is a filter that
// says nothing, and an id that the team does not have.
func (ws *Works) Assign(ctx context.Context, f finding.Filter, email string) (changed int, err error) {
	c, picked, err := ws.findings.PickWritable(ctx, "vuln_ids", f)
	if err != nil {
		return 0, err
	}
	return changed, ws.db.Tx(ctx, func(tx *db.Tx) error {
		changed, err = ws.assign(ctx, tx, c, picked, email)
		return err
	})
}

// AssignTo is Assign of the findings with some ids, in the caller's transaction. by needs TeamID and Email; without the
// latter it was the service.
func (ws *Works) AssignTo(
	ctx context.Context, tx *db.Tx, by account.Caller, findingIDs []string, email string,
) (changed int, err error) {
	numbers, _, err := ws.findings.Named(ctx, tx, by.TeamID, findingIDs)
	if err != nil {
		return 0, err
	}
	return ws.assign(ctx, tx, by, numbers, email)
}

func (ws *Works) assign(
	ctx context.Context, tx *db.Tx, by account.Caller, numbers []int64, email string,
) (changed int, err error) {
	var to roster.Member
	if email != "" {
		if to, err = roster.Worker(ctx, tx, by.TeamID, "assignee", email); err != nil {
			return 0, err
		}
	}
	told := map[string]bool{} // the weaknesses that changed: a person is told of findings as lists have them
	var last finding.Finding
	changed, err = ws.findings.Edit(ctx, tx, by, numbers, finding.Edit{
		Column: "assignee", Field: timeline.Assignee, Kind: timeline.AssigneeChange,
		Value: func(old finding.Finding) (string, string) {
			if old.Assignee != to.Email && !old.IsRepeat {
				told[old.ID], last = true, old
			}
			return old.Assignee, to.Email
		},
	})
	if err != nil || email == "" || len(told) == 0 {
		return changed, err
	}
	who := by.Email
	if who == "" {
		who = "A rule"
	}
	m := inbox.Message{Kind: inbox.Assigned, Actor: by.Email, FindingID: last.ID,
		Text: fmt.Sprintf("%s has assigned a finding to you: %s (%s) at %s.", who, last.Name, last.Severity, last.Target)}
	if len(told) > 1 {
		m.FindingID, m.Text = "", fmt.Sprintf("%s has assigned %d findings to you.", who, len(told))
	}
	return changed, ws.inbox.Post(ctx, tx, by.TeamID, []roster.Member{to}, m)
}
