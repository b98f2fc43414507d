package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// A dump of PostgreSQL has for each table TABLE/columns.json and then TABLE/000001.copy and so on, which are texts of
// COPY, each of whole rows; at last sequences.json.
const (
	columnsName   = "columns.json"
	sequencesName = "sequences.json"
	copyChunk     = 4 << 20 // bytes of rows in one file; more if a row is larger
)

// migrators are the tables that migrations keep for themselves.
var migrators = []string{goose.DefaultTablename, "river_migration"}

type sequence struct {
	Name   string `json:"name"`
	Last   int64  `json:"last"`
	Called bool   `json:"called"`
}

func (d *DB) dumpPostgres(ctx context.Context, began func() error, add AddFile) error {
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // there is nothing to commit
	// The first query fixes the moment. Between two statements a slow disk may keep us waiting.
	if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	tables, err := columnsOf(ctx, tx)
	if err != nil {
		return err
	}
	if err := began(); err != nil {
		return err
	}
	for _, t := range tables {
		text, err := json.Marshal(t.columns)
		if err != nil {
			return err
		}
		if err := addBytes(add, path.Join(t.name, columnsName), text); err != nil {
			return err
		}
		rows := &copyWriter{add: add, table: t.name}
		err = conn.Raw(func(driver any) error {
			pg := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // its own driver, as open says
			_, err := pg.PgConn().CopyTo(ctx, rows, "COPY "+copied(t.name, t.columns)+" TO STDOUT")
			return err
		})
		if err == nil {
			err = rows.flush(len(rows.text))
		}
		if err != nil {
			return fmt.Errorf("copying table %s: %w", t.name, err)
		}
	}
	sequences, err := readSequences(ctx, tx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sequences)
	if err != nil {
		return err
	}
	return addBytes(add, sequencesName, text)
}

func addBytes(add AddFile, name string, text []byte) error {
	w, err := add(name, int64(len(text)))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func copied(table string, columns []string) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = pgx.Identifier{column}.Sanitize()
	}
	return pgx.Identifier{table}.Sanitize() + " (" + strings.Join(names, ", ") + ")"
}

type tableColumns struct {
	name    string
	columns []string
}

// columnsOf lists the tables and those of their columns that are not computed. Tables that a crash may empty, such as
// River's leader, hold nothing to keep.
func columnsOf(ctx context.Context, tx *sql.Tx) (tables []tableColumns, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.relnamespace = current_schema()::regnamespace
		AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
		AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY c.relname, a.attnum`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		if slices.Contains(migrators, table) {
			continue
		}
		if len(tables) == 0 || tables[len(tables)-1].name != table {
			tables = append(tables, tableColumns{name: table})
		}
		last := &tables[len(tables)-1]
		last.columns = append(last.columns, column)
	}
	return tables, rows.Err()
}

func readSequences(ctx context.Context, tx *sql.Tx) (all []sequence, err error) {
	names, err := texts(ctx, tx, `SELECT c.relname FROM pg_class c WHERE c.relkind = 'S'
		AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname`)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s := sequence{Name: name}
		query := "SELECT last_value, is_called FROM " + pgx.Identifier{name}.Sanitize()
		if err := tx.QueryRowContext(ctx, query).Scan(&s.Last, &s.Called); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// texts are the rows of a query with one column.
func texts(ctx context.Context, tx *sql.Tx, query string) (all []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// copyWriter cuts the text of a COPY into files of whole rows.
type copyWriter struct {
	add   AddFile
	table string
	text  []byte
	files int
}

func (w *copyWriter) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	if len(w.text) >= copyChunk {
		if end := bytes.LastIndexByte(w.text, '\n') + 1; end > 0 { // a newline in a value is written as \n
			return len(p), w.flush(end)
		}
	}
	return len(p), nil
}

func (w *copyWriter) flush(n int) error {
	if n == 0 {
		return nil
	}
	w.files++
	if err := addBytes(w.add, fmt.Sprintf("%s/%06d.copy", w.table, w.files), w.text[:n]); err != nil {
		return err
	}
	w.text = append(w.text[:0], w.text[n:]...)
	return nil
}

// usedPostgres looks for other clients and for users in the schema. Tables of something else are an error.
func (r *Restoration) usedPostgres(ctx context.Context) (used bool, err error) {
	d, err := OpenExisting(ctx, r.config)
	if err != nil {
		return false, err
	}
	defer d.Close()
	if err := d.alone(ctx); err != nil {
		return true, err
	}
	tables, err := d.tables(ctx)
	if err != nil || len(tables) == 0 {
		return false, err
	}
	if !slices.Contains(tables, goose.DefaultTablename) {
		return true, fmt.Errorf("the database has tables of something else, such as %s: create an empty one", tables[0])
	}
	if !slices.Contains(tables, "user_account") {
		return false, nil
	}
	err = d.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM user_account)`).Scan(&used)
	return used, err
}

