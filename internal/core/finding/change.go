package finding

import (
	"cmp"
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/tally"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// MaxIDs is how many findings one change may name.
const MaxIDs = 10_000

// SetStatus changes the status of the findings that a filter picks and of those with the same hashes, in other scans
// and in scans to come, and returns how many had another. An id in the filter that the caller's team does not have is
// refused.
func (fs *Findings) SetStatus(ctx context.Context, f Filter, to Status) (changed int, err error) {
	return fs.SetDecision(ctx, f, Decision{Status: to})
}

// SetDecision is SetStatus with a reason, and an end. The decision may bring the id of its change, by which it is
// undone.
func (fs *Findings) SetDecision(ctx context.Context, f Filter, d Decision) (changed int, err error) {
	if err := d.Check(fs.now()); err != nil {
		return 0, err
	}
	c, picked, err := fs.PickWritable(ctx, "vuln_ids", f)
	if err != nil {
		return 0, err
	}
	d.Actor, d.Operation = c.Email, cmp.Or(d.Operation, ids.New())
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		changed = 0
		if err := fs.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		for part := range slices.Chunk(picked, batch) {
			hashes, err := hashesOf(ctx, tx, c.TeamID, part)
			if err != nil {
				return err
			}
			n, err := fs.decide(ctx, tx, c.TeamID, hashes, d)
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

// SetLabels changes the labels of the findings that a filter picks and of the others of their weaknesses, and returns
// how many had others. operation is the id of the change, by which it is undone; empty: a new one.
func (fs *Findings) SetLabels(
	ctx context.Context, f Filter, mode LabelMode, labels []string, operation string,
) (changed int, err error) {
	c, picked, err := fs.PickWritable(ctx, "ids", f)
	if err != nil {
		return 0, err
	}
	e := Edit{Column: "labels", Field: timeline.Labels, Kind: timeline.LabelsChange, Operation: operation, Value: func(old Finding) (from, to string) {
		all := labels
		switch mode {
		case AppendLabels:
			all = slices.Concat(old.Labels, labels)
		case DeleteLabels:
			all = slices.DeleteFunc(slices.Clone(old.Labels), func(l string) bool { return slices.Contains(labels, l) })
		}
		return listing.Join(old.Labels), listing.Join(all)
	}}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		changed, err = fs.Edit(ctx, tx, c, picked, e)
		return err
	})
	return changed, err
}

// Delete deletes the findings that a filter picks, and returns how many there were.
func (fs *Findings) Delete(ctx context.Context, f Filter) (deleted int, err error) {
	c, picked, err := fs.PickWritable(ctx, "ids", f)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		counts := tally.Counts{}
		for part := range slices.Chunk(picked, batch) {
			w := db.InTeam(c.TeamID, "no", part)
			_, err = db.Select(ctx, tx, func(r db.Row) (struct{}, error) {
				var scanID, severity string
				err := r.Scan(&scanID, &severity)
				counts.Add(scanID, severity, -1)
				deleted++
				return struct{}{}, err
			}, `SELECT scan_id, severity FROM finding`+w.String(), w.Args...)
			if err != nil {
				return err
			}
		}
		if err := counts.Store(ctx, tx, c.TeamID); err != nil {
			return err
		}
		return fs.remove(ctx, tx, c.TeamID, picked)
	})
	return deleted, err
}

// findingTables are the tables with rows of a finding, the finding's own last.
var findingTables = []string{"finding_doc", "finding_change", "finding_retest", "evidence_run", "finding"}

// remove deletes findings by their numbers, with all that belongs to them. Where one stood for its weakness, the first
// that is left does from now on.
func (fs *Findings) remove(ctx context.Context, tx *db.Tx, teamID string, numbers []int64) error {
	var weaknesses []string
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		heads, err := db.Values[string](ctx, tx, `SELECT `+weaknessOf+` FROM finding`+w.String()+
			` AND NOT is_repeat`, w.Args...)
		if err != nil {
			return err
		}
		weaknesses = append(weaknesses, heads...)
		for _, table := range findingTables {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+w.String(), w.Args...); err != nil {
				return err
			}
		}
	}
	if err := findings.Delete(ctx, tx, teamID, numbers); err != nil {
		return err
	}
	return fs.regroup(ctx, tx, teamID, weaknesses)
}

