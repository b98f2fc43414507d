// Package undo takes changes of findings back. What one request has changed is an operation in the timelines; undone,
// each finding gets the value that it had before, unless somebody has changed it again since. That is a change of its
// own, in the timelines, which can be undone too.
package undo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const batch = 250 // findings that one statement reads

// Undos is the service.
type Undos struct {
	db       *db.DB
	findings *finding.Findings
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings) *Undos { return &Undos{d, findings, time.Now} }

// Undone is what was taken back.
type Undone struct {
	Operation string // undoes the undoing
	Changed   int    // findings that have what they had before
	Kept      int    // findings that were changed again since, or whose accepted risk has ended, and stay as they are
}

// Undo takes back what an operation has changed of the findings of the caller's team, or (findingID not empty) of the
// weakness of one of them; a join or a split is taken back as a whole. NotFound without such an operation. Conflict for
// what was undone before, for what is no such change, and where every finding was changed again since.
func (us *Undos) Undo(ctx context.Context, findingID, operation string) (out Undone, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return out, err
	}
	if operation = db.Clean(operation); operation == "" {
		return out, errs.Field("change_id", "change_id is required: the timeline has it.")
	}
	return out, us.db.Tx(ctx, func(tx *db.Tx) error {
		if err := us.findings.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		var w db.Where
		w.And("team_id = ? AND operation <> '' AND operation = ?", c.TeamID, operation)
		entries, err := timeline.Read(ctx, tx, w, ` ORDER BY +seq`)
		if err == nil && findingID != "" {
			entries, err = us.ofOne(ctx, tx, c.TeamID, findingID, entries)
		}
		if err == nil {
			entries, err = undoable(entries)
		}
		if err != nil {
			return err
		}
		u := undoing{Undos: us, tx: tx, by: c, Undone: Undone{Operation: ids.New()}}
		if entries, err = u.regroup(ctx, entries, operation); err != nil {
			return err
		}
		if err := u.run(ctx, entries, operation); err != nil {
			return err
		}
		if err := u.settle(ctx); err != nil {
			return err
		}
		if out = u.Undone; out.Changed == 0 {
			return errs.New(errs.Conflict, "changed_since", "What this change made was changed again since.")
		}
		return nil
	})
}

// ofOne are the entries of the weakness of a finding.
func (us *Undos) ofOne(
	ctx context.Context, tx *db.Tx, teamID, findingID string, all []timeline.Entry,
) ([]timeline.Entry, error) {
	_, weaknesses, err := us.findings.Named(ctx, tx, teamID, []string{db.Clean(findingID)})
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for weakness := range weaknesses {
		if numbers, err = us.findings.NumbersOf(ctx, tx, teamID, weakness); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(e timeline.Entry) bool { return !slices.Contains(numbers, e.No) }), nil
}

// undoable are the entries that can be taken back.
func undoable(entries []timeline.Entry) ([]timeline.Entry, error) {
	if len(entries) == 0 {
		return nil, errs.Missing("change")
	}
	fields := []string{timeline.Status, timeline.Severity, timeline.Labels, timeline.Assignee, timeline.Weakness}
	other := func(e timeline.Entry) bool { return !slices.Contains(fields, e.Field) }
	out := slices.DeleteFunc(slices.Clone(entries), other)
	if len(out) == 0 {
		return nil, errs.New(errs.Conflict, "not_undoable",
			"This is no change of a status, a severity, labels or an assignee, and no join or split.")
	}
	out = slices.DeleteFunc(out, func(e timeline.Entry) bool { return e.Undone })
	if len(out) == 0 {
		return nil, errs.New(errs.Conflict, "undone_before", "This change was undone before.")
	}
	return out, nil
}

// undoing is one request.
type undoing struct {
	*Undos
	Undone
	tx *db.Tx
	by account.Caller

	parted []parted
}

// row is a finding as it is now.
type row struct {
	id, hash, template         string
	weakness                   string
	status                     listing.Status
	regressed                  bool
	severity, labels, assignee string
}

func (r row) value(field string) string {
	return map[string]string{timeline.Status: string(r.status), timeline.Severity: r.severity, timeline.Labels: r.labels,
		timeline.Assignee: r.assignee}[field]
}

// target is what findings get.
type target struct {
	field, value, reason, vector string
	until                        int64 // in microseconds; 0: it does not end
	regressed                    bool  // it is a regression then
}

