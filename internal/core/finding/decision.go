package finding

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// A decision is what holds for all findings with a hash, those of later scans too: the status that a person gave one of
// them, or that a retest or a scan found out.
type decision struct {
	Status       Status
	IsRegression bool
	Actor        string // an email; empty: the service
	At           db.Time
}

// decide gives all findings with some hashes a status, and those to come, and returns how many had another. The caller
// holds the team's lock.
func (fs *Findings) decide(
	ctx context.Context, tx *db.Tx, teamID string, hashes []string, d decision,
) (changed int, err error) {
	for part := range slices.Chunk(hashes, batch) {
		n, err := fs.decidePart(ctx, tx, teamID, part, d)
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

func (fs *Findings) decidePart(
	ctx context.Context, tx *db.Tx, teamID string, hashes []string, d decision,
) (changed int, err error) {
	where, args := withHashes(teamID, hashes)
	olds, err := db.Select(ctx, tx, func(r db.Row) (c change, err error) {
		return c, r.Scan(&c.no, &c.from)
	}, `SELECT f.no, f.status FROM finding f`+where+` AND f.status <> ? ORDER BY f.no`, append(args, d.Status)...)
	if err != nil {
		return 0, err
	}
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, int64(len(olds)))
	if err != nil {
		return 0, err
	}
	d.At = db.At(fs.now())
	numbers := make([]int64, len(olds))
	for i, c := range olds {
		numbers[i] = c.no
		if _, err := tx.Exec(ctx, `UPDATE finding SET status = ?, is_regression = (is_regression OR ?), rev = ?, updated_at = ?
			WHERE team_id = ? AND no = ?`, d.Status, d.IsRegression, rev, d.At, teamID, c.no); err != nil {
			return 0, err
		}
		if err := record(ctx, tx, teamID, statusChange(c.no, rev, Status(c.from), d)); err != nil {
			return 0, err
		}
		rev++
	}
	if err := reindex(ctx, tx, teamID, numbers...); err != nil {
		return 0, err
	}
	return len(olds), storeDecision(ctx, tx, teamID, hashes, d)
}

// statusChange is the entry in a finding's log for a decision.
func statusChange(no, rev int64, from Status, d decision) change {
	kind := StatusChange
	switch Fixed {
	case d.Status:
		kind = Resolved
	case from:
		kind = Reopened
	}
	return change{no: no, seq: rev, kind: kind, field: "vuln_status", from: string(from), to: string(d.Status),
		actor: d.Actor, at: d.At}
}

// storeDecision stores a decision about hashes. What was a regression stays one.
func storeDecision(ctx context.Context, tx *db.Tx, teamID string, hashes []string, d decision) error {
	var args []any
	for _, hash := range hashes {
		args = append(args, teamID, hash, d.Status, d.IsRegression, d.Actor, d.At)
	}
	_, err := tx.Exec(ctx, `INSERT INTO finding_decision (team_id, hash, status, is_regression, actor, at) VALUES `+
		strings.Repeat("(?, ?, ?, ?, ?, ?), ", len(hashes)-1)+`(?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, hash) DO UPDATE SET status = excluded.status, actor = excluded.actor, at = excluded.at,
		is_regression = (finding_decision.is_regression OR excluded.is_regression)`, args...)
	return err
}

// decisions reads what was decided about hashes.
func decisions(ctx context.Context, q db.Querier, teamID string, hashes []string) (map[string]decision, error) {
	w := db.InTeam(teamID, "hash", hashes)
	out := map[string]decision{}
	return out, db.Each(ctx, q, func(r db.Row) error {
		var hash string
		var d decision
		err := r.Scan(&hash, &d.Status, &d.IsRegression, &d.Actor, &d.At)
		out[hash] = d
		return err
	}, `SELECT hash, status, is_regression, actor, at FROM finding_decision`+w.String(), w.Args...)
}

// hashesOf are the hashes of findings by their numbers, each once.
func hashesOf(ctx context.Context, q db.Querier, teamID string, numbers []int64) ([]string, error) {
	w := db.InTeam(teamID, "no", numbers)
	return db.Values[string](ctx, q, `SELECT DISTINCT hash FROM finding`+w.String()+` ORDER BY hash`, w.Args...)
}

// withHashes is the condition for a team's findings with one of some hashes, in all scans. The ranges of ids let the
// primary index find them: an id begins with a part of the hash.
func withHashes(teamID string, hashes []string) (where string, args []any) {
	args = []any{teamID}
	for _, hash := range hashes {
		first := hashPart(hash)
		args = append(args, first, first+"zzzzzzzzzz", hash)
	}
	const one = `f.id BETWEEN ? AND ? AND f.hash = ?`
	return ` WHERE f.team_id = ? AND (` + one + strings.Repeat(" OR "+one, len(hashes)-1) + `)`, args
}
