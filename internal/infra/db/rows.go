package db

import (
	"context"
	"database/sql"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Rows reads the rows of a large result, on PostgreSQL without copying each value. Values scanned into
// *sql.RawBytes are valid until the next row. An error comes last, without a row.
func (d *DB) Rows(ctx context.Context, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		read := d.eachRow
		if d.dialect.dollar {
			read = d.eachDriverRow
		}
		if err := read(ctx, query, args, func(r Row) bool { return yield(r, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (d *DB) eachRow(ctx context.Context, query string, args []any, take func(Row) bool) error {
	rows, err := d.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if !take(rows) {
			return nil
		}
	}
	return rows.Err()
}

func (d *DB) eachDriverRow(ctx context.Context, query string, args []any, take func(Row) bool) error {
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // its own driver, as open says
		rows, err := pg.Query(ctx, d.dialect.rebind(query), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		r := &driverRow{rows: rows}
		for rows.Next() {
			if !take(r) {
				return nil
			}
		}
		return rows.Err()
	})
}

type driverRow struct {
	rows pgx.Rows
	dest []any
}

func (r *driverRow) Scan(dest ...any) error {
	r.dest = r.dest[:0]
	for _, to := range dest {
		if raw, ok := to.(*sql.RawBytes); ok {
			to = (*pgtype.DriverBytes)(raw)
		}
		r.dest = append(r.dest, to)
	}
	return r.rows.Scan(r.dest...)
}

// Insert writes rows into a table with its columns, such as "asset_doc (team_id, no)".
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any) error {
	return t.insert(ctx, into, "", rows, func(int, int64) {})
}

// InsertNew is Insert, but leaves rows unchanged that exist by a unique key. It returns the indices of the
// rows that may have existed: all rows of each statement that wrote fewer than it had.
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

// insert writes rows. done gets after each statement how many rows it had, and how many it wrote.
func (t *Tx) insert(ctx context.Context, into, or string, rows [][]any, done func(had int, wrote int64)) error {
	if len(rows) == 0 {
		return nil
	}
	if !t.dialect.dollar {
		return t.insertEach(ctx, into, or, rows, func(wrote int64) { done(1, wrote) })
	}
	return t.Conn.Raw(func(conn any) error {
		pg := conn.(*stdlib.Conn).Conn() //nolint:forcetypeassert // its own driver, as open says
		return insertArrays(ctx, pg, into, or, rows, done)
	})
}

// insertEach writes rows one by one with a prepared statement: SQLite's driver parses a statement each time,
// and its cost of binding grows with the square of the number of values. done gets 0 or 1 after each row.
func (t *Tx) insertEach(ctx context.Context, into, or string, rows [][]any, done func(wrote int64)) error {
	text := "INSERT INTO " + into + " VALUES (?" + strings.Repeat(", ?", len(rows[0])-1) + ")" + or //nolint:gosec // both are constants
	statement, err := t.SQL.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	defer statement.Close()
	short := context.WithoutCancel(ctx) // watching ctx costs more than such a short statement
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		wrote, err := affected(statement.ExecContext(short, row...))
		if err != nil {
			return err
		}
		done(wrote)
	}
	return nil
}
