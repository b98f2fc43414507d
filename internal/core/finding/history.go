package finding

import (
	"context"
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

	no int64 // of the finding
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

// Changes lists the changes of the caller's findings since they were detected.
func (fs *Findings) Changes(ctx context.Context, f ChangeFilter, w page.Window) ([]Changelog, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	if f.FindingID != "" {
		one, err := fs.byID(ctx, fs.db, c.TeamID, f.FindingID)
		if err != nil {
			return nil, err
		}
		where.And("no = ?", one.no)
	}
	if len(f.Types) > 0 {
		db.In(&where, "type", f.Types)
	}
	if !f.Since.IsZero() {
		where.And("at >= ?", db.At(f.Since))
	}
	limit, args := db.Limit(w)
	changes, err := fs.changes(ctx, where, db.OrderBy([]page.Sort{{Column: "seq", Desc: !f.Oldest}}, "no")+limit, args...)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(changes))
	for i, one := range changes {
		numbers[i] = one.no
	}
	slices.Sort(numbers)
	found, err := fs.load(ctx, fs.db, c.TeamID, slices.Compact(numbers))
	if err != nil {
		return nil, err
	}
	byNumber := map[int64]Finding{}
	for _, f := range found {
		byNumber[f.no] = f
	}
	out := make([]Changelog, 0, len(changes))
	for _, one := range changes {
		if f, ok := byNumber[one.no]; ok { // else it was deleted just now
			one.FindingID = f.ID
			out = append(out, Changelog{f, one})
		}
	}
	return out, nil
}

// changes reads the change log; FindingID is not set.
func (fs *Findings) changes(ctx context.Context, w db.Where, order string, args ...any) ([]Change, error) {
	return db.Select(ctx, fs.db, func(r db.Row) (c Change, err error) {
		return c, r.Scan(&c.no, &c.Type, &c.Field, &c.From, &c.To, &c.Actor, db.Into(&c.At))
	}, `SELECT no, type, field, old_value, new_value, actor, at FROM finding_change`+w.String()+order,
		append(w.Args, args...)...)
}

// Timeline is a finding with its changes, the oldest first, beginning with its detection.
func (fs *Findings) Timeline(ctx context.Context, id string) (Finding, []Change, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, nil, err
	}
	f, err := fs.byID(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, nil, err
	}
	changes, err := fs.changes(ctx, db.InTeam(c.TeamID, "no", []int64{f.no}), ` ORDER BY seq`)
	changes = slices.Insert(changes, 0, Change{Type: Detected, Field: "vuln_status", To: string(Open), At: f.CreatedAt})
	for i := range changes {
		changes[i].FindingID = f.ID
	}
	return f, changes, err
}

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

// History is the scans and retests of the caller's team that tested for hashes, by hash, the newest first and at most
// limit of each. Unknown hashes are left out.
func (fs *Findings) History(ctx context.Context, hashes []string, limit int) (map[string][]Revision, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]Revision{}
	for _, hash := range slices.Compact(slices.Sorted(slices.Values(hashes))) {
		where, args := withHashes(c.TeamID, []string{db.Clean(hash)})
		args = append(args, limit)
		read := func(r db.Row) (Revision, error) { return scanRevision(r, hash) }
		seen, err := db.Select(ctx, fs.db, read,
			`SELECT f.severity, f.template_id, f.seen_at, d.event, 'matched'`+tables+where+
				` ORDER BY f.seen_at DESC, f.no DESC LIMIT ?`, args...)
		if err != nil {
			return nil, err
		}
		retests, err := db.Select(ctx, fs.db, read, `SELECT f.severity, f.template_id, r.ended_at, d.event, r.state`+tables+
			` JOIN finding_retest r ON r.team_id = f.team_id AND r.no = f.no`+where+` AND r.state IN ('matched', 'not_matched')
			ORDER BY r.ended_at DESC LIMIT ?`, args...)
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

func scanRevision(r db.Row, hash string) (v Revision, err error) {
	var s storedEvent
	var state RetestState
	err = r.Scan(&v.Severity, &v.TemplateID, db.Into(&v.At), db.Into(&s), &state)
	v.Hash, v.Matched, v.Event, v.Target = hash, state == Matched, s.Event, s.Target
	return v, err
}
