package asset

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// LabelMode says what new labels do to the old ones.
type LabelMode string

// The modes.
const (
	AppendLabels  LabelMode = "append" // each once, in order
	ReplaceLabels LabelMode = "replace"
	DeleteLabels  LabelMode = "delete"
)

// The bounds of labels: of one asset, and in characters.
const (
	MaxLabels = 100
	maxLabel  = 64
)

// apply is the labels that come of old ones.
func (m LabelMode) apply(old, labels []string) (out []string) {
	switch m {
	case AppendLabels:
		out = slices.Concat(old, labels)
	case ReplaceLabels:
		out = labels
	case DeleteLabels:
		out = slices.DeleteFunc(slices.Clone(old), func(l string) bool { return slices.Contains(labels, l) })
	}
	return out[:min(len(out), MaxLabels)]
}

// checkLabels refuses what is no label, and trims the others.
func checkLabels(labels []string) ([]string, error) {
	if len(labels) > MaxLabels {
		return nil, errs.Field("labels", "labels must have at most %d labels.", MaxLabels)
	}
	out := make([]string, len(labels))
	for i, label := range labels {
		label = strings.TrimSpace(db.Clean(label))
		if label == "" || len([]rune(label)) > maxLabel || strings.Contains(label, ",") || strings.ContainsFunc(label, unicode.IsControl) {
			return nil, errs.Field("labels", "labels: %.70q is no label: one has 1 to %d characters, and no commas.", label, maxLabel)
		}
		out[i] = label
	}
	return out, nil
}

// SetLabels changes the labels of an asset of the caller's team.
func (as *Assets) SetLabels(ctx context.Context, id int64, mode LabelMode, labels []string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if labels, err = checkLabels(labels); err != nil {
		return err
	}
	a, err := as.Get(ctx, c.TeamID, id)
	if err != nil {
		return err
	}
	return as.relabel(ctx, c.TeamID, c.Email, []int64{a.no}, mode, labels)
}

// LabelArgs is the job that changes the labels of many assets.
type LabelArgs struct {
	TeamID string    `json:"team_id"`
	Email  string    `json:"email"` // who asked
	Until  int64     `json:"until"` // numbers below: what arrives later is not meant
	Filter Filters   `json:"filter"`
	Mode   LabelMode `json:"mode"`
	Labels []string  `json:"labels"`
}

// Kind implements queue.Args.
func (LabelArgs) Kind() string { return "asset.label" }

// atOnce is how many assets are labelled while the caller waits.
const atOnce = 10_000

// LabelAll changes the labels of all assets of the caller's team that a filter picks, and
// returns how many those are. Of very many it is done later, by a job.
func (as *Assets) LabelAll(ctx context.Context, q Filters, mode LabelMode, labels []string) (count int, later bool, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, false, err
	}
	if labels, err = checkLabels(labels); err != nil {
		return 0, false, err
	}
	f, err := q.Parse(as.now())
	if err != nil {
		return 0, false, err
	}
	picked, err := as.numbers(ctx, c.TeamID, f)
	if err != nil {
		return 0, false, err
	}
	if len(picked) > atOnce && as.queue != nil {
		err := as.db.Tx(ctx, func(tx *db.Tx) error {
			_, err := as.queue.Insert(ctx, tx, LabelArgs{c.TeamID, c.Email, picked[0] + 1, q, mode, labels})
			return err
		})
		return len(picked), true, err
	}
	err = as.relabel(ctx, c.TeamID, c.Email, picked, mode, labels)
	return len(picked), false, err
}

// RunLabels does the job of LabelAll. Done twice, it is done once.
func (as *Assets) RunLabels(ctx context.Context, job queue.Job[LabelArgs]) error {
	a := job.Args
	f, err := a.Filter.Parse(as.now())
	if err != nil {
		return queue.Abandon(err)
	}
	f.Before = a.Until
	picked, err := as.numbers(ctx, a.TeamID, f)
	if err != nil {
		return err
	}
	return as.relabel(ctx, a.TeamID, a.Email, picked, a.Mode, a.Labels)
}

// relabel changes labels, some hundred assets in a transaction.
func (as *Assets) relabel(ctx context.Context, teamID, actor string, numbers []int64, mode LabelMode, labels []string) error {
	for part := range slices.Chunk(numbers, 2*batch) {
		err := as.db.Tx(ctx, func(tx *db.Tx) error {
			_, _, rev, err := as.number(ctx, tx, teamID, 0)
			if err != nil {
				return err
			}
			return as.relabelIn(ctx, tx, teamID, actor, rev, part, mode, labels)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// relabelIn does it in a transaction that holds the team's log: assets with the same
// labels together.
func (as *Assets) relabelIn(ctx context.Context, tx *db.Tx, teamID, actor string, rev int64, numbers []int64, mode LabelMode, labels []string) error {
	rows, err := tx.Query(ctx, `SELECT no, labels FROM asset WHERE team_id = ? AND no IN (`+marks(len(numbers))+`)`, append([]any{teamID}, anys(numbers)...)...)
	alike := map[string][]int64{}
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var no int64
		var old string
		err := r.Scan(&no, &old)
		alike[old] = append(alike[old], no)
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	now := db.At(as.now())
	for old, numbers := range alike {
		to := joined(mode.apply(words(old), labels))
		if to == old {
			continue
		}
		if err := keep(ctx, tx, teamID, numbers, now, rev); err != nil {
			return err
		}
		if err := record(ctx, tx, teamID, numbers, rev, event{LabelsChanged, now, actor, []Field{changedField("labels", words(old), words(to))}}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE asset SET labels = ?, since = ?, rev = ? WHERE team_id = ? AND no IN (`+marks(len(numbers))+`)`,
			append([]any{to, now, rev, teamID}, anys(numbers)...)...); err != nil {
			return err
		}
		if err := put(ctx, tx, teamID, numbers); err != nil {
			return err
		}
	}
	return nil
}
