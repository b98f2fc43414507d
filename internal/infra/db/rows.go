package db

import (
	"context"
	"database/sql"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Rows reads the rows of a large result, on PostgreSQL without the copies that database/sql makes of each
// value. Values scanned into *sql.RawBytes are valid until the next row. An error comes last, without a row.
// Stopping early needs no clean-up.
func (d *DB) Rows(ctx context.Context, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		read := d.eachRow
		if d.Dialect.dollar {
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
		rows, err := pg.Query(ctx, d.Dialect.rebind(query), args...)
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

// driverRow is the row that pgx has just read.
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
