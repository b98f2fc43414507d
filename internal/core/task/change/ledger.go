package change

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Ledger is which targets were tested with which templates in one run of the engine.
type Ledger struct {
	Targets   []string
	Templates []string // ids
	tested    []byte
}

// Mark notes that a target was tested with a template, by their indexes.
func (l *Ledger) Mark(target, template int) {
	if l.tested == nil {
		l.tested = make([]byte, (len(l.Targets)*len(l.Templates)+bits-1)/bits)
	}
	cell := target*len(l.Templates) + template
	l.tested[cell/bits] |= 1 << (cell % bits)
}

const bits = 8

// Store adds a part of a task's ledger.
func (l *Ledger) Store(ctx context.Context, tx *db.Tx, taskID string) error {
	if l.tested == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO task_ledger (task_id, n, targets, templates, tested)
		SELECT ?, coalesce(max(n), 0) + 1, ?, ?, ? FROM task_ledger WHERE task_id = ?`, taskID, db.Doc(l.Targets),
		db.Doc(l.Templates), l.tested, taskID)
	return err
}

// ran reads a task's ledger.
func ran(ctx context.Context, q db.Querier, taskID string) (func(template, target string) bool, error) {
	type cell struct{ template, target string }
	tested := map[cell]bool{}
	err := db.Each(ctx, q, func(r db.Row) error {
		var l Ledger
		if err := r.Scan(db.Into(&l.Targets), db.Into(&l.Templates), &l.tested); err != nil {
			return err
		}
		for i, target := range l.Targets {
			for j, template := range l.Templates {
				at := i*len(l.Templates) + j
				if at/bits < len(l.tested) && l.tested[at/bits]&(1<<(at%bits)) != 0 {
					tested[cell{template, target}] = true
				}
			}
		}
		return nil
	}, `SELECT targets, templates, tested FROM task_ledger WHERE task_id = ?`, taskID)
	return func(template, target string) bool { return tested[cell{template, target}] }, err
}

// Settle compares the findings of a scheduled task with what is known from the runs of its schedule before, and stores
// the report with its execution. Repeated, it makes the same report. It does nothing when the schedule was deleted.
func Settle(ctx context.Context, tx *db.Tx, taskID string, now []Known) error {
	var id, schedule string
	var n int64
	err := tx.QueryRow(ctx, `SELECT id, schedule_id, n FROM task_execution WHERE task_id = ?`, taskID).Scan(&id, &schedule, &n)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var before []Known
	var since time.Time
	err = tx.QueryRow(ctx, `SELECT known, created_at FROM task_execution WHERE schedule_id = ? AND n < ? AND known IS NOT NULL
		ORDER BY n DESC LIMIT 1`, schedule, n).Scan(db.Into(&before), db.Into(&since))
	first := db.IsNoRows(err)
	if err != nil && !first {
		return err
	}
	tested, err := ran(ctx, tx, taskID)
	if err != nil {
		return err
	}
	report, after := Compare(before, now, tested)
	report.First = first
	if !first {
		report.Since = &since
	}
	report.Quiet = report.Quiet && !first
	_, err = tx.Exec(ctx, `UPDATE task_execution SET report = ?, known = ? WHERE id = ?`, db.Doc(report),
		db.Doc(append([]Known{}, after...)), id)
	return err
}

// Of is the report of a task; nil when there is none.
func Of(ctx context.Context, q db.Querier, taskID string) (r *Report, err error) {
	err = q.QueryRow(ctx, `SELECT report FROM task_execution WHERE task_id = ?`, taskID).Scan(db.Into(&r))
	if db.IsNoRows(err) {
		err = nil
	}
	return r, err
}
