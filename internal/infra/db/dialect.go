package db

import (
	"strconv"
	"strings"
)

// Dialect is what differs between the two databases.
type Dialect struct {
	Name      string             // goose's name of the database
	dollar    bool               // binds are $1, $2, …
	jsonType  string             // the column type of a JSON document
	bytesType string             // the column type of raw bytes
	like      string             // case-insensitive LIKE
	find      string             // function that finds a text in another
	forUpdate string             // suffix of a SELECT whose rows are updated in the same Tx
	prepares  bool               // frequent statements are prepared, because the driver would parse them each time
	watch     func(query string) // called with each statement, for tests; may be nil
}

var (
	postgres = Dialect{
		Name: "postgres", dollar: true, jsonType: "JSONB", bytesType: "BYTEA", like: "ILIKE", find: "strpos",
		forUpdate: " FOR UPDATE",
	}
	// TEXT, because JSONB would have numeric affinity: the document 123 would come back as a number.
	sqliteDialect = Dialect{Name: "sqlite3", jsonType: "TEXT", bytesType: "BLOB", like: "LIKE", find: "instr",
		prepares: true}
)

// ForUpdate is the suffix that locks the rows of a SELECT until the end of the transaction; empty where a
// transaction already holds the only write lock.
func (d Dialect) ForUpdate() string { return d.forUpdate }

// Contains is the condition that column contains text, ignoring the case of ASCII letters, and its argument.
func (d Dialect) Contains(column, text string) (cond string, arg any) {
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	return column + " " + d.like + ` ? ESCAPE '\'`, "%" + escape.Replace(Clean(text)) + "%"
}

// Find is the place of a text, the one argument, in a column, counted from 1; 0: it is not there.
func (d Dialect) Find(column string) string { return d.find + "(" + column + ", ?)" }

// Bytewise is a text column to order by its bytes, as SQLite does, whatever the locale of PostgreSQL.
func (d Dialect) Bytewise(column string) string {
	if d.dollar {
		return column + ` COLLATE "C"`
	}
	return column
}

// rebind turns ? into $1, $2, … for PostgreSQL. A ? inside a quoted string or identifier stays.
func (d Dialect) rebind(query string) string {
	if d.watch != nil {
		d.watch(query)
	}
	if !d.dollar || !strings.Contains(query, "?") {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	var quote byte
	for i := range len(query) {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// expand replaces $JSON and $BYTES in a migration by column types.
func (d Dialect) expand(script string) string {
	return strings.NewReplacer("$JSON", d.jsonType, "$BYTES", d.bytesType).Replace(d.expandTexts(d.expandLists(script)))
}
