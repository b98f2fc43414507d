package finding

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Decision is what holds for all findings of a weakness.
type Decision = decision.Decision

// decide gives all findings of the weaknesses of some hashes a status, and those to come, and returns how many had
// another, or another reason. Who may not make the move leaves a finding as it is (package move). The caller holds the
// team's lock.
func (fs *Findings) decide(
	ctx context.Context, tx *db.Tx, teamID string, hashes []string, d Decision,
) (changed int, err error) {
	d.Operation, d.By = cmp.Or(d.Operation, ids.New()), cmp.Or(d.By, move.Person)
	weaknesses, err := weaknessesOf(ctx, tx, teamID, hashes)
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(weaknesses, batch) {
		n, err := fs.decidePart(ctx, tx, teamID, part, d)
		if err != nil {
			return changed, err
		}
		changed += n
	}
	if changed == 0 || d.By == move.Person || d.Status != Open || fs.queue == nil {
		return changed, nil
	}
	for part := range slices.Chunk(weaknesses, maxNews) {
		a := NewsArgs{TeamID: teamID, RiskEnded: d.By == move.RiskEnd, Weaknesses: part, Operation: d.Operation}
		if _, err := fs.queue.Insert(ctx, tx, teamID, a); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// maxNews is how many weaknesses one NewsArgs names.
const maxNews = 1000

func (fs *Findings) decidePart(
	ctx context.Context, tx *db.Tx, teamID string, weaknesses []string, d Decision,
) (changed int, err error) {
	before, err := decision.Find(ctx, tx, teamID, weaknesses)
	if err != nil {
		return 0, err
	}
	var olds []timeline.Entry // Field is the weakness
	refused := map[string]bool{}
	err = eachOf(ctx, tx, teamID, weaknesses, `f.no, f.status, f.is_regression`, ``, func(r db.Row, weakness *string) error {
		var c timeline.Entry
		var regressed bool
		err := r.Scan(weakness, &c.No, &c.From, &regressed)
		c.Field, c.Regressed = *weakness, timeline.RegressedIf(regressed)
		was, is := before[*weakness]
		switch same := c.From == string(d.Status); {
		case same && !(is && was.Status == d.Status && d.IsNew(was) || !is && d.IsNew(Decision{Status: d.Status})): //nolint:staticcheck // as it is said
		case !move.Allowed(d.By, Status(c.From), d.Status):
			refused[*weakness] = true
		default:
			olds = append(olds, c)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(olds, func(a, b timeline.Entry) int { return cmp.Compare(a.No, b.No) })
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, int64(len(olds)))
	if err != nil {
		return 0, err
	}
	d.At = db.At(fs.now())
	numbers := make([]int64, len(olds))
	for i, c := range olds {
		numbers[i] = c.No
		if _, err := tx.Exec(ctx, `UPDATE finding SET status = ?, is_regression = ((is_regression OR ?) AND NOT ?), rev = ?, updated_at = ?
			WHERE team_id = ? AND no = ?`, d.Status, d.IsRegression, d.Clears, rev, d.At, teamID, c.No); err != nil {
			return 0, err
		}
		said := d
		if was := before[c.Field]; !d.IsNew(was) { // a finding that joins
			said.Reason, said.Until = was.Reason, was.Until
		}
		entry := said.Entry(c.No, rev, Status(c.From))
		entry.Regressed = c.Regressed
		if err := timeline.Record(ctx, tx, teamID, entry); err != nil {
			return 0, err
		}
		rev++
	}
	if err := reindex(ctx, tx, teamID, numbers...); err != nil {
		return 0, err
	}
	decided := slices.DeleteFunc(slices.Clone(weaknesses), func(w string) bool {
		was, is := before[w]
		return refused[w] || is && !d.IsNew(was)
	})
	if len(decided) > 0 {
		if err := decision.Store(ctx, tx, teamID, decided, d); err != nil {
			return 0, err
		}
	}
	return len(olds), fs.TellTickets(ctx, tx, teamID, decided,
		TicketNews{Kind: NewsStatus, Text: string(d.Status), Author: d.Actor})
}

// DecideAll decides about the weaknesses of some hashes, in the caller's transaction, and returns how many findings had
// another status, or another reason.
func (fs *Findings) DecideAll(
	ctx context.Context, tx *db.Tx, teamID string, hashes []string, d Decision,
) (changed int, err error) {
	if err := d.Check(fs.now()); err != nil {
		return 0, err
	}
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return 0, err
	}
	return fs.decide(ctx, tx, teamID, hashes, d)
}

// Decide gives the weakness of a finding a status, in the caller's transaction: a fixed one that becomes open without
// an actor is a regression. NotFound when there is no such finding.
func (fs *Findings) Decide(ctx context.Context, tx *db.Tx, teamID, id string, to Status, actor string) error {
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	f, err := fs.InTeam(ctx, tx, teamID, id)
	if err != nil {
		return err
	}
	back := actor == "" && f.Status == Fixed && to == Open
	d := Decision{Status: to, Actor: actor, IsRegression: back}
	if back {
		d.By = move.Seen
	}
	_, err = fs.decide(ctx, tx, teamID, []string{f.Hash}, d)
	return err
}

// hashesOf are the hashes of findings by their numbers, in order and each once. That is done here: for DISTINCT or
// ORDER BY, SQLite would walk the hashes of all findings of the team.
func hashesOf(ctx context.Context, q db.Querier, teamID string, numbers []int64) ([]string, error) {
	w := db.InTeam(teamID, "no", numbers)
	hashes, err := db.Values[string](ctx, q, `SELECT hash FROM finding`+w.String(), w.Args...)
	slices.Sort(hashes)
	return slices.Compact(hashes), err
}

// withHashes is the condition for a team's findings with one of some hashes, in all scans.
func withHashes(teamID string, hashes []string) (where string, args []any) {
	return ` WHERE f.team_id = ? AND f.hash IN (?` + strings.Repeat(", ?", len(hashes)-1) + `)`,
		append([]any{teamID}, db.Anys(hashes)...)
}
