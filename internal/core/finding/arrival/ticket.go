package arrival

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Ticket is the part of a ticket's key beside its weakness.
type Ticket struct{ ConfigID, Provider string }

// MoveTickets gives the tickets of a weakness to another, unless that has its own in the tracker, with what is to be
// told to them and what was taken in, and returns which.
func MoveTickets(ctx context.Context, tx *db.Tx, teamID, from, into string) ([]Ticket, error) {
	moved, err := db.Select(ctx, tx, func(r db.Row) (t Ticket, err error) {
		return t, r.Scan(&t.ConfigID, &t.Provider)
	}, `SELECT config_id, provider FROM ticket old WHERE team_id = ? AND hash = ? AND NOT EXISTS (
		SELECT 1 FROM ticket t WHERE t.team_id = old.team_id AND t.hash = ? AND t.config_id = old.config_id
		AND t.provider = old.provider) ORDER BY config_id, provider`, teamID, from, into)
	if err != nil {
		return nil, err
	}
	for _, t := range moved {
		if err := t.move(ctx, tx, teamID, from, into); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// children are the tables whose rows name a ticket, with their other columns. They are taken away and stored again, as
// neither the ticket nor they may change first.
var children = []struct {
	table, columns string
	values         func() []any
}{
	{"ticket_outbox", "no, kind, text, author, tries, created_at", func() []any {
		return []any{new(int64), new(string), new(string), new(string), new(int64), new(db.Time)}
	}},
	{"ticket_note", "note_id", func() []any { return []any{new(string)} }},
}

// move gives one ticket to another weakness.
func (t Ticket) move(ctx context.Context, tx *db.Tx, teamID, from, into string) error {
	const of = ` WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ?`
	key := []any{teamID, from, t.ConfigID, t.Provider}
	kept := make([][][]any, len(children))
	for i, c := range children {
		err := db.Each(ctx, tx, func(r db.Row) error {
			values := c.values()
			err := r.Scan(values...)
			kept[i] = append(kept[i], append([]any{teamID, into, t.ConfigID, t.Provider}, values...))
			return err
		}, `SELECT `+c.columns+` FROM `+c.table+of, key...)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM `+c.table+of, key...); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE ticket SET hash = ?`+of, append([]any{into}, key...)...); err != nil {
		return err
	}
	for i, c := range children {
		if err := tx.Insert(ctx, c.table+` (team_id, hash, config_id, provider, `+c.columns+`)`, kept[i]); err != nil {
			return err
		}
	}
	return nil
}

// MoveComments gives the comments of a weakness to another, and returns their ids.
func MoveComments(ctx context.Context, tx *db.Tx, teamID, from, into string) ([]string, error) {
	ids, err := db.Values[string](ctx, tx, `SELECT id FROM finding_comment WHERE team_id = ? AND hash = ? ORDER BY id`, teamID,
		from)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE finding_comment SET hash = ? WHERE team_id = ? AND hash = ?`, into, teamID, from)
	return ids, err
}
