package review

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/review/opinion"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// opine has the team's model read the change, if it has one. What the model said is kept, so that a run after one that
// was cut off does not pay for it again.
func (w work) opine(ctx context.Context, found *examined) error {
	if w.Models == nil || !w.config.asksModel() || len(found.shown) == 0 {
		return nil
	}
	if w.v.opinion == nil {
		said, err := w.ask(ctx, found.shown)
		if opinion.IsNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.db.Exec(ctx, `UPDATE review_run SET opinion = ? WHERE id = ?`, db.Doc(said), w.v.ID); err != nil {
			return err
		}
		w.v.opinion = &said
	}
	found.said = w.v.opinion
	for _, f := range found.said.Findings {
		found.take(w.config, textOf(found.shown, f), []rule.Finding{f})
	}
	return nil
}

func textOf(files []opinion.File, f rule.Finding) string {
	for _, file := range files {
		for _, l := range file.Lines {
			if file.Path == f.Path && l.Number == f.Line {
				return l.Text
			}
		}
	}
	return ""
}

func (w work) ask(ctx context.Context, files []opinion.File) (a opinion.Answer, err error) {
	q := opinion.Question{TeamID: w.v.TeamID, Instructions: *w.config.Instructions, Files: files,
		Title: fmt.Sprintf("Review of change %d", w.v.Pull)}
	for i, f := range q.Files {
		for _, p := range *w.config.Paths {
			if matches([]string{p.Path}, f.Path) {
				q.Files[i].Instructions = append(q.Files[i].Instructions, "For files that match "+p.Path+": "+p.Instructions)
			}
		}
	}
	if q.UserID, err = db.Value[string](ctx, w.db, `SELECT owner_id FROM team WHERE id = ?`, q.TeamID); err != nil {
		return a, err
	}
	if w.Secrets != nil {
		if q.Secrets, err = w.Secrets.OfTeam(ctx, q.TeamID); err != nil {
			return a, err
		}
	}
	return opinion.Ask(ctx, w.Models, q)
}
