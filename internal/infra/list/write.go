package list

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Add adds rows that are not in the index. The caller must keep others from writing rows of the team
// at the same time, as the numbering of rows does anyway.
func (x *Index) Add(ctx context.Context, tx *db.Tx, team string, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	t, err := makeTeam(ctx, tx, team)
	if err != nil {
		return err
	}
	return x.add(ctx, tx, t, rows)
}

func (x *Index) add(ctx context.Context, tx *db.Tx, team int64, rows []Row) error {
	entries, tokens, values := make([][]any, len(rows)), make([][]any, len(rows)), [][]any{}
	known := map[int64]bool{}
	for i, row := range rows {
		if row.No <= 0 || row.No >= 1<<32 {
			return fmt.Errorf("list %s: %d is no number of a row", x.Name, row.No)
		}
		entry, list := entryOf(team, row)
		for k, v := range row.Values {
			if slices.Contains(x.Searched, v.Facet) && !known[list[k]] {
				known[list[k]] = true
				values = append(values, []any{list[k], team, v.Facet, clean(v.Value)})
			}
		}
		slices.Sort(list)
		list = slices.Compact(list)
		entries[i] = []any{keyOf(team, row.No), entry}
		if tx.Dialect().HasArrays() {
			entries[i] = append(entries[i], list)
		} else {
			tokens[i] = []any{keyOf(team, row.No), words(list)}
		}
	}
	if err := x.addValues(ctx, tx, values); err != nil {
		return err
	}
	var err error
	if tx.Dialect().HasArrays() {
		err = tx.Insert(ctx, x.Name+"_list (key, entry, tokens)", entries)
	} else if err = tx.Insert(ctx, x.Name+"_list (key, entry)", entries); err == nil {
		err = tx.Insert(ctx, x.Name+"_list_token (rowid, tokens)", tokens)
	}
	if err != nil {
		return err
	}
	return x.count(ctx, tx, team, int64(len(rows)))
}

// addValues adds distinct values, in an order in which two transactions cannot wait for each
// other.
func (x *Index) addValues(ctx context.Context, tx *db.Tx, values [][]any) error {
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b []any) int {
		if a[0].(int64) < b[0].(int64) { //nolint:forcetypeassert // a token
			return -1
		}
		return 1
	})
	_, err := tx.InsertNew(ctx, x.Name+"_list_value (token, team, facet, value)", "token", values)
	return err
}

// Put adds rows, or replaces what the index knows of them. Rows that are as they were cost a
// look each; of two rows of one number the last counts.
func (x *Index) Put(ctx context.Context, tx *db.Tx, team string, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	t, err := makeTeam(ctx, tx, team)
	if err != nil {
		return err
	}
	keys, last := make([]int64, len(rows)), map[int64]int{}
	for i, row := range rows {
		keys[i] = keyOf(t, row.No)
		last[row.No] = i
	}
	had, err := x.entries(ctx, tx, keys)
	if err != nil {
		return err
	}
	var old []int64
	var fresh []Row
	for i, row := range rows {
		was, there := had[keys[i]]
		if entry, _ := entryOf(t, row); there && was == entry || last[row.No] != i {
			continue
		}
		if there {
			old = append(old, keys[i])
		}
		fresh = append(fresh, row)
	}
	if err := x.remove(ctx, tx, t, old); err != nil || len(fresh) == 0 {
		return err
	}
	return x.add(ctx, tx, t, fresh)
}

