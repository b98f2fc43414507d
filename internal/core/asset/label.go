package asset

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// SetLabels changes the labels of an asset of the caller's team.
func (as *Assets) SetLabels(ctx context.Context, id int64, mode label.Mode, labels []string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if labels, err = label.Check(labels); err != nil {
		return err
	}
	if _, err := as.Get(ctx, c.TeamID, id); err != nil {
		return err
	}
	return as.relabel(ctx, LabelArgs{TeamID: c.TeamID, Email: c.Email, Mode: mode, Labels: labels}, []int64{NumberOf(id)})
}

// LabelArgs is the job that changes the labels of many assets.
type LabelArgs struct {
	TeamID string     `json:"team_id"`
	Email  string     `json:"email"` // of the user
	Until  int64      `json:"until"` // numbers below: assets that arrive later stay as they are
	Filter Filters    `json:"filter"`
	Mode   label.Mode `json:"mode"`
	Labels []string   `json:"labels"`
}

// Kind implements queue.Args.
func (LabelArgs) Kind() string { return "asset.label" }

// maxLabelled is how many assets are labelled without a job.
const maxLabelled = 10_000

// LabelAll changes the labels of all matching assets of the caller's team, and returns their count;
// later reports that a job does it.
func (as *Assets) LabelAll(
	ctx context.Context, q Filters, mode label.Mode, labels []string,
) (count int, later bool, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, false, err
	}
	if labels, err = label.Check(labels); err != nil {
		return 0, false, err
	}
	f, err := q.Parse(as.now())
	if err != nil {
		return 0, false, err
	}
	picked, err := as.Numbers(ctx, c.TeamID, f)
	if err != nil {
		return 0, false, err
	}
	job := LabelArgs{TeamID: c.TeamID, Email: c.Email, Filter: q, Mode: mode, Labels: labels}
	if len(picked) > maxLabelled && as.queue != nil {
		job.Until = picked[0] + 1
		return len(picked), true, as.db.Tx(ctx, func(tx *db.Tx) error {
			_, err := as.queue.Insert(ctx, tx, c.TeamID, job)
			return err
		})
	}
	return len(picked), false, as.relabel(ctx, job, picked)
}

// RunLabels does the job of LabelAll. Run again, it changes nothing more.
func (as *Assets) RunLabels(ctx context.Context, job queue.Job[LabelArgs]) error {
	a := job.Args
	f, err := a.Filter.Parse(as.now())
	if err != nil {
		return queue.Abandon(err)
	}
	f.Before = a.Until
	picked, err := as.Numbers(ctx, a.TeamID, f)
	if err != nil {
		return err
	}
	return as.relabel(ctx, a, picked)
}

// relabel changes labels, some hundred assets in a transaction.
func (as *Assets) relabel(ctx context.Context, a LabelArgs, numbers []int64) error {
	for part := range slices.Chunk(numbers, 2*batch) {
		err := as.db.Tx(ctx, func(tx *db.Tx) error {
			_, _, rev, err := as.reserve(ctx, tx, a.TeamID, 0)
			if err != nil {
				return err
			}
			return as.relabelIn(ctx, tx, a.TeamID, a.Email, rev, part,
				func(old []string) []string { return a.Mode.Apply(old, a.Labels) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// relabelIn is for a transaction that holds the team's lock (see number). Assets with the same
// labels change together.
func (as *Assets) relabelIn(
	ctx context.Context, tx *db.Tx, teamID, actor string, rev int64, numbers []int64, apply func(old []string) []string,
) error {
	alike := map[string][]int64{}
	w := db.InTeam(teamID, "no", numbers)
	err := db.Each(ctx, tx, func(r db.Row) error {
		var no int64
		var old string
		err := r.Scan(&no, &old)
		alike[old] = append(alike[old], no)
		return err
	}, `SELECT no, labels FROM asset`+w.String()+` ORDER BY no`, w.Args...)
	if err != nil {
		return err
	}
	now := db.At(as.now())
	for old, numbers := range alike {
		to := joined(apply(words(old)))
		if to == old {
			continue
		}
		if err := archive(ctx, tx, teamID, numbers, now, rev); err != nil {
			return err
		}
		fields := []observation.Field{changed("labels", words(old), words(to))}
		if err := record(ctx, tx, teamID, numbers, rev, event{LabelsChanged, now, actor, fields}); err != nil {
			return err
		}
		w := db.InTeam(teamID, "no", numbers)
		if _, err := tx.Exec(ctx, `UPDATE asset SET labels = ?, since = ?, rev = ?`+w.String(),
			append([]any{to, now, rev}, w.Args...)...); err != nil {
			return err
		}
		if err := put(ctx, tx, teamID, numbers); err != nil {
			return err
		}
	}
	return nil
}
