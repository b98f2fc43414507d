package finding

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Change is one event in the life of a finding.
type Change struct {
	FindingID string
	Type      ChangeType
	Field     string // the field that changed, as vuln_status
	From, To  string
	Actor     string // an email; empty: the service
	At        time.Time
}

// ChangeFilter picks changes.
type ChangeFilter struct {
	FindingID string // empty: of all of the team's
	Types     []ChangeType
	Since     time.Time
	Oldest    bool // the oldest first; else the newest
}

// Changelog is a change with the finding as it is now.
type Changelog struct {
	Finding
	Change Change
}

// Changes lists what changed of the caller's findings since they were detected.
func (fs *Findings) Changes(ctx context.Context, f ChangeFilter, w page.Window) ([]Changelog, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var where db.Where
	where.And("c.team_id = ?", c.TeamID)
	if f.FindingID != "" {
		one, err := fs.byID(ctx, fs.db, c.TeamID, f.FindingID)
		if err != nil {
			return nil, err
		}
		where.And("c.no = ?", one.no)
	}
	if len(f.Types) > 0 {
		db.In(&where, "c.type", f.Types)
	}
	if !f.Since.IsZero() {
		where.And("c.at >= ?", db.At(f.Since))
	}
	sorts := []page.Sort{{Column: "c.seq", Desc: !f.Oldest}}
	limit, args := db.Limit(w)
	rows, err := fs.db.Query(ctx, `SELECT c.no, c.type, c.field, c.old_value, c.new_value, c.actor, c.at FROM finding_change c`+
		where.String()+db.OrderBy(sorts, "c.no")+limit, append(where.Args, args...)...)
	type numbered struct {
		Change
		no int64
	}
	found, err := db.Collect(rows, err, func(r db.Row) (n numbered, err error) {
		var at db.Time
		err = r.Scan(&n.no, &n.Type, &n.Field, &n.From, &n.To, &n.Actor, &at)
		n.At = at.Time
		return n, err
	})
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, n := range found {
		if !slices.Contains(numbers, n.no) {
			numbers = append(numbers, n.no)
		}
	}
	findings, err := fs.load(ctx, c.TeamID, numbers)
	if err != nil {
		return nil, err
	}
	out := make([]Changelog, 0, len(found))
	for _, n := range found {
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.no == n.no })
		if i >= 0 { // else it was deleted just now
			n.FindingID = findings[i].ID
			out = append(out, Changelog{findings[i], n.Change})
		}
	}
	return out, nil
}

// Timeline is a finding and all that happened to it, the oldest first, beginning with
// its detection.
func (fs *Findings) Timeline(ctx context.Context, id string) (Finding, []Change, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, nil, err
	}
	f, err := fs.byID(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, nil, err
	}
	rows, err := fs.db.Query(ctx, `SELECT type, field, old_value, new_value, actor, at FROM finding_change WHERE team_id = ? AND no = ? ORDER BY seq`, c.TeamID, f.no)
	changes, err := db.Collect(rows, err, func(r db.Row) (n Change, err error) {
		var at db.Time
		err = r.Scan(&n.Type, &n.Field, &n.From, &n.To, &n.Actor, &at)
		n.At, n.FindingID = at.Time, f.ID
		return n, err
	})
	return f, append([]Change{{FindingID: f.ID, Type: Detected, Field: "vuln_status", To: string(Open), At: f.CreatedAt}}, changes...), err
}

// Revision is one look at what a hash names: it was there, or it was not.
type Revision struct {
	Hash       string
	Severity   string
	Target     string
	TemplateID string
	Matched    bool
	At         time.Time
	Event      engine.Event // of the finding, without request and response
}

// History is the looks at what hashes name, in all scans and retests of the caller's
// team, the newest first and at most limit of each; by hash, without those nobody knows.
func (fs *Findings) History(ctx context.Context, hashes []string, limit int) (map[string][]Revision, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]Revision{}
	for _, hash := range slices.Compact(slices.Sorted(slices.Values(hashes))) {
		first := hashPart(hash)
		last := first + "zzzzzzzzzz" // behind every id that begins so
		rows, err := fs.db.Query(ctx, `SELECT f.severity, f.template_id, f.seen_at, d.event`+tables+` WHERE f.id >= ? AND f.id <= ? AND f.hash = ? AND f.team_id = ? ORDER BY f.seen_at DESC, f.no DESC LIMIT ?`,
			first, last, db.Clean(hash), c.TeamID, limit)
		seen, err := db.Collect(rows, err, func(r db.Row) (Revision, error) { return scanRevision(r, hash, true) })
		if err != nil {
			return nil, err
		}
		rows, err = fs.db.Query(ctx, `SELECT f.severity, f.template_id, r.ended_at, d.event, r.state FROM finding_retest r
			JOIN finding f ON f.team_id = r.team_id AND f.no = r.no JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no WHERE f.id >= ? AND f.id <= ? AND f.hash = ? AND f.team_id = ? AND r.state IN ('matched', 'not_matched')
			ORDER BY r.ended_at DESC LIMIT ?`, first, last, db.Clean(hash), c.TeamID, limit)
		again, err := db.Collect(rows, err, func(r db.Row) (Revision, error) { return scanRevision(r, hash, false) })
		if err != nil {
			return nil, err
		}
		all := slices.Concat(seen, again)
		slices.SortStableFunc(all, func(a, b Revision) int { return cmp.Compare(b.At.UnixMicro(), a.At.UnixMicro()) })
		if len(all) > 0 {
			out[hash] = all[:min(limit, len(all))]
		}
	}
	return out, nil
}

func scanRevision(r db.Row, hash string, matched bool) (v Revision, err error) {
	v.Hash, v.Matched = hash, matched
	var at db.Time
	var event []byte
	var state RetestState
	dest := []any{&v.Severity, &v.TemplateID, &at, &event}
	if !matched {
		dest = append(dest, &state)
	}
	if err := r.Scan(dest...); err != nil {
		return v, err
	}
	v.At, v.Matched = at.Time, matched || state == Matched
	var s shown
	err = json.Unmarshal(event, &s)
	v.Event, v.Target = s.Event, s.Target
	return v, err
}
