package db

import (
	"regexp"
	"strings"
)

// The tables of package list, one text a dialect. A migration says $LISTS once, and for each
// list $LIST(name), or $NOLIST(name) to drop it. Package list describes them.
const (
	teamsOfLists = `
CREATE TABLE list_team (no $SERIAL, team_id TEXT NOT NULL UNIQUE);
CREATE TABLE list_backfill (name TEXT PRIMARY KEY, team_id TEXT NOT NULL, no BIGINT NOT NULL, is_done BOOLEAN NOT NULL);`

	// PostgreSQL's own pg_trgm would be faster to write, but not every server has it.
	gramsFunction = `
-- +goose StatementBegin
CREATE FUNCTION list_grams(value TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT coalesce(array_agg(DISTINCT substr(value, i, 3)), '{}') FROM generate_series(1, length(value) - 2) AS i $$;
-- +goose StatementEnd`

	commonTables = `
CREATE TABLE NAME_list_total (team BIGINT PRIMARY KEY, total BIGINT NOT NULL);
CREATE TABLE NAME_list_value (token BIGINT PRIMARY KEY, team BIGINT NOT NULL, facet TEXT NOT NULL, value TEXT NOT NULL);
CREATE INDEX NAME_list_value_of ON NAME_list_value (team, facet);`

	sqliteTables = commonTables + `
CREATE TABLE NAME_list (key INTEGER PRIMARY KEY, entry TEXT NOT NULL);
CREATE VIRTUAL TABLE NAME_list_token USING fts5(tokens, content='', contentless_delete=1, detail=none, tokenize=ascii);
CREATE VIRTUAL TABLE NAME_list_gram USING fts5(value, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
-- +goose StatementBegin
CREATE TRIGGER NAME_list_value_new AFTER INSERT ON NAME_list_value BEGIN
	INSERT INTO NAME_list_gram (rowid, value) VALUES (new.token, new.value);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER NAME_list_value_old AFTER DELETE ON NAME_list_value BEGIN
	DELETE FROM NAME_list_gram WHERE rowid = old.token;
END;
-- +goose StatementEnd`

	postgresTables = commonTables + `
CREATE TABLE NAME_list (key BIGINT PRIMARY KEY, entry TEXT NOT NULL, tokens BIGINT[] NOT NULL);
CREATE INDEX NAME_list_token ON NAME_list USING gin (tokens);
CREATE INDEX NAME_list_gram ON NAME_list_value USING gin (list_grams(value));`

	noTables = `
DROP TABLE NAME_list_value;
DROP TABLE NAME_list_total;
DROP TABLE NAME_list;`
)

// The tables of package fulltext. A migration says $TEXT(name OF table), or $NOTEXT(name OF table) to drop it.
const (
	sqliteText = `
CREATE VIRTUAL TABLE NAME_text USING fts5(body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
-- +goose StatementBegin
CREATE TRIGGER NAME_text_old AFTER DELETE ON TABLE BEGIN
	DELETE FROM NAME_text WHERE rowid = old.no;
END;
-- +goose StatementEnd`
	sqliteNoText = `
DROP TRIGGER NAME_text_old;
DROP TABLE NAME_text;`
	postgresText = `
CREATE TABLE NAME_text (rowid BIGINT PRIMARY KEY REFERENCES TABLE (no) ON DELETE CASCADE, body TSVECTOR NOT NULL);
CREATE INDEX NAME_text_body ON NAME_text USING gin (body);`
	postgresNoText = `
DROP TABLE NAME_text;`
)

var textWord = regexp.MustCompile(`\$(TEXT|NOTEXT)\((\w+) OF (\w+)\)`)

// expandTexts puts in the tables of package fulltext.
func (d Dialect) expandTexts(script string) string {
	with, without := sqliteText, sqliteNoText
	if d.HasArrays() {
		with, without = postgresText, postgresNoText
	}
	return textWord.ReplaceAllStringFunc(script, func(word string) string {
		parts := textWord.FindStringSubmatch(word)
		text := with
		if parts[1] == "NOTEXT" {
			text = without
		}
		text = strings.ReplaceAll(text, "ON TABLE", "ON "+parts[3])
		return strings.ReplaceAll(strings.ReplaceAll(text, "REFERENCES TABLE", "REFERENCES "+parts[3]), "NAME", parts[2])
	})
}

// HasArrays reports whether a column can hold an array with an inverted index over it
// (PostgreSQL); without, an FTS5 table stands beside it (SQLite). Only the packages list and fulltext ask.
func (d Dialect) HasArrays() bool { return d.dollar }

// Position is where a column has the text of the next argument first; 0: nowhere.
func (d Dialect) Position(column string) string {
	if d.HasArrays() {
		return "strpos(" + column + ", ?)"
	}
	return "instr(" + column + ", ?)"
}

var listWord = regexp.MustCompile(`\$(LIST|NOLIST)\((\w+)\)`)

// ListTables is the script that makes the tables of a list, as $LIST(name) does in a
// migration: for tests of package list, which has no migration of its own.
func (d Dialect) ListTables(name string) string {
	if d.HasArrays() {
		return strings.ReplaceAll(postgresTables, "NAME", name)
	}
	return strings.ReplaceAll(sqliteTables, "NAME", name)
}

// expandLists puts in the tables of lists.
func (d Dialect) expandLists(script string) string {
	serial, function, drop := "INTEGER PRIMARY KEY", "", noTables+`
DROP TABLE NAME_list_token;
DROP TABLE NAME_list_gram;`
	if d.HasArrays() {
		serial, function, drop = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", gramsFunction, noTables
	}
	script = strings.ReplaceAll(script, "$LISTS", strings.ReplaceAll(teamsOfLists, "$SERIAL", serial)+function)
	return listWord.ReplaceAllStringFunc(script, func(word string) string {
		parts := listWord.FindStringSubmatch(word)
		if parts[1] == "LIST" {
			return d.ListTables(parts[2])
		}
		return strings.ReplaceAll(drop, "NAME", parts[2])
	})
}
