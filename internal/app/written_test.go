package app

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// Tests compare what is in the database before and after thousands of requests, most of which write next to nothing.
// A trigger of each table notes every statement that writes it, in the transaction that does; what was read of a table
// holds until a note of it is found. Notes are taken before the table is read, so that what is written meanwhile is
// found the next time.

// writeWatch finds which tables of a database were written.
type writeWatch struct {
	db    *db.DB
	take  *sql.Stmt      // takes the notes
	count map[string]int // table → how often it was found written; a table that is not here has no trigger
}

// look takes the notes of what was written since.
func (w *writeWatch) look(t testing.TB) {
	t.Helper()
	if w.take == nil {
		w.prepare(t)
	}
	rows, err := w.take.Query()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		w.count[name]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// times is how often one of the tables was found written. While it stays the same from look to look, none of them has
// changed. From the first call with a table on, its writes are noted.
func (w *writeWatch) times(t testing.TB, tables []string) (n int) {
	t.Helper()
	for _, name := range tables {
		if _, known := w.count[name]; !known {
			w.watch(t, name)
		}
		n += w.count[name]
	}
	return n
}

func (w *writeWatch) isSQLite() bool { return w.db.Dialect().Name == "sqlite3" }

func (w *writeWatch) prepare(t testing.TB) {
	t.Helper()
	w.count = map[string]int{}
	w.exec(t, `CREATE TABLE written (name TEXT NOT NULL)`)
	if !w.isSQLite() {
		w.exec(t, `CREATE FUNCTION note_written() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO written VALUES (TG_TABLE_NAME); RETURN NULL; END $$`)
	}
	var err error
	if w.take, err = w.db.Writer().Prepare(`DELETE FROM written RETURNING name`); err != nil {
		t.Fatal(err)
	}
}

// watch has writes of a table noted. On SQLite an INSERT OR REPLACE is an insertion.
func (w *writeWatch) watch(t testing.TB, name string) {
	t.Helper()
	if w.isSQLite() {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			w.exec(t, fmt.Sprintf(`CREATE TRIGGER written_%s_%s AFTER %s ON %s BEGIN INSERT INTO written VALUES ('%s'); END`,
				name, strings.ToLower(event), event, name, name))
		}
	} else {
		w.exec(t, fmt.Sprintf(`CREATE TRIGGER written AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
			EXECUTE FUNCTION note_written()`, name))
	}
	w.count[name] = 0
}

func (w *writeWatch) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := w.db.Writer().Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestWritesAreNoted: each way to write a table is found, for that table alone.
func TestWritesAreNoted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &writeWatch{db: d}
		w.exec(t, `CREATE TABLE parent (id BIGINT PRIMARY KEY, text TEXT NOT NULL)`)
		w.exec(t, `CREATE TABLE child (id BIGINT PRIMARY KEY, parent_id BIGINT NOT NULL REFERENCES parent (id) ON DELETE CASCADE)`)
		times := func() (parent, child int) {
			w.look(t)
			return w.times(t, []string{"parent"}), w.times(t, []string{"child"})
		}
		parent, child := times()
		for _, step := range []struct {
			statement     string
			parent, child bool
		}{
			{`SELECT * FROM parent, child`, false, false},
			{`INSERT INTO parent VALUES (1, 'a'), (2, 'b')`, true, false},
			{`INSERT INTO child VALUES (1, 1), (2, 2)`, false, true},
			{`UPDATE parent SET text = 'c' WHERE id = 1`, true, false},
			{`INSERT INTO parent VALUES (1, 'd') ON CONFLICT (id) DO UPDATE SET text = excluded.text`, true, false},
			{`DELETE FROM child WHERE id = 1`, false, true},
			{`DELETE FROM parent WHERE id = 2`, true, true},
			{`SELECT * FROM child, parent`, false, false},
		} {
			w.exec(t, step.statement)
			p, c := times()
			if (p != parent) != step.parent || (c != child) != step.child {
				t.Errorf("%s: the parent is found written: %v, the child: %v", step.statement, p != parent, c != child)
			}
			parent, child = p, c
		}
		if both := w.times(t, []string{"parent", "child"}); both != parent+child {
			t.Errorf("together %d, want %d and %d", both, parent, child)
		}
	})
}