// Delete takes rows out. Those that are not there do no harm.
func (x *Index) Delete(ctx context.Context, tx *db.Tx, team string, numbers []int64) error {
	t, err := teamNo(ctx, tx, team)
	if err != nil || t == 0 {
		return err
	}
	for part := range slices.Chunk(numbers, limits.few) {
		keys := make([]int64, len(part))
		for i, no := range part {
			keys[i] = keyOf(t, no)
		}
		if err := x.remove(ctx, tx, t, keys); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) remove(ctx context.Context, tx *db.Tx, team int64, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	cond, arg := among("key", tx, keys)
	gone, err := tx.Exec(ctx, `DELETE FROM `+x.Name+`_list WHERE `+cond, arg)
	if err != nil {
		return err
	}
	if !tx.Dialect().HasArrays() {
		cond, arg = among("rowid", tx, keys)
		if _, err := tx.Exec(ctx, `DELETE FROM `+x.Name+`_list_token WHERE `+cond, arg); err != nil {
			return err
		}
	}
	return x.count(ctx, tx, team, -gone)
}

// count keeps the number of a team's rows.
func (x *Index) count(ctx context.Context, tx *db.Tx, team, more int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO `+x.Name+`_list_total AS t (team, total) VALUES (?, ?)
		ON CONFLICT (team) DO UPDATE SET total = t.total + excluded.total`, team, more)
	return err
}

// Backfill brings rows in that were written before the list had its index. read gives rows of
// the service's table behind a team and number, in the order of both, at most some thousand;
// none: all were given. It goes on where another process or an earlier start ended.
func (x *Index) Backfill(ctx context.Context, d *db.DB, read ReadRows) error {
	return x.BackfillAs(ctx, d, x.Name, read)
}

// ReadRows gives rows of a service's table behind a team and number.
type ReadRows func(ctx context.Context, tx *db.Tx, team string, no int64) ([]TeamRow, error)

// BackfillAs is Backfill once more, under a name of its own, for rows whose entries a later version changes.
func (x *Index) BackfillAs(ctx context.Context, d *db.DB, name string, read ReadRows) error {
	_, err := d.Exec(ctx, `INSERT INTO list_backfill (name, team_id, no, is_done) VALUES (?, '', 0, FALSE)
		ON CONFLICT (name) DO NOTHING`, name)
	for done := false; err == nil && !done; {
		err = d.Tx(ctx, func(tx *db.Tx) (err error) {
			done, err = x.backfillSome(ctx, tx, name, read)
			return err
		})
	}
	return err
}

// TeamRow is a row of a team.
type TeamRow struct {
	Team string
	Row
}

func (x *Index) backfillSome(ctx context.Context, tx *db.Tx, name string, read ReadRows) (done bool, err error) {
	var team string
	var no int64
	err = tx.QueryRow(ctx, `SELECT team_id, no, is_done FROM list_backfill WHERE name = ?`+tx.Dialect().ForUpdate(),
		name).
		Scan(&team, &no, &done)
	if err != nil || done {
		return done, err
	}
	rows, err := read(ctx, tx, team, no)
	if err != nil {
		return false, err
	}
	for len(rows) > 0 {
		team = rows[0].Team
		var its []Row
		for len(rows) > 0 && rows[0].Team == team {
			its, no, rows = append(its, rows[0].Row), rows[0].No, rows[1:]
		}
		if err := x.Put(ctx, tx, team, its); err != nil {
			return false, err
		}
	}
	return noteBackfill(ctx, tx, name, team, no)
}

// noteBackfill notes how far it came: a part that moved nothing was the last.
func noteBackfill(ctx context.Context, tx *db.Tx, name, team string, no int64) (done bool, err error) {
	moved, err := tx.Exec(ctx, `UPDATE list_backfill SET team_id = ?, no = ? WHERE name = ? AND (team_id <> ? OR no <> ?)`,
		team, no, name, team, no)
	if err != nil || moved > 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE list_backfill SET is_done = TRUE WHERE name = ?`, name)
	return true, err
}

// makeTeam is teamNo; a team without rows gets a number.
func makeTeam(ctx context.Context, tx *db.Tx, team string) (int64, error) {
	no, err := teamNo(ctx, tx, team)
	if err != nil || no > 0 {
		return no, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO list_team (team_id) VALUES (?) ON CONFLICT (team_id) DO NOTHING`,
		team); err != nil {
		return 0, err
	}
	return teamNo(ctx, tx, team)
}

// everything is a facet that each row has, for filters that are only negative.
const everything = ""

// entryOf is what is stored of a row, and its tokens: of each value, and of everything.
func entryOf(team int64, row Row) (entry string, tokens []int64) {
	for _, v := range row.Values {
		tokens = append(tokens, token(team, v.Facet, clean(v.Value)))
	}
	return textOf(row), append(tokens, token(team, everything, ""))
}

// textOf is the values of a row between line feeds.
func textOf(row Row) string {
	var b strings.Builder
	b.WriteByte('\n')
	for _, v := range row.Values {
		b.WriteString(v.Facet)
		b.WriteByte('=')
		b.WriteString(clean(v.Value))
		b.WriteByte('\n')
	}
	return b.String()
}
