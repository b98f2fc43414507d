// Package tested says which scans and retests have tested for a weakness, and whether it was there.
package tested

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Revision is one test for what a hash names: it was there, or it was not.
type Revision struct {
	Hash       string
	Severity   string
	Target     string
	TemplateID string
	Matched    bool
	At         time.Time
	Event      engine.Event // of the finding, without request and response
}

// matched is the state of a retest that found it.
const matched = "matched"

// History is the scans and retests of a team that tested for hashes, by hash, the newest first and at most limit of
// each. Unknown hashes are left out.
func History(ctx context.Context, q db.Querier, teamID string, hashes []string, limit int) (map[string][]Revision,
	error) {
	const from = ` FROM finding f JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no`
	const where = ` WHERE f.team_id = ? AND f.hash = ?`
	out := map[string][]Revision{}
	for _, hash := range slices.Compact(slices.Sorted(slices.Values(hashes))) {
		read := func(r db.Row) (Revision, error) { return scan(r, hash) }
		seen, err := db.Select(ctx, q, read, `SELECT f.severity, f.template_id, f.seen_at, d.event, 'matched'`+from+where+
			` ORDER BY f.seen_at DESC, f.no DESC LIMIT ?`, teamID, db.Clean(hash), limit)
		if err != nil {
			return nil, err
		}
		retests, err := db.Select(ctx, q, read, `SELECT f.severity, f.template_id, r.ended_at, d.event, r.state`+from+
			` JOIN finding_retest r ON r.team_id = f.team_id AND r.no = f.no`+where+` AND r.state IN ('matched', 'not_matched')
			ORDER BY r.ended_at DESC LIMIT ?`, teamID, db.Clean(hash), limit)
		if err != nil {
			return nil, err
		}
		all := slices.Concat(seen, retests)
		slices.SortStableFunc(all, func(a, b Revision) int { return b.At.Compare(a.At) })
		if len(all) > 0 {
			out[hash] = all[:min(limit, len(all))]
		}
	}
	return out, nil
}

func scan(r db.Row, hash string) (v Revision, err error) {
	var s struct {
		Event  engine.Event `json:"event"`
		Target string       `json:"target"`
	}
	var state string
	err = r.Scan(&v.Severity, &v.TemplateID, db.Into(&v.At), db.Into(&s), &state)
	v.Hash, v.Matched, v.Event, v.Target = hash, state == matched, s.Event, s.Target
	return v, err
}
