package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/ids"
)

// Filter picks tasks of a list. The list holds the caller's own, newest first.
type Filter struct {
	Status Status // empty: any
	After  string // the id of the last task of the page before
	Limit  int
}

// Find is a task of the caller's team.
func (ts *Tasks) Find(ctx context.Context, id string) (Task, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Task{}, err
	}
	if !ids.IsUUID(id) {
		return Task{}, errs.Missing("task")
	}
	t, err := scanTask(ts.db.QueryRow(ctx, `SELECT `+taskColumns+` WHERE t.id = ? AND t.team_id = ?`, id, c.TeamID))
	if db.IsNoRows(err) {
		return Task{}, errs.Missing("task")
	}
	return t, err
}

// FindAll lists the caller's tasks, and how many the filter picks in all. It costs two
// reads of one index.
func (ts *Tasks) FindAll(ctx context.Context, f Filter) (tasks []Task, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("t.team_id = ?", c.TeamID)
	w.And("t.user_id = ?", c.UserID)
	if f.Status != "" {
		w.And("t.status = ?", f.Status)
	}
	if err := ts.db.QueryRow(ctx, `SELECT count(*) FROM task t`+w.String(), w.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if f.After != "" {
		w.And("t.id < ?", f.After)
	}
	rows, err := ts.db.Query(ctx, `SELECT `+taskColumns+w.String()+` ORDER BY t.id DESC LIMIT ?`, append(w.Args, f.Limit)...)
	tasks, err = db.Collect(rows, err, scanTask)
	return tasks, total, err
}
