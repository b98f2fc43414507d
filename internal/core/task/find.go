package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Filter picks tasks of the caller's.
type Filter struct {
	Status Status // empty: any
	After  string // the id of the last task of the page before
	Limit  int
}

// Find is a task of the caller's, or one that is visible to their team.
func (ts *Tasks) Find(ctx context.Context, id string) (Task, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Task{}, err
	}
	return ts.find(ctx, ` WHERE t.id = ? AND t.team_id = ? AND (t.user_id = ? OR t.visibility <> ?)`,
		db.Clean(id), c.TeamID, c.UserID, Private)
}

func (ts *Tasks) find(ctx context.Context, where string, args ...any) (Task, error) {
	t, err := scanTask(ts.db.QueryRow(ctx, taskQuery+where, args...))
	if err != nil {
		return Task{}, db.OrMissing(err, "task")
	}
	return t, nil
}

// findToWrite is Find for a caller who may change something.
func (ts *Tasks) findToWrite(ctx context.Context, id string) (Task, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// Shared is a public or unlisted task, with its verified issues, for anybody who knows its id: without its
// owner's address, its options and its evidence.
func (ts *Tasks) Shared(ctx context.Context, id string) (t Task, streams []Stream, issues []Issue, err error) {
	t, err = ts.find(ctx, ` WHERE t.id = ? AND t.visibility IN (?, ?)`, db.Clean(id), Public, Unlisted)
	if err != nil {
		return t, nil, nil, err
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

// Streams are the streams of a task that the caller may see, in order.
func (ts *Tasks) Streams(ctx context.Context, id string) ([]Stream, error) {
	if _, err := ts.Find(ctx, id); err != nil {
		return nil, err
	}
	return ts.streams(ctx, id)
}

func (ts *Tasks) streams(ctx context.Context, id string) ([]Stream, error) {
	return db.Select(ctx, ts.db, scanStream,
		`SELECT `+streamColumns+` FROM task_stream s WHERE s.task_id = ? ORDER BY s.turn`, id)
}

// FindAll lists the caller's tasks, newest first, and how many the filter picks on all pages.
func (ts *Tasks) FindAll(ctx context.Context, f Filter) (tasks []Task, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("t.team_id = ?", c.TeamID)
	w.And("t.user_id = ?", c.UserID)
	db.Equal(&w, "s.status", f.Status)
	total, err = db.Value[int](ctx, ts.db,
		`SELECT count(*) FROM task t JOIN task_stream s ON s.id = t.stream_id`+w.String(), w.Args...)
	if err != nil {
		return nil, 0, err
	}
	if f.After != "" {
		w.And("t.id < ?", f.After)
	}
	tasks, err = db.Select(ctx, ts.db, scanTask, taskQuery+w.String()+` ORDER BY t.id DESC LIMIT ?`,
		append(w.Args, f.Limit)...)
	return tasks, total, err
}

// Update changes a task; nil leaves a field as it is.
type Update struct {
	Title      *string
	Visibility *Visibility
}

// Update changes the title of a task, and who sees it.
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
		up.Title = new(db.Clean(headline(*up.Title, maxTitle)))
	}
	_, err = ts.db.Exec(ctx, `UPDATE task SET title = coalesce(?, title), visibility = coalesce(?, visibility) WHERE id = ?`,
		up.Title, up.Visibility, t.ID)
	if err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// Delete stops a task and removes it with its streams, journal, issues and artifact.
func (ts *Tasks) Delete(ctx context.Context, id string) error {
	t, err := ts.findToWrite(ctx, id)
	if err != nil {
		return err
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		job, err := db.Value[int64](ctx, tx, `SELECT job_id FROM task_stream WHERE id = ?`, t.StreamID)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
		if err := ts.queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM task_memory WHERE task_id = ?`, t.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM task WHERE id = ?`, t.ID)
		return err
	})
}
