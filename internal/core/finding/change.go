package finding

import (
	"context"
	"maps"
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
	c, picked, err := fs.meant(ctx, "ids", f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, _, err := fs.number(ctx, tx, c.TeamID, 0, 1); err != nil { // one writer at a time
			return err
		}
		tallies := map[string]map[string]int64{}
		for part := range slices.Chunk(picked, batch) {
			var w db.Where
			w.And("team_id = ?", c.TeamID)
			db.In(&w, "no", part)
			rows, err := tx.Query(ctx, `SELECT scan_id, severity FROM finding`+w.String(), w.Args...)
			_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
				var scanID, severity string
				err := r.Scan(&scanID, &severity)
				if tallies[scanID] == nil {
					tallies[scanID] = map[string]int64{}
				}
				tallies[scanID][severity]--
				deleted++
				return struct{}{}, err
			})
			if err != nil {
				return err
			}
		}
		for _, scanID := range slices.Sorted(maps.Keys(tallies)) {
			if err := tally(ctx, tx, c.TeamID, scanID, tallies[scanID]); err != nil {
				return err
			}
		}
		return remove(ctx, tx, c.TeamID, picked)
	})
	return deleted, err
}

// remove deletes findings by their numbers, with all that belongs to them.
func remove(ctx context.Context, tx *db.Tx, teamID string, numbers []int64) error {
	for part := range slices.Chunk(numbers, batch) {
		for _, table := range owned {
			var w db.Where
			w.And("team_id = ?", teamID)
			db.In(&w, "no", part)
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+w.String(), w.Args...); err != nil {
				return err
			}
		}
	}
	return findings.Delete(ctx, tx, teamID, numbers)
}

// owned are the tables with what belongs to one finding, the finding last.
var owned = []string{"finding_doc", "finding_change", "finding_retest", "finding"}

// DeleteOfScan deletes all that a scan found, in the transaction that deletes the scan.
// Nothing may add to the scan once that transaction holds it.
func (fs *Findings) DeleteOfScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	if _, _, err := fs.number(ctx, tx, teamID, 0, 1); err != nil { // one writer at a time
		return err
	}
	picked, err := fs.pick(ctx, tx, teamID, Filter{ScanIDs: []string{scanID}})
	if err != nil {
		return err
	}
	if err := remove(ctx, tx, teamID, picked); err != nil {
		return err
	}
	for _, table := range []string{"finding_tally", "finding_total"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE scan_id = ?`, scanID); err != nil {
			return err
		}
	}
	return nil
}

// meant gives the caller, who must be allowed to write, and the numbers of the findings that
// a filter picks. The field in which ids are named is at fault when the filter has no condition.
func (fs *Findings) meant(ctx context.Context, field string, f Filter) (c account.Caller, picked []int64, err error) {
	if c, err = account.Writer(ctx); err != nil {
		return c, nil, err
	}
	if f.picksAll() {
		return c, nil, errs.Field(field, "%s is required, or something else that says which findings are meant.", field)
	}
	if len(f.IDs) > MaxIDs {
		return c, nil, errs.Field(field, "%s must name at most %d findings.", field, MaxIDs)
	}
	picked, err = fs.named(ctx, c.TeamID, f)
	return c, picked, err
}

// alter calls do with each finding that a filter picks, all in one transaction, with a
// revision of its own for each. Findings that are deleted meanwhile are left out.
func (fs *Findings) alter(ctx context.Context, field string, f Filter, do alteration) (changed int, err error) {
	c, picked, err := fs.meant(ctx, field, f)
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
func (fs *Findings) eachOf(ctx context.Context, tx *db.Tx, c account.Caller, picked []int64, do alteration) (changed int, err error) {
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
		var listed []int64
		for _, old := range inOrder(olds, part) {
			did, err := do(ctx, tx, c, old, rev)
			if err != nil {
				return changed, err
			}
			if did {
				changed++
				listed = append(listed, old.no)
			}
			rev++
		}
		if err := relist(ctx, tx, c.TeamID, listed...); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// named gives the numbers of the findings that a filter picks, in their order. Every id in
// the filter must be one of the team's.
func (fs *Findings) named(ctx context.Context, teamID string, f Filter) ([]int64, error) {
	known, err := fs.numbers(ctx, fs.db, teamID, f.IDs)
	if err != nil {
		return nil, err
	}
	ids := slices.Clone(f.IDs)
	slices.Sort(ids)
	if len(known) < len(slices.Compact(ids)) {
		return nil, errs.Missing("vulnerability")
	}
	picked, err := fs.pick(ctx, fs.db, teamID, f)
	slices.Sort(picked)
	return picked, err
}
