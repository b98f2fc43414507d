package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Clean makes text that both databases store alike: NUL and invalid UTF-8, which PostgreSQL refuses in
// TEXT, become U+FFFD. Raw bytes need a $BYTES column.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Time is a point in time as a column: microseconds since 1970 in a BIGINT; NULL is the zero time.
type Time struct{ time.Time }

// At is the column value of t, truncated to microseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UnixMicro(), nil
}

// Scan implements sql.Scanner.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		t.Time = time.Time{}
	case int64:
		t.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("db.Time: cannot read %T", src)
	}
	return nil
}

// Ptr is nil for the zero time, for an optional JSON field.
func (t Time) Ptr() *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

// JSON is a document as a $JSON column; NULL is the zero value of T.
type JSON[T any] struct{ V T }

// Doc is the column value of v.
func Doc[T any](v T) JSON[T] { return JSON[T]{v} }

// Value implements driver.Valuer.
func (j JSON[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(j.V)
	if err != nil {
		return nil, err
	}
	return withoutNUL(string(b)), nil
}

// withoutNUL replaces the escape of NUL, which JSONB refuses, by U+FFFD. An escaped backslash before the
// letters u0000 is not that escape.
func withoutNUL(doc string) string {
	const escape = `\u0000`
	if !strings.Contains(doc, escape) {
		return doc
	}
	return strings.NewReplacer(`\\`, `\\`, escape, "\uFFFD").Replace(doc)
}

// Scan implements sql.Scanner.
func (j *JSON[T]) Scan(src any) error {
	var zero T
	j.V = zero
	return scanJSON(src, &j.V)
}

func scanJSON(src, dest any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), dest)
	case []byte:
		return json.Unmarshal(v, dest)
	default:
		return fmt.Errorf("db.JSON: cannot read %T", src)
	}
}

// Into scans a column into dest: a Time into a *time.Time or (nil for NULL) a **time.Time, and a JSON document
// into anything else. NULL leaves that as it is.
func Into(dest any) sql.Scanner { return into{dest} }

type into struct{ dest any }

// Scan implements sql.Scanner.
func (i into) Scan(src any) error {
	var t Time
	switch dest := i.dest.(type) {
	case *time.Time:
		err := t.Scan(src)
		*dest = t.Time
		return err
	case **time.Time:
		err := t.Scan(src)
		*dest = t.Ptr()
		return err
	}
	return scanJSON(src, i.dest)
}

// Where collects the conditions of a query with their values.
type Where struct {
	conds []string
	Args  []any
}

// And adds a condition.
func (w *Where) And(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.Args = append(w.Args, args...)
}

// In adds "column is one of values"; no values match nothing.
func In[T any](w *Where, column string, values []T) {
	if len(values) == 0 {
		w.And("1 = 0")
		return
	}
	w.And(column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")")
	w.Args = append(w.Args, Anys(values)...)
}

// Anys are values as the arguments of a query.
func Anys[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// InTeam is the condition for rows of a team that have one of the values.
func InTeam[T any](teamID, column string, values []T) (w Where) {
	w.And("team_id = ?", teamID)
	In(&w, column, values)
	return w
}

// ByUnique is InTeam for a column whose values are unique among all teams. SQLite, which has no statistics here, takes
// the rows of a team for ten, and would walk them all rather than look up more values than that: the condition on the
// team is written so that no index serves it.
func ByUnique[T any](teamID, column string, values []T) (w Where) {
	In(&w, column, values)
	w.And("team_id || '' = ?", teamID)
	return w
}

// Equal adds "column is value", unless value is the zero value: for a filter that was not set.
func Equal[T comparable](w *Where, column string, value T) {
	var zero T
	if value != zero {
		w.And(column+" = ?", value)
	}
}

// String is the WHERE clause with a leading space; empty without conditions.
func (w *Where) String() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// OrderBy is the ORDER BY clause of sorts, with the unique column tie last, so that pages never overlap.
func OrderBy(sorts []page.Sort, tie string) string {
	var b strings.Builder
	b.WriteString(" ORDER BY ")
	for _, s := range sorts {
		b.WriteString(s.Column)
		if s.Desc {
			b.WriteString(" DESC")
		}
		b.WriteString(", ")
	}
	return b.String() + tie
}

// Limit is the LIMIT clause of a page; its values follow all others.
func Limit(w page.Window) (clause string, args []any) {
	return " LIMIT ? OFFSET ?", []any{w.Limit, w.Offset}
}

// Row is one row to scan, of QueryRow or of Rows.
type Row interface{ Scan(dest ...any) error }

// Collect reads all rows with scan and closes them. Without an error the result is never nil: an empty
// list is [] in JSON.
func Collect[T any](rows *sql.Rows, err error, scan func(Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Select runs a query and reads all rows with scan, as Collect does.
func Select[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	return Collect(rows, err, scan)
}

// Each runs a query and calls do with each row.
func Each(ctx context.Context, q Querier, do func(Row) error, query string, args ...any) error {
	_, err := Select(ctx, q, func(r Row) (struct{}, error) { return struct{}{}, do(r) }, query, args...)
	return err
}

// Page reads a page of the rows that query and where pick, in an order, and counts in the tables of from how many where
// picks in all. The rows and their number are of one moment.
func Page[T any](
	ctx context.Context, d *DB, scan func(Row) (T, error), query, from string, where Where, order string, w page.Window,
) (rows []T, total int, err error) {
	err = d.Snapshot(ctx, func(q Querier) error {
		if total, err = Value[int](ctx, q, "SELECT count(*) FROM "+from+where.String(), where.Args...); err != nil {
			return err
		}
		limit, args := Limit(w)
		rows, err = Select(ctx, q, scan, query+where.String()+order+limit, slices.Concat(where.Args, args)...)
		return err
	})
	return rows, total, err
}

// Value reads one row of one column.
func Value[T any](ctx context.Context, q Querier, query string, args ...any) (T, error) {
	return scanValue[T](q.QueryRow(ctx, query, args...))
}

// Values reads all rows of one column.
func Values[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return Select(ctx, q, scanValue[T], query, args...)
}

func scanValue[T any](row Row) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// ExecOr runs a statement, and returns none when no row was affected.
func ExecOr(ctx context.Context, q Querier, none error, query string, args ...any) error {
	n, err := q.Exec(ctx, query, args...)
	if err == nil && n == 0 {
		return none
	}
	return err
}

// OrMissing is err, but errs.Missing(what) where QueryRow found no row.
func OrMissing(err error, what string) error {
	if IsNoRows(err) {
		return errs.Missing(what)
	}
	return err
}

// InOrder sorts rows into the order of keys.
func InOrder[T any, K comparable](rows []T, keys []K, key func(T) K) []T {
	at := make(map[K]int, len(keys))
	for i, k := range keys {
		at[k] = i
	}
	slices.SortFunc(rows, func(a, b T) int { return at[key(a)] - at[key(b)] })
	return rows
}
