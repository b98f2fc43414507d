package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Filter picks tasks of a list. The list holds the caller's own, newest first.
type Filter struct {
	Status Status // empty: any
	After  string // the id of the last task of the page before
	Limit  int
}

// Find is a task of the caller's, or one that another of their team shows to the team.
func (ts *Tasks) Find(ctx context.Context, id string) (Task, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Task{}, err
	}
	if !ids.IsUUID(id) {
		return Task{}, errs.Missing("task")
	}
	t, err := scanTask(ts.db.QueryRow(ctx, `SELECT `+taskColumns+` WHERE t.id = ? AND t.team_id = ? AND (t.user_id = ? OR t.visibility <> ?)`, id, c.TeamID, c.UserID, Private))
	if db.IsNoRows(err) {
		return Task{}, errs.Missing("task")
	}
	return t, err
}

// Shared is a task that is public or unlisted, with its verified issues, for anybody who
// knows its id: without its owner's address, its options and its evidence.
func (ts *Tasks) Shared(ctx context.Context, id string) (t Task, streams []Stream, issues []Issue, err error) {
	if !ids.IsUUID(id) {
		return t, nil, nil, errs.Missing("task")
	}
	t, err = scanTask(ts.db.QueryRow(ctx, `SELECT `+taskColumns+` WHERE t.id = ? AND t.visibility IN (?, ?)`, id, Public, Unlisted))
	if db.IsNoRows(err) {
		err = errs.Missing("task")
	}
	if err != nil {
		return Task{}, nil, nil, err
	}
	if streams, err = ts.streams(ctx, t.ID); err != nil {
		return t, nil, nil, err
	}
	t.Owner, t.UserID, t.TeamID, t.Options, t.Pending = "", "", "", Options{}, nil
	for i := range streams {
		streams[i].Options, streams[i].Pending = Options{}, nil
	}
	issues, err = ts.reported(ctx, ts.db, t.ID)
	for i := range issues {
		issues[i].Evidence = []Evidence{}
	}
	return t, streams, issues, err
}

// Streams are all turns of a task that the caller may see, the first one first.
func (ts *Tasks) Streams(ctx context.Context, id string) ([]Stream, error) {
	if _, err := ts.Find(ctx, id); err != nil {
		return nil, err
	}
	return ts.streams(ctx, id)
}

func (ts *Tasks) streams(ctx context.Context, id string) ([]Stream, error) {
	rows, err := ts.db.Query(ctx, `SELECT `+streamColumns+` FROM task_stream s WHERE s.task_id = ? ORDER BY s.turn`, id)
	return db.Collect(rows, err, scanStream)
}

// FindAll lists the caller's tasks, and how many the filter picks in all.
func (ts *Tasks) FindAll(ctx context.Context, f Filter) (tasks []Task, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("t.team_id = ?", c.TeamID)
	w.And("t.user_id = ?", c.UserID)
	if f.Status != "" {
		w.And("s.status = ?", f.Status)
	}
	if err := ts.db.QueryRow(ctx, `SELECT count(*) FROM task t JOIN task_stream s ON s.id = t.stream_id`+w.String(), w.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if f.After != "" {
		w.And("t.id < ?", f.After)
	}
	rows, err := ts.db.Query(ctx, `SELECT `+taskColumns+w.String()+` ORDER BY t.id DESC LIMIT ?`, append(w.Args, f.Limit)...)
	tasks, err = db.Collect(rows, err, scanTask)
	return tasks, total, err
}

// Update is what was sent of a task: nil means "leave it".
type Update struct {
	Title      *string
	Visibility *Visibility
}

// Update changes how a task is called and who sees it.
func (ts *Tasks) Update(ctx context.Context, id string, up Update) (Task, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Task{}, err
	}
	t, err := ts.Find(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if up.Visibility != nil && t.UserID != c.UserID {
		return Task{}, errs.New(errs.Forbidden, "owner_required", "Only its owner decides who sees a task.").At("visibility")
	}
	if up.Title != nil {
		clean := db.Clean(headline(*up.Title, maxTitle))
		up.Title = &clean
	}
	if _, err := ts.db.Exec(ctx, `UPDATE task SET title = coalesce(?, title), visibility = coalesce(?, visibility) WHERE id = ?`, up.Title, up.Visibility, t.ID); err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// Delete removes a task with all that belongs to it: streams, journal, issues, artifact.
// One that runs is stopped by that.
func (ts *Tasks) Delete(ctx context.Context, id string) error {
	if _, err := account.Writer(ctx); err != nil {
		return err
	}
	t, err := ts.Find(ctx, id)
	if err != nil {
		return err
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		var job int64
		if err := tx.QueryRow(ctx, `SELECT job_id FROM task_stream WHERE id = ?`, t.StreamID).Scan(&job); err != nil && !db.IsNoRows(err) {
			return err
		}
		if err := ts.queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM task_memory WHERE task_id = ?`, t.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM task WHERE id = ?`, t.ID)
		return err
	})
}
