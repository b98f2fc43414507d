package export

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// FindStyle is how the reports of the caller's team look; a field that was never set is empty.
func (es *Exports) FindStyle(ctx context.Context) (report.Style, error) {
	c, err := account.From(ctx)
	if err != nil {
		return report.Style{}, err
	}
	return es.findStyle(ctx, c.TeamID)
}

func (es *Exports) findStyle(ctx context.Context, teamID string) (report.Style, error) {
	style, err := db.Value[db.JSON[report.Style]](ctx, es.db, `SELECT style FROM report_style WHERE team_id = ?`, teamID)
	if db.IsNoRows(err) {
		return report.Style{}, nil
	}
	return style.V, err
}

// SetStyle replaces how the reports of the caller's team look. Invalid names the field.
func (es *Exports) SetStyle(ctx context.Context, s report.Style) (report.Style, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	if err := s.Check(""); err != nil {
		return s, err
	}
	_, err = es.db.Exec(ctx, `INSERT INTO report_style (team_id, style, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (team_id) DO UPDATE SET style = excluded.style, updated_at = excluded.updated_at`, c.TeamID, db.Doc(s),
		db.At(es.now()))
	return s, err
}
