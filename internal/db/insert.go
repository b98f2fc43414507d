package db

import (
	"context"
	"slices"
	"strings"
)

// Insert writes rows into a table, as many a statement as the engine takes best: into is the
// table with its columns, as "asset_doc (team_id, no)", and a row has a value for each.
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any) error {
	// Halving, so that there are few texts: an engine that remembers them keeps each.
	for n := t.dialect.insertRows; len(rows) > 0; n /= 2 {
		whole := len(rows) / n * n
		if whole == 0 {
			continue
		}
		if err := t.insert(ctx, into, n, rows[:whole]); err != nil {
			return err
		}
		rows = rows[whole:]
	}
	return nil
}

// insert writes rows, n a statement.
func (t *Tx) insert(ctx context.Context, into string, n int, rows [][]any) error {
	one := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
	text := t.dialect.rebind("INSERT INTO " + into + " VALUES " + one + strings.Repeat(", "+one, n-1))
	if t.dialect.prepares && len(rows) > n {
		return t.insertPrepared(ctx, text, n, rows)
	}
	for part := range slices.Chunk(rows, n) {
		if _, err := t.SQL.ExecContext(ctx, text, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) insertPrepared(ctx context.Context, text string, n int, rows [][]any) error {
	statement, err := t.SQL.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	defer statement.Close()
	for ; len(rows) > 0; rows = rows[n:] {
		if _, err := statement.ExecContext(ctx, slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
	}
	return nil
}
