package finding

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ChangeType is a kind of event in the life of a finding.
type ChangeType string

// The kinds.
const (
	Detected        ChangeType = "detected"
	StatusChange    ChangeType = "status_change"
	Resolved        ChangeType = "resolved" // it became fixed
	Reopened        ChangeType = "reopened" // it was fixed, and is not
	SeverityChange  ChangeType = "severity_change"
	LabelsChange    ChangeType = "labels_change"
	TemplateUpdated ChangeType = "template_updated"
)

// ChangeTypes are all kinds.
var ChangeTypes = []ChangeType{Detected, StatusChange, Resolved, Reopened, SeverityChange, LabelsChange, TemplateUpdated}

// change is an event as it is written.
type change struct {
	no, seq  int64
	kind     ChangeType
	field    string
	from, to string
	actor    string
	at       db.Time
}

func record(ctx context.Context, tx *db.Tx, teamID string, c change) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_change (team_id, seq, no, type, field, old_value, new_value, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		teamID, c.seq, c.no, c.kind, c.field, c.from, c.to, c.actor, c.at)
	return err
}

// MaxIDs is how many findings one change may name.
const MaxIDs = 10_000

// SetStatus decides about the findings that a filter picks, and returns how many had
// another status. An id in the filter that is not of the caller's team is refused.
func (fs *Findings) SetStatus(ctx context.Context, f Filter, to Status) (changed int, err error) {
	return fs.alter(ctx, "vuln_ids", f, func(ctx context.Context, tx *db.Tx, c account.Caller, old Finding, rev int64) (bool, error) {
		if old.Status == to {
			return false, nil
		}
		kind := StatusChange
		switch Fixed {
		case to:
			kind = Resolved
		case old.Status:
			kind = Reopened
		}
		now := db.At(fs.now())
		if _, err := tx.Exec(ctx, `UPDATE finding SET status = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`, to, rev, now, c.TeamID, old.no); err != nil {
			return false, err
		}
		return true, record(ctx, tx, c.TeamID, change{old.no, rev, kind, "vuln_status", string(old.Status), string(to), c.Email, now})
	})
}

// LabelMode says what new labels do to the old ones.
type LabelMode string

// The modes.
const (
	AppendLabels  LabelMode = "append"
	ReplaceLabels LabelMode = "replace"
	DeleteLabels  LabelMode = "delete"
)

// SetLabels changes the labels of the findings that a filter picks, and returns how many
// had others.
func (fs *Findings) SetLabels(ctx context.Context, f Filter, mode LabelMode, labels []string) (changed int, err error) {
	return fs.alter(ctx, "ids", f, func(ctx context.Context, tx *db.Tx, c account.Caller, old Finding, rev int64) (bool, error) {
		var to []string
		switch mode {
		case AppendLabels:
			to = slices.Concat(old.Labels, labels)
		case ReplaceLabels:
			to = labels
		case DeleteLabels:
			to = slices.DeleteFunc(slices.Clone(old.Labels), func(l string) bool { return slices.Contains(labels, l) })
		}
		before, after := join(old.Labels), join(to)
		if before == after {
			return false, nil
		}
		now := db.At(fs.now())
		if _, err := tx.Exec(ctx, `UPDATE finding SET labels = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`, after, rev, now, c.TeamID, old.no); err != nil {
			return false, err
		}
		return true, record(ctx, tx, c.TeamID, change{old.no, rev, LabelsChange, "labels", before, after, c.Email, now})
	})
}

// Delete deletes the findings that a filter picks, and returns how many there were.
func (fs *Findings) Delete(ctx context.Context, f Filter) (deleted int, err error) {
	return fs.alter(ctx, "ids", f, func(ctx context.Context, tx *db.Tx, c account.Caller, old Finding, rev int64) (bool, error) {
		if err := fs.remove(ctx, tx, c.TeamID, old.no, rev); err != nil {
			return false, err
		}
		return true, tally(ctx, tx, c.TeamID, old.ScanID, map[string]int64{old.Severity: -1})
	})
}

