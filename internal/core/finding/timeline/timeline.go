// Package timeline is the log of what happened to findings. Each change of a field is an entry with the value before
// and after, written in the transaction of the change; nothing is changed without one. So the entries of a finding say
// what it was at any moment (its state is the fold of its timeline), and a change can be undone.
//
// The entries of one request share its operation: what is undone together.
package timeline

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Kind is a kind of event in the life of a finding.
type Kind string

// The kinds.
const (
	Detected        Kind = "detected"
	StatusChange    Kind = "status_change"
	Resolved        Kind = "resolved" // it became fixed
	Reopened        Kind = "reopened" // it was fixed, and is not
	SeverityChange  Kind = "severity_change"
	LabelsChange    Kind = "labels_change"
	AssigneeChange  Kind = "assignee_change"
	TemplateUpdated Kind = "template_updated"
	JoinedChange    Kind = "joined"           // it became part of another weakness
	SplitChange     Kind = "split"            // it became a weakness of its own
	TicketClosed    Kind = "ticket_closed"    // the tracker says that it is done; a retest is to show it
	TicketReopened  Kind = "ticket_reopened"  // somebody opened the issue again, or works on it
	TicketSuggested Kind = "ticket_suggested" // the tracker says that it will not be solved: a person decides
	TicketConflict  Kind = "ticket_conflict"  // both sides have changed since they were in step
	TicketResolved  Kind = "ticket_resolved"  // a person has said which side of a conflict counts
	TicketGone      Kind = "ticket_gone"      // the issue was deleted
	Commented       Kind = "comment"          // a comment of a person, here or in a tracker
	CommentEdited   Kind = "comment_edited"
	CommentDeleted  Kind = "comment_deleted"
	DueChange       Kind = "due_change"   // it is to be fixed at another time
	Overdue         Kind = "overdue"      // the time is over by which it was to be fixed
	NotSeen         Kind = "not_seen"     // a scan could not reach the place: whether it is there is not known
	RuleApplied     Kind = "rule_applied" // a rule of triage, or a suggestion: the value names it
)

// Kinds are all kinds.
var Kinds = []Kind{
	Detected, StatusChange, Resolved, Reopened, SeverityChange, LabelsChange, AssigneeChange, TemplateUpdated,
	JoinedChange,
	SplitChange, TicketClosed, TicketReopened, TicketSuggested, TicketConflict, TicketResolved, TicketGone, Commented,
	CommentEdited, CommentDeleted, DueChange, Overdue, NotSeen, RuleApplied,
}

// The fields that entries are about, as the API calls them.
const (
	Status   = "vuln_status"
	Severity = "severity"
	Labels   = "labels"
	Assignee = "assignee"
	Weakness = "weakness" // of a join or a split; the value is the id of a finding
)

// Entry is one event in the life of a finding.
type Entry struct {
	No        int64 // of the finding
	Seq       int64 // a revision of the team: later ones are greater
	Kind      Kind
	Field     string
	From, To  string
	Actor     string // an email; empty: the service
	At        db.Time
	Operation string  // the same for all that one request has changed; empty: of an earlier release
	Reason    string  // why, of a status or a severity
	Vector    string  // of CVSS, from which a severity was taken; empty: none
	Until     db.Time // an accepted risk ends then; zero: it does not
	Undone    bool    // a later entry took it back
	Regressed Regressed
}

// Regressed says whether a finding was a regression before its status changed.
type Regressed int

// What is known of it.
const (
	NotKnown Regressed = iota // of an earlier release, or of no status
	WasNone
	WasRegressed
)

// RegressedIf is WasRegressed if a finding was a regression.
func RegressedIf(was bool) Regressed {
	if was {
		return WasRegressed
	}
	return WasNone
}

// IsRegression reports whether an entry says that what was fixed is there again: no person opened it.
func (e Entry) IsRegression() bool { return e.Kind == Reopened && e.Actor == "" }

// Before reports whether the finding was a regression before the entry, given what it was after it.
func (e Entry) Before(after bool) bool {
	if e.Regressed == NotKnown {
		return after && !e.IsRegression()
	}
	return e.Regressed == WasRegressed
}

// Record writes an entry.
func Record(ctx context.Context, tx *db.Tx, teamID string, e Entry) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_change (team_id, seq, no, type, field, old_value, new_value, actor, at, operation,
		reason, vector, until, regressed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		teamID, e.Seq, e.No, e.Kind, e.Field, e.From, e.To, e.Actor, e.At, e.Operation,
		e.Reason, e.Vector, e.Until, e.Regressed)
	return err
}

// Read reads entries.
func Read(ctx context.Context, q db.Querier, w db.Where, order string, args ...any) ([]Entry, error) {
	return db.Select(ctx, q, func(r db.Row) (e Entry, err error) {
		return e, r.Scan(&e.No, &e.Seq, &e.Kind, &e.Field, &e.From, &e.To, &e.Actor, &e.At, &e.Operation,
			&e.Reason, &e.Vector, &e.Until, &e.Undone, &e.Regressed)
	}, `SELECT no, seq, type, field, old_value, new_value, actor, at, operation, reason, vector, until, undone,
		regressed
		FROM finding_change`+w.String()+order,
		append(w.Args, args...)...)
}

// batch is how many findings one statement names.
const batch = 250

// Forget takes the values out of the entries of a kind that somebody has made at a time.
func Forget(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, kind Kind, actor string, at db.Time) error {
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		w.And("type = ? AND actor = ? AND at = ?", kind, actor, at)
		if _, err := tx.Exec(ctx, `UPDATE finding_change SET old_value = '', new_value = ''`+w.String(), w.Args...); err != nil {
			return err
		}
	}
	return nil
}

// ForgetOperation takes the values out of the entries of an operation.
func ForgetOperation(ctx context.Context, tx *db.Tx, teamID, operation string) error {
	_, err := tx.Exec(ctx, `UPDATE finding_change SET old_value = '', new_value = ''
		WHERE team_id = ? AND operation <> '' AND operation = ?`, teamID, operation)
	return err
}
