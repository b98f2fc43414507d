// Package decision keeps what was decided about weaknesses: the status that their findings have in all scans and tasks,
// and those to come, with the reason, and the end of an accepted risk. It outlives the findings.
package decision

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A Decision is what holds for all findings of a weakness, those of later scans too: the status that a person gave one
// of them, or that a retest or a scan found out.
type Decision struct {
	Status listing.Status
	Reason string
	Until  time.Time // an accepted risk ends then, and the finding is open; zero: it does not end
	By     move.By   // empty: a person

	IsRegression bool
	Clears       bool   // what made it a regression is taken back
	Restores     bool   // a change is taken back: that there is no reason and no end is said too
	Actor        string // an email; empty: the service
	At           db.Time
	Since        db.Time // what is seen later reopens a fixed one; zero: At
	Operation    string  // what is undone together; empty: it is by itself
}

const (
	maxReason = 2000 // bytes
	maxRisk   = 10 * 366 * 24 * time.Hour
)

// Check refuses what nobody may decide.
func (d *Decision) Check(now time.Time) error {
	d.Reason = strings.TrimSpace(db.Clean(d.Reason))
	switch {
	case !slices.Contains(move.Statuses, d.Status):
		return errs.Field("vuln_status", "vuln_status must be one of %s.", strings.Join(listing.Words(move.Statuses), ", "))
	case len(d.Reason) > maxReason:
		return errs.Field("reason", "reason has more than %d bytes.", maxReason)
	case d.Until.IsZero():
		return nil
	case d.Status != move.AcceptedRisk:
		return errs.Field("until", "until is for accepted_risk alone: other statuses do not end.")
	case d.Reason == "":
		return errs.Field("reason", "reason is required: why is the risk accepted?")
	case !d.Until.After(now) || d.Until.After(now.Add(maxRisk)):
		return errs.Field("until", "until must be in the future, and at most ten years from now.")
	}
	return nil
}

// IsNew reports whether a decision says more than the same status as before.
func (d Decision) IsNew(before Decision) bool {
	says := d.Restores || d.Reason != "" || !d.Until.IsZero()
	return d.Status != before.Status || says && (d.Reason != before.Reason || !db.At(d.Until).Equal(before.Until))
}

// Entry is the entry of a decision in the timeline of the finding with a number, which had another status before.
func (d Decision) Entry(no, rev int64, from listing.Status) timeline.Entry {
	kind := timeline.StatusChange
	switch move.Fixed {
	case d.Status:
		kind = timeline.Resolved
	case from:
		kind = timeline.Reopened
	}
	return timeline.Entry{No: no, Seq: rev, Kind: kind, Field: timeline.Status, From: string(from), To: string(d.Status),
		Actor: d.Actor, At: d.At, Operation: d.Operation, Reason: d.Reason, Until: db.At(d.Until)}
}

// Store stores a decision about weaknesses. What was a regression stays one, unless that is taken back.
func Store(ctx context.Context, tx *db.Tx, teamID string, weaknesses []string, d Decision) error {
	at := d.At
	if !d.Since.IsZero() {
		at = d.Since
	}
	var args []any
	for _, w := range weaknesses {
		args = append(args, teamID, w, d.Status, d.IsRegression, d.Actor, at, d.Reason, db.At(d.Until))
	}
	_, err := tx.Exec(
		ctx,
		`INSERT INTO finding_decision (team_id, hash, status, is_regression, actor, at, reason, until) VALUES `+
			strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?), ", len(weaknesses)-1)+`(?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, hash) DO UPDATE SET status = excluded.status, actor = excluded.actor, at = excluded.at,
		reason = excluded.reason, until = excluded.until,
		is_regression = ((finding_decision.is_regression OR excluded.is_regression) AND NOT ?)`,
		append(args, d.Clears)...)
	return err
}

// Find reads what was decided about weaknesses. The column hash has the name of the weakness.
func Find(ctx context.Context, q db.Querier, teamID string, weaknesses []string) (map[string]Decision, error) {
	out := map[string]Decision{}
	for part := range slices.Chunk(weaknesses, batch) {
		w := db.InTeam(teamID, "hash", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var hash string
			var d Decision
			err := r.Scan(&hash, &d.Status, &d.IsRegression, &d.Actor, &d.At, &d.Reason, db.Into(&d.Until))
			out[hash] = d
			return err
		}, `SELECT hash, status, is_regression, actor, at, reason, until FROM finding_decision`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

const batch = 250 // weaknesses that one statement reads
