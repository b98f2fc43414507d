package db

import (
	"context"
	"slices"
	"strings"
)

// Insert writes rows into a table, as many a statement as the engine takes best: into is the
// table with its columns, as "asset_doc (team_id, no)", and a row has a value for each.
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any) error {
	return t.insert(ctx, into, "", rows, func(int, int64) {})
}

// InsertNew is Insert for rows of which some may be there already, by a unique key of the
// table: those are left as they are. It gives the places of the rows that may be such: all
// rows of each statement that wrote fewer than it had.
func (t *Tx) InsertNew(ctx context.Context, into, key string, rows [][]any) (perhaps []int, err error) {
	at := 0
	err = t.insert(ctx, into, " ON CONFLICT ("+key+") DO NOTHING", rows, func(had int, wrote int64) {
		for i := range had {
			if wrote < int64(had) {
				perhaps = append(perhaps, at+i)
			}
		}
		at += had
	})
	return perhaps, err
}

// insert tells of each statement how many rows it had, and wrote.
func (t *Tx) insert(ctx context.Context, into, or string, rows [][]any, done func(had int, wrote int64)) error {
	// Halving, so that there are few texts: an engine that remembers them keeps each.
	for n := t.dialect.insertRows; len(rows) > 0; n /= 2 {
		whole := len(rows) / n * n
		if whole == 0 {
			continue
		}
		one := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
		text := t.dialect.rebind("INSERT INTO " + into + " VALUES " + one + strings.Repeat(", "+one, n-1) + or)
		exec := func(args []any) (int64, error) { return affected(t.SQL.ExecContext(ctx, text, args...)) }
		if t.dialect.prepares && whole > n {
			statement, err := t.SQL.PrepareContext(ctx, text) //nolint:sqlclosecheck // it is closed below
			if err != nil {
				return err
			}
			defer statement.Close()
			short := context.WithoutCancel(ctx) // a watch over each of many short statements costs more than some of them
			exec = func(args []any) (int64, error) {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				return affected(statement.ExecContext(short, args...))
			}
		}
		for part := range slices.Chunk(rows[:whole], n) {
			wrote, err := exec(slices.Concat(part...))
			if err != nil {
				return err
			}
			done(n, wrote)
		}
		rows = rows[whole:]
	}
	return nil
}
