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
var ChangeTypes = []ChangeType{Detected, StatusChange, Resolved, Reopened, SeverityChange, LabelsChange,
	TemplateUpdated}

// change is a row of the change log.
type change struct {
	no, seq  int64
	kind     ChangeType
	field    string
	from, to string
	actor    string
	at       db.Time
}

func record(ctx context.Context, tx *db.Tx, teamID string, c change) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_change (team_id, seq, no, type, field, old_value, new_value, actor, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, teamID, c.seq, c.no, c.kind, c.field, c.from, c.to, c.actor, c.at)
	return err
}

// MaxIDs is how many findings one change may name.
const MaxIDs = 10_000

// SetStatus changes the status of the findings that a filter picks and of those with the same hashes, in other scans
// and in scans to come, and returns how many had another. An id in the filter that the caller's team does not have is
// refused.
func (fs *Findings) SetStatus(ctx context.Context, f Filter, to Status) (changed int, err error) {
	c, picked, err := fs.pickWritable(ctx, "vuln_ids", f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		changed = 0
		if err := fs.lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		for part := range slices.Chunk(picked, batch) {
			hashes, err := hashesOf(ctx, tx, c.TeamID, part)
			if err != nil || len(hashes) == 0 { // deleted meanwhile
				return err
			}
			n, err := fs.decide(ctx, tx, c.TeamID, hashes, decision{Status: to, Actor: c.Email})
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	return changed, err
}

// LabelMode says what new labels do to the old ones.
type LabelMode string

// The modes.
const (
	AppendLabels  LabelMode = "append"
	ReplaceLabels LabelMode = "replace"
	DeleteLabels  LabelMode = "delete"
)

// SetLabels changes the labels of the findings that a filter picks, and returns how many had others.
func (fs *Findings) SetLabels(ctx context.Context, f Filter, mode LabelMode, labels []string) (changed int, err error) {
	return fs.updatePicked(ctx, "ids", f, update{"labels", "labels", func(old Finding) (ChangeType, string, string) {
		to := labels
		switch mode {
		case AppendLabels:
			to = slices.Concat(old.Labels, labels)
		case DeleteLabels:
			to = slices.DeleteFunc(slices.Clone(old.Labels), func(l string) bool { return slices.Contains(labels, l) })
		}
		return LabelsChange, join(old.Labels), join(to)
	}})
}

// Delete deletes the findings that a filter picks, and returns how many there were.
func (fs *Findings) Delete(ctx context.Context, f Filter) (deleted int, err error) {
	c, picked, err := fs.pickWritable(ctx, "ids", f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		counts := scanCounts{}
		for part := range slices.Chunk(picked, batch) {
			w := db.InTeam(c.TeamID, "no", part)
			_, err = db.Select(ctx, tx, func(r db.Row) (struct{}, error) {
				var scanID, severity string
				err := r.Scan(&scanID, &severity)
				counts.add(scanID, severity, -1)
				deleted++
				return struct{}{}, err
			}, `SELECT scan_id, severity FROM finding`+w.String(), w.Args...)
			if err != nil {
				return err
			}
		}
		if err := counts.store(ctx, tx, c.TeamID); err != nil {
			return err
		}
		return remove(ctx, tx, c.TeamID, picked)
	})
	return deleted, err
}

// findingTables are the tables with rows of a finding, the finding's own last.
var findingTables = []string{"finding_doc", "finding_change", "finding_retest", "finding"}

// remove deletes findings by their numbers, with all that belongs to them.
func remove(ctx context.Context, tx *db.Tx, teamID string, numbers []int64) error {
	for part := range slices.Chunk(numbers, batch) {
		for _, table := range findingTables {
			w := db.InTeam(teamID, "no", part)
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+w.String(), w.Args...); err != nil {
				return err
			}
		}
	}
	return findings.Delete(ctx, tx, teamID, numbers)
}