// run undoes entries of one operation. Findings that get the same value get it together.
func (u *undoing) run(ctx context.Context, entries []timeline.Entry, operation string) error {
	rows, said, err := u.before(ctx, entries)
	if err != nil {
		return err
	}
	groups := map[target][]int64{}
	var order []target
	for _, e := range entries {
		r, is := rows[e.No]
		reason := said[e.Seq]
		to := target{field: e.Field, value: e.From, reason: reason.Reason, vector: reason.Vector}
		if e.Field == timeline.Status {
			to.regressed = e.Before(r.regressed)
			if !reason.Until.IsZero() {
				to.until = reason.Until.UnixMicro()
			}
		}
		switch {
		case !is: // it was deleted
		case r.value(e.Field) != e.To, to.until != 0 && to.until <= u.now().UnixMicro():
			u.Kept++
		default:
			if groups[to] == nil {
				order = append(order, to)
			}
			groups[to] = append(groups[to], e.No)
		}
	}
	for _, to := range order {
		if err := u.restore(ctx, to, groups[to], rows); err != nil {
			return err
		}
		for part := range slices.Chunk(groups[to], batch) {
			w := db.InTeam(u.by.TeamID, "no", part)
			w.And("operation = ? AND field = ?", operation, to.field)
			if _, err := u.tx.Exec(ctx, `UPDATE finding_change SET undone = ?`+w.String(),
				append([]any{true}, w.Args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore gives findings a value.
func (u *undoing) restore(ctx context.Context, to target, numbers []int64, rows map[int64]row) (err error) {
	var n int
	switch to.field {
	case timeline.Status:
		var hashes []string
		for _, no := range numbers {
			hashes = append(hashes, rows[no].hash)
		}
		d := decision.Decision{Status: listing.Status(to.value), Reason: to.reason, Actor: u.by.Email, Operation: u.Operation,
			IsRegression: to.regressed, Clears: !to.regressed, Restores: true}
		if to.until != 0 {
			d.Until = time.UnixMicro(to.until)
		}
		slices.Sort(hashes)
		n, err = u.findings.DecideAll(ctx, u.tx, u.by.TeamID, slices.Compact(hashes), d)
	case timeline.Severity:
		restored := map[string][]string{} // by template
		for _, no := range numbers {
			restored[rows[no].template] = append(restored[rows[no].template], rows[no].id)
		}
		n, err = u.findings.RestoreSeverity(ctx, u.tx, u.by, restored,
			finding.Override{Custom: to.value, Reason: to.reason, Vector: to.vector}, u.Operation)
	case timeline.Labels:
		n, err = u.edit(ctx, "labels", timeline.LabelsChange, to, numbers,
			func(f finding.Finding) string { return strings.Join(f.Labels, ",") })
	default:
		n, err = u.edit(ctx, "assignee", timeline.AssigneeChange, to, numbers,
			func(f finding.Finding) string { return f.Assignee })
	}
	u.Changed += n
	return err
}

func (u *undoing) edit(
	ctx context.Context, column string, kind timeline.Kind, to target, numbers []int64, now func(finding.Finding) string,
) (int, error) {
	return u.findings.Edit(ctx, u.tx, u.by, numbers, finding.Edit{Column: column, Field: to.field, Kind: kind,
		Operation: u.Operation, Value: func(old finding.Finding) (from, value string) { return now(old), to.value }})
}

func numbersOf(entries []timeline.Entry) (out []int64) {
	for _, e := range entries {
		out = append(out, e.No)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// before are the findings of entries, by number, and for each entry, by its Seq, the one that said what it was before.
func (u *undoing) before(
	ctx context.Context, entries []timeline.Entry,
) (rows map[int64]row, said map[int64]timeline.Entry, err error) {
	rows, said = map[int64]row{}, map[int64]timeline.Entry{}
	for part := range slices.Chunk(entries, batch) {
		of, err := u.rows(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(rows, of)
		reasons, err := u.reasons(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(said, reasons)
	}
	// A decision holds for all findings of a weakness: what was said of the whole is in the timelines of those with its
	// hash, and not of those that joined it or were seen later.
	type whole struct{ weakness, status string }
	decided := map[whole]timeline.Entry{}
	for _, e := range entries {
		was, is := said[e.Seq]
		if !is || e.Field != timeline.Status {
			continue
		}
		of := whole{rows[e.No].weakness, e.From}
		other, isOther := decided[of]
		isOwn := rows[e.No].hash == of.weakness
		if !isOther || isOwn && (rows[other.No].hash != of.weakness || was.Seq > other.Seq) {
			decided[of] = was
		}
	}
	for _, e := range entries {
		if e.Field == timeline.Status {
			said[e.Seq] = decided[whole{rows[e.No].weakness, e.From}]
		}
	}
	return rows, said, nil
}

func (u *undoing) rows(ctx context.Context, entries []timeline.Entry) (map[int64]row, error) {
	out := map[int64]row{}
	w := db.InTeam(u.by.TeamID, "no", numbersOf(entries))
	return out, db.Each(ctx, u.tx, func(r db.Row) error {
		var no int64
		var one row
		err := r.Scan(&no, &one.id, &one.hash, &one.weakness, &one.template, &one.status, &one.regressed, &one.severity,
			&one.labels, &one.assignee)
		out[no] = one
		return err
	}, `SELECT no, id, hash, CASE weakness WHEN '' THEN hash ELSE weakness END, template_id, status, is_regression, severity,
		labels, assignee FROM finding`+w.String(), w.Args...)
}

// reasons are, by the Seq of changes of a status or a severity, the entries that said what it was before.
func (u *undoing) reasons(ctx context.Context, entries []timeline.Entry) (map[int64]timeline.Entry, error) {
	w := db.InTeam(u.by.TeamID, "no", numbersOf(entries))
	db.In(&w, "field", []string{timeline.Status, timeline.Severity})
	all, err := timeline.Read(ctx, u.tx, w, ` ORDER BY no, field, seq`)
	out := map[int64]timeline.Entry{}
	for i, e := range all {
		if i > 0 && all[i-1].No == e.No && all[i-1].Field == e.Field && all[i-1].To == e.From {
			out[e.Seq] = all[i-1]
		}
	}
	return out, err
}