// DeleteOfScan deletes all findings of a scan, in the transaction that deletes the scan. Nothing may add to the scan
// once that transaction holds it.
func (fs *Findings) DeleteOfScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	picked, err := fs.pick(ctx, tx, teamID, Filter{ScanIDs: []string{scanID}})
	if err != nil {
		return err
	}
	if err := fs.remove(ctx, tx, teamID, picked); err != nil {
		return err
	}
	for _, table := range []string{"finding_tally", "finding_total"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE scan_id = ?`, scanID); err != nil {
			return err
		}
	}
	return nil
}

// PickWritable gives the caller, who must be allowed to write, and the ascending numbers of the findings that a filter
// picks. A filter without a condition is refused, and so is an id that the team does not have; field names the ids.
func (fs *Findings) PickWritable(
	ctx context.Context, field string, f Filter,
) (c account.Caller, picked []int64, err error) {
	if c, err = account.Writer(ctx); err != nil {
		return c, nil, err
	}
	if f.MatchesAll() {
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

// Edit changes a column of findings.
type Edit struct {
	Column string // of the table finding
	Field  string // its name in the API
	Kind   timeline.Kind
	// Operation is what is undone together; empty: this edit by itself.
	Operation string
	Reason    string // why; empty: none was given
	Vector    string // of CVSS, from which a severity was taken; empty: none
	// Value is what a finding has, and is to have, as the timeline says it.
	Value func(old Finding) (from, to string)
	// Store is how the column has a value; nil: as the timeline.
	Store func(to string) any
}

// Edit changes a column of the findings with these numbers and of all others of their weaknesses, in the caller's
// transaction, with an entry in the timeline of each, and returns how many changed. by needs TeamID and Email; without
// the latter it was the service.
func (fs *Findings) Edit(
	ctx context.Context, tx *db.Tx, by account.Caller, numbers []int64, e Edit,
) (changed int, err error) {
	if err := fs.Lock(ctx, tx, by.TeamID); err != nil {
		return 0, err
	}
	all, err := WithSiblings(ctx, tx, by.TeamID, numbers)
	if err != nil {
		return 0, err
	}
	return fs.update(ctx, tx, by, all, e)
}

// update updates the findings of these numbers, each with a revision of its own, and returns how many changed. Deleted
// ones are left out.
func (fs *Findings) update(
	ctx context.Context, tx *db.Tx, c account.Caller, picked []int64, e Edit,
) (changed int, err error) {
	_, rev, err := fs.reserve(ctx, tx, c.TeamID, 0, int64(len(picked)))
	if err != nil {
		return 0, err
	}
	entry := timeline.Entry{Kind: e.Kind, Field: e.Field, Actor: c.Email, Reason: e.Reason, Vector: e.Vector,
		Operation: cmp.Or(e.Operation, ids.New())}
	for part := range slices.Chunk(picked, batch) {
		olds, err := fs.Load(ctx, tx, c.TeamID, part)
		if err != nil {
			return changed, err
		}
		var listed []int64
		for _, old := range olds {
			if entry.From, entry.To = e.Value(old); entry.From != entry.To {
				entry.No, entry.Seq, entry.At = old.no, rev, db.At(fs.now())
				var stored any = entry.To
				if e.Store != nil {
					stored = e.Store(entry.To)
				}
				if _, err := tx.Exec(ctx, `UPDATE finding SET `+e.Column+
					` = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
					stored, rev, entry.At, c.TeamID, old.no); err != nil {
					return changed, err
				}
				if err := timeline.Record(ctx, tx, c.TeamID, entry); err != nil {
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

// AddScan notes a new scan, which has found nothing yet, in the transaction that makes it.
func (fs *Findings) AddScan(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	return tally.AddTotal(ctx, tx, teamID, scanID, 0)
}

// CountsByScan are the numbers of findings of scans, by scan and severity.
func (fs *Findings) CountsByScan(
	ctx context.Context, q db.Querier, scanIDs []string,
) (map[string]map[string]int, error) {
	return tally.OfScans(ctx, q, scanIDs)
}
