package db

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Rows go to PostgreSQL as an array for each column. A COPY would be faster, but the server does not watch how long it
// waits for the next rows of one: the locks of a process that freezes in a COPY are kept until it goes on or dies. A
// statement is one message, and idle_in_transaction_session_timeout ends a transaction whose next message does not come
// (docs/adr/0128-rows-are-sent-as-arrays.md).

// No statement has more rows or, beyond its first row, more bytes.
const (
	arrayRows  = 250
	arrayBytes = 4 << 20
)

// insertArrays inserts rows of any values that the columns take.
func insertArrays(
	ctx context.Context, pg *pgx.Conn, into, or string, rows [][]any, done func(had int, wrote int64),
) error {
	table, columns, _ := strings.Cut(strings.TrimSuffix(into, ")"), "(")
	about, err := pg.Prepare(ctx, into, "SELECT "+columns+" FROM "+table) // asked once for each connection
	if err != nil {
		return err
	}
	types, values := make([]*pgtype.Type, len(about.Fields)), make([]string, len(about.Fields))
	for i, field := range about.Fields {
		kind, ok := pg.TypeMap().TypeForOID(field.DataTypeOID)
		if !ok {
			return fmt.Errorf("%s: %s has an unknown type", into, field.Name)
		}
		types[i] = kind
		values[i] = fmt.Sprintf("unnest($%d::%s[])", i+1, kind.Name)
		if isArray(kind) { // unnest would take the inner arrays apart as well
			values[i] = fmt.Sprintf("unnest($%d::text[])::%s", i+1, kind.Name)
		}
	}
	text := "INSERT INTO " + into + " SELECT " + strings.Join(values, ", ") + or
	for len(rows) > 0 {
		n := statementRows(rows)
		args, err := arraysOf(pg.TypeMap(), types, rows[:n])
		if err != nil {
			return fmt.Errorf("%s: %w", into, err)
		}
		tag, err := pg.Exec(ctx, text, args...)
		if err != nil {
			return err
		}
		done(n, tag.RowsAffected())
		rows = rows[n:]
	}
	return nil
}

func isArray(kind *pgtype.Type) bool {
	_, is := kind.Codec.(*pgtype.ArrayCodec)
	return is
}

// statementRows is how many of rows, at least one, the next statement takes.
func statementRows(rows [][]any) (n int) {
	size := 0
	for _, row := range rows[:min(len(rows), arrayRows)] {
		for _, value := range row {
			switch v := value.(type) {
			case string:
				size += len(v)
			case []byte:
				size += len(v)
			}
		}
		if n > 0 && size > arrayBytes {
			break
		}
		n++
	}
	return n
}

// arraysOf turns rows into an array for each column.
func arraysOf(types *pgtype.Map, columns []*pgtype.Type, rows [][]any) (arrays []any, err error) {
	for i, kind := range columns {
		array := make(pgtype.FlatArray[any], len(rows))
		for k, row := range rows {
			array[k] = row[i]
			if !isArray(kind) {
				continue
			}
			text, err := types.Encode(kind.OID, pgtype.TextFormatCode, row[i], nil)
			if err != nil {
				return nil, err
			}
			if array[k] = nil; text != nil {
				array[k] = string(text)
			}
		}
		arrays = append(arrays, array)
	}
	return arrays, nil
}
