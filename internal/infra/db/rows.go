package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"iter"
	"slices"
	"strconv"
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

// Insert writes rows into a table with its columns, such as "asset_doc (team_id, no)". PostgreSQL gets them as
// a COPY.
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if !t.dialect.dollar {
		return t.insertEach(ctx, into, "", rows, func(int64) {})
	}
	table, columns, _ := strings.Cut(strings.TrimSuffix(into, ")"), "(")
	names := strings.Split(columns, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return t.Conn.Raw(func(conn any) error {
		pg := conn.(*stdlib.Conn).Conn() //nolint:forcetypeassert // its own driver, as open says
		_, err := pg.CopyFrom(ctx, pgx.Identifier{strings.TrimSpace(table)}, names, pgx.CopyFromRows(rows))
		return err
	})
}

// InsertNew is Insert, but leaves rows unchanged that exist by a unique key. It returns the indices of the
// rows that may have existed: all rows of each statement that wrote fewer than it had. A value is a string, an
// integer, a boolean, bytes, or a driver.Valuer of one of these.
func (t *Tx) InsertNew(ctx context.Context, into, key string, rows [][]any) (perhaps []int, err error) {
	or := " ON CONFLICT (" + key + ") DO NOTHING"
	at := 0
	done := func(had int, wrote int64) {
		for i := range had {
			if wrote < int64(had) {
				perhaps = append(perhaps, at+i)
			}
		}
		at += had
	}
	if !t.dialect.dollar {
		err = t.insertEach(ctx, into, or, rows, func(wrote int64) { done(1, wrote) })
		return perhaps, err
	}
	for part := range slices.Chunk(rows, rowsAtOnce) {
		text, columns, err := unnested(into, or, part)
		if err != nil {
			return nil, err
		}
		wrote, err := affected(t.SQL.ExecContext(ctx, text, columns...))
		if err != nil {
			return nil, err
		}
		done(len(part), wrote)
	}
	return perhaps, nil
}

const rowsAtOnce = 250 // per statement on PostgreSQL

// unnested is an INSERT with one array parameter per column: one text for any number of rows.
func unnested(into, or string, rows [][]any) (text string, columns []any, err error) {
	arrays := make([]string, len(rows[0]))
	columns = make([]any, len(rows[0]))
	for i := range columns {
		var kind string
		if columns[i], kind, err = column(rows, i); err != nil {
			return "", nil, fmt.Errorf("%s: value %d: %w", into, i, err)
		}
		arrays[i] = "$" + strconv.Itoa(i+1) + "::" + kind + "[]"
	}
	//nolint:unqueryvet // a column for each that into names
	return "INSERT INTO " + into + " SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")" + or, columns, nil
}

// column is the i-th value of all rows as a slice, and its PostgreSQL type.
func column(rows [][]any, i int) (values any, kind string, err error) {
	first, err := plain(rows[0][i])
	if err != nil {
		return nil, "", err
	}
	switch first.(type) {
	case string:
		kind = "text"
		values, err = all[string](rows, i)
	case int64:
		kind = "bigint"
		values, err = all[int64](rows, i)
	case bool:
		kind = "boolean"
		values, err = all[bool](rows, i)
	case []byte:
		kind = "bytea"
		values, err = all[[]byte](rows, i)
	default:
		err = fmt.Errorf("unsupported type %T", first)
	}
	return values, kind, err
}

func all[T any](rows [][]any, i int) ([]T, error) {
	out := make([]T, len(rows))
	for k, row := range rows {
		value, err := plain(row[i])
		if err != nil {
			return nil, err
		}
		is, ok := value.(T)
		if !ok {
			return nil, fmt.Errorf("%T among %T", value, is)
		}
		out[k] = is
	}
	return out, nil
}

func plain(value any) (any, error) {
	switch v := value.(type) {
	case string, int64, bool, []byte:
		return v, nil
	case int:
		return int64(v), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(value)
}

// insertEach writes rows one by one with a prepared statement: SQLite's driver parses a statement each time,
// and its cost of binding grows with the square of the number of values. done gets 0 or 1 after each row.
func (t *Tx) insertEach(ctx context.Context, into, or string, rows [][]any, done func(wrote int64)) error {
	if len(rows) == 0 {
		return nil
	}
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