func (fs *Findings) remove(ctx context.Context, tx *db.Tx, teamID string, no, rev int64) error {
	if _, err := tx.Exec(ctx, `INSERT INTO finding_gone (team_id, rev, no, at) VALUES (?, ?, ?, ?)`, teamID, rev, no, db.At(fs.now())); err != nil {
		return err
	}
	for _, table := range owned {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE team_id = ? AND no = ?`, teamID, no); err != nil {
			return err
		}
	}
	return nil
}

// owned are the tables with what belongs to one finding, the finding last.
var owned = []string{"finding_doc", "finding_change", "finding_retest", "finding"}

// DeleteOfScan deletes all that a scan found, in the transaction that deletes the scan.
// Nothing may add to the scan once that transaction holds it.
func (fs *Findings) DeleteOfScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	_, rev, err := fs.number(ctx, tx, teamID, 0, 1)
	if err != nil {
		return err
	}
	g, err := fs.current(ctx, teamID)
	if err != nil {
		return err
	}
	picked := g.pick(Filter{ScanIDs: []string{scanID}}, nil).set.ToArray()
	g.RUnlock()
	for _, no := range picked {
		if err := fs.remove(ctx, tx, teamID, int64(no), rev); err != nil {
			return err
		}
	}
	for _, table := range []string{"finding_tally", "finding_total"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE scan_id = ?`, scanID); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `DELETE FROM finding_gone WHERE team_id = ? AND at < ?`, teamID, db.At(fs.now().Add(-staleDays)))
	return err
}

// alter calls do with each finding that a filter picks, all in one transaction, with a
// revision of its own for each. What is deleted meanwhile is left out. The field in which
// ids are named is at fault when nothing says which findings are meant.
func (fs *Findings) alter(ctx context.Context, field string, f Filter, do alteration) (changed int, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, err
	}
	if f.picksAll() {
		return 0, errs.Field(field, "%s is required, or something else that says which findings are meant.", field)
	}
	if len(f.IDs) > MaxIDs {
		return 0, errs.Field(field, "%s must name at most %d findings.", field, MaxIDs)
	}
	picked, err := fs.picked(ctx, c.TeamID, f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		changed, err = fs.eachOf(ctx, tx, c, picked, do)
		return err
	})
	return changed, err
}

// alteration changes a finding, under a revision of its own, and says whether it did.
type alteration func(ctx context.Context, tx *db.Tx, c account.Caller, old Finding, rev int64) (bool, error)

// eachOf calls do with each of the findings that have these numbers.
func (fs *Findings) eachOf(ctx context.Context, tx *db.Tx, c account.Caller, picked []uint32, do alteration) (changed int, err error) {
	_, rev, err := fs.number(ctx, tx, c.TeamID, 0, int64(len(picked)))
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(picked, batch) {
		rows, err := tx.Query(ctx, `SELECT `+columns+tables+numbered(part), append([]any{c.TeamID}, anys(part)...)...)
		olds, err := db.Collect(rows, err, func(r db.Row) (Finding, error) { return scan(r) })
		if err != nil {
			return changed, err
		}
		for _, old := range inOrder(olds, part) {
			did, err := do(ctx, tx, c, old, rev)
			if err != nil {
				return changed, err
			}
			if did {
				changed++
			}
			rev++
		}
	}
	return changed, nil
}

// picked is the numbers that a filter picks. Every id that it names must be the team's.
func (fs *Findings) picked(ctx context.Context, teamID string, f Filter) ([]uint32, error) {
	ids, err := fs.numbers(ctx, fs.db, teamID, f.IDs)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(f.IDs)
	slices.Sort(named)
	if len(ids) < len(slices.Compact(named)) {
		return nil, errs.Missing("vulnerability")
	}
	g, err := fs.current(ctx, teamID)
	if err != nil {
		return nil, err
	}
	defer g.RUnlock()
	return g.pick(f, ids).set.ToArray(), nil
}