// leaving is how long a process that has just ended may still be listed as a client.
const leaving = 5 * time.Second

// alone waits a while until no other client has the database open, and returns ErrInUse if one still has.
func (d *DB) alone(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(leaving); ; {
		var others int
		if err := d.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others); err != nil {
			return err
		}
		switch {
		case others == 0:
			return nil
		case time.Now().After(deadline):
			return ErrInUse
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *Restoration) finishPostgres(ctx context.Context, steps Steps) error {
	d, err := OpenExisting(ctx, r.config)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := steps.Begin(); err != nil {
		return err
	}
	if err := d.dropAll(ctx); err != nil {
		return fmt.Errorf("removing the old tables: %w", err)
	}
	provider, err := d.migrator()
	if err != nil {
		return err
	}
	for _, version := range r.schema.Versions {
		if _, err := provider.ApplyVersion(ctx, version, true); err != nil {
			return fmt.Errorf("making the tables of the backup: %w", err)
		}
	}
	if err := steps.Queued(ctx, d); err != nil {
		return fmt.Errorf("making the tables of the queue: %w", err)
	}
	err = d.Tx(ctx, func(tx *Tx) error {
		if err := tx.load(ctx, steps.Again); err != nil {
			return err
		}
		return steps.Ready()
	})
	if err != nil {
		return err
	}
	return d.migrate(ctx, false)
}

// dropAll removes the tables, functions and types of the schema, other than those of extensions.
func (d *DB) dropAll(ctx context.Context) error {
	const ours = ` = current_schema()::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = `
	return d.Tx(ctx, func(tx *Tx) error {
		if _, err := tx.SQL.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '%dms'`, dropTimeout.Milliseconds())); err != nil {
			return err
		}
		for _, query := range []string{
			`SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace` +
				ours + `pg_class.oid AND deptype = 'e')`,
			`SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc WHERE pronamespace` +
				ours + `pg_proc.oid AND deptype = 'e')`,
			`SELECT format('DROP TYPE IF EXISTS %s CASCADE', oid::regtype) FROM pg_type WHERE typtype = 'e' AND typnamespace` +
				ours + `pg_type.oid AND deptype = 'e')`,
		} {
			statements, err := texts(ctx, tx.SQL, query)
			if err != nil {
				return err
			}
			for _, statement := range statements {
				if _, err := tx.SQL.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// load replaces the rows of all tables by those of a dump. References between tables are taken away meanwhile, because
// a row may come before the one that it names, and are checked when they are put back.
func (t *Tx) load(ctx context.Context, next NextFile) error {
	if _, err := t.SQL.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	const references = ` FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`
	drop, err := texts(ctx, t.SQL, `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)`+references)
	if err != nil {
		return err
	}
	put, err := texts(ctx, t.SQL, `SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
		pg_get_constraintdef(oid))`+references)
	if err != nil {
		return err
	}
	for _, statement := range drop {
		if _, err := t.SQL.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := t.loadFiles(ctx, next); err != nil {
		return err
	}
	for _, statement := range put {
		if _, err := t.SQL.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("the rows do not belong together: %w", err)
		}
	}
	return nil
}

var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func (t *Tx) loadFiles(ctx context.Context, next NextFile) error {
	into, current := "", ""
	for {
		name, content, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		table, part := path.Split(name)
		table = strings.TrimSuffix(table, "/")
		switch {
		case name == sequencesName:
			err = t.loadSequences(ctx, content)
		case part == columnsName && tableName.MatchString(table):
			var columns []string
			if err = json.NewDecoder(content).Decode(&columns); err == nil {
				into, current = copied(table, columns), table
				_, err = t.SQL.ExecContext(ctx, "DELETE FROM "+pgx.Identifier{table}.Sanitize()) //nolint:gosec // a name of ours
			}
		case table == current && current != "" && strings.HasSuffix(part, ".copy"):
			err = t.Conn.Raw(func(driver any) error {
				pg := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // its own driver, as open says
				_, err := pg.PgConn().CopyFrom(ctx, content, "COPY "+into+" FROM STDIN")
				return err
			})
		default:
			err = errors.New("it is not known")
		}
		if err != nil {
			return fmt.Errorf("%.80s of the backup: %w", name, err)
		}
	}
}

func (t *Tx) loadSequences(ctx context.Context, content io.Reader) error {
	var all []sequence
	if err := json.NewDecoder(content).Decode(&all); err != nil {
		return err
	}
	for _, s := range all {
		if _, err := t.SQL.ExecContext(ctx, `SELECT setval(format('%I', $1::text)::regclass, $2, $3)`, s.Name, s.Last,
			s.Called); err != nil {
			return err
		}
	}
	return nil
}
