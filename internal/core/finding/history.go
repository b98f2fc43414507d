package finding

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/tested"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Change is one event in the life of a finding.
type Change struct {
	FindingID string
	Type      timeline.Kind
	Field     string // the field that changed, as vuln_status
	From, To  string
	Actor     string // an email; empty: the service
	At        time.Time
	Seq       int64     // later ones are greater
	Operation string    // the same for all that one request has changed; empty: of an earlier release
	Reason    string    // why, of a status or a severity
	Vector    string    // of CVSS, from which a severity was taken; empty: none
	Until     time.Time // an accepted risk ends then; zero: it does not
	Undone    bool

	no int64 // of the finding
}

// ChangeFilter picks changes.
type ChangeFilter struct {
	FindingID string // empty: of all of the team's
	Types     []timeline.Kind
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
		one, err := fs.InTeam(ctx, fs.db, c.TeamID, f.FindingID)
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
	found, err := fs.Load(ctx, fs.db, c.TeamID, slices.Compact(numbers))
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
	entries, err := timeline.Read(ctx, fs.db, w, order, args...)
	out := make([]Change, len(entries))
	for i, e := range entries {
		out[i] = Change{Type: e.Kind, Field: e.Field, From: e.From, To: e.To, Actor: e.Actor, At: e.At.Time, Seq: e.Seq,
			Operation: e.Operation, Reason: e.Reason, Vector: e.Vector, Until: e.Until.Time, Undone: e.Undone, no: e.No}
	}
	return out, err
}

// Timeline is a finding with its changes, the oldest first, beginning with its detection.
func (fs *Findings) Timeline(ctx context.Context, id string) (Finding, []Change, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, nil, err
	}
	f, err := fs.InTeam(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, nil, err
	}
	changes, err := fs.changes(ctx, db.InTeam(c.TeamID, "no", []int64{f.no}), ` ORDER BY +seq`)
	changes = slices.Insert(changes, 0, Change{Type: timeline.Detected, Field: "vuln_status", To: string(Open),
		At: f.CreatedAt})
	for i := range changes {
		changes[i].FindingID = f.ID
	}
	return f, changes, err
}

// History is the scans and retests of the caller's team that tested for hashes, by hash, the newest first and at most
// limit of each. Unknown hashes are left out.
func (fs *Findings) History(ctx context.Context, hashes []string, limit int) (map[string][]tested.Revision, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return tested.History(ctx, fs.db, c.TeamID, hashes, limit)
}