// DeleteOfScan deletes all findings of a scan, in the transaction that deletes the scan. Nothing may add to the scan
// once that transaction holds it.
func (fs *Findings) DeleteOfScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	if err := fs.lock(ctx, tx, teamID); err != nil {
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

// pickWritable gives the caller, who must be allowed to write, and the ascending numbers of the findings that a filter
// picks. A filter without a condition is refused, and so is an id that the team does not have; field names the ids.
func (fs *Findings) pickWritable(
	ctx context.Context, field string, f Filter,
) (c account.Caller, picked []int64, err error) {
	if c, err = account.Writer(ctx); err != nil {
		return c, nil, err
	}
	if f.matchesAll() {
		return c, nil, errs.Field(field, "%s is required, or something else that says which findings are meant.", field)
	}
	if len(f.IDs) > MaxIDs {
		return c, nil, errs.Field(field, "%s must name at most %d findings.", field, MaxIDs)
	}
	known, err := fs.numbers(ctx, fs.db, c.TeamID, f.IDs)
	if err != nil {
		return c, nil, err
	}
	if len(known) < len(slices.Compact(slices.Sorted(slices.Values(f.IDs)))) {
		return c, nil, errs.Missing("vulnerability")
	}
	picked, err = fs.pick(ctx, fs.db, c.TeamID, f)
	slices.Sort(picked)
	return c, picked, err
}

// update changes a column of findings: value gives its old and new value, and the kind of the change. field is the
// column's name in the API.
type update struct {
	column, field string
	value         func(old Finding) (kind ChangeType, from, to string)
}

// updatePicked updates the findings that a filter picks in one transaction.
func (fs *Findings) updatePicked(ctx context.Context, field string, f Filter, u update) (changed int, err error) {
	c, picked, err := fs.pickWritable(ctx, field, f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		changed, err = fs.update(ctx, tx, c, picked, u)
		return err
	})
	return changed, err
}

// update updates the findings of these numbers, each with a revision of its own, and returns how many changed. Deleted
// ones are left out.
func (fs *Findings) update(
	ctx context.Context, tx *db.Tx, c account.Caller, picked []int64, u update,
) (changed int, err error) {
	_, rev, err := fs.reserve(ctx, tx, c.TeamID, 0, int64(len(picked)))
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(picked, batch) {
		olds, err := fs.load(ctx, tx, c.TeamID, part)
		if err != nil {
			return changed, err
		}
		var listed []int64
		for _, old := range olds {
			if kind, from, to := u.value(old); from != to {
				now := db.At(fs.now())
				if _, err := tx.Exec(ctx, `UPDATE finding SET `+u.column+
					` = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
					to, rev, now, c.TeamID, old.no); err != nil {
					return changed, err
				}
				if err := record(ctx, tx, c.TeamID, change{old.no, rev, kind, u.field, from, to, c.Email, now}); err != nil {
					return changed, err
				}
				listed = append(listed, old.no)
			}
			rev++
		}
		changed += len(listed)
		if err := reindex(ctx, tx, c.TeamID, listed...); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// scanCounts are changes of the number of findings by scan and severity.
type scanCounts map[string]map[string]int64

func (s scanCounts) add(scanID, severity string, n int64) {
	if s[scanID] == nil {
		s[scanID] = map[string]int64{}
	}
	s[scanID][severity] += n
}

// store adds the changes to the scans' counts.
func (s scanCounts) store(ctx context.Context, tx *db.Tx, teamID string) error {
	for _, scanID := range slices.Sorted(maps.Keys(s)) {
		sum := int64(0)
		for _, severity := range Severities {
			n := s[scanID][severity]
			if sum += n; n == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, `INSERT INTO finding_tally (scan_id, severity, total) VALUES (?, ?, ?)
				ON CONFLICT (scan_id, severity) DO UPDATE SET total = finding_tally.total + excluded.total`, scanID, severity,
				n); err != nil {
				return err
			}
		}
		if err := addTotal(ctx, tx, teamID, scanID, sum); err != nil {
			return err
		}
	}
	return nil
}

func addTotal(ctx context.Context, tx *db.Tx, teamID, scanID string, n int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_total (scan_id, team_id, total) VALUES (?, ?, ?)
		ON CONFLICT (scan_id) DO UPDATE SET total = finding_total.total + excluded.total`, scanID, teamID, n)
	return err
}

// AddScan notes a new scan, which has found nothing yet, in the transaction that makes it.
func (fs *Findings) AddScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	return addTotal(ctx, tx, teamID, scanID, 0)
}

// CountsByScan are the numbers of findings of scans, by scan and severity.
func (fs *Findings) CountsByScan(
	ctx context.Context, q db.Querier, scanIDs []string,
) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	for part := range slices.Chunk(scanIDs, batch) {
		var w db.Where
		db.In(&w, "scan_id", part)
		_, err := db.Select(ctx, q, func(r db.Row) (struct{}, error) {
			var id, severity string
			var total int
			err := r.Scan(&id, &severity, &total)
			if out[id] == nil {
				out[id] = map[string]int{}
			}
			if total != 0 {
				out[id][severity] = total
			}
			return struct{}{}, err
		}, `SELECT scan_id, severity, total FROM finding_tally`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
