package db

import (
	"strconv"
	"strings"
)

// Dialect is everything the two engines spell differently.
type Dialect struct {
	Name      string // goose's word for the engine
	dollar    bool   // binds are $1, $2, …
	jsonType  string // the column type of a JSON document
	bytesType string // the column type of raw bytes
	like      string // LIKE without regard to case
	forUpdate string // behind a SELECT whose rows will be updated in the same Tx
	prepares  bool   // a text that comes again is prepared: the driver would parse it each time
}

var (
	postgres = Dialect{Name: "postgres", dollar: true, jsonType: "JSONB", bytesType: "BYTEA", like: "ILIKE", forUpdate: " FOR UPDATE"}
	// A JSON column on SQLite is TEXT: under a name such as JSONB it would get numeric
	// affinity, and the document 123 would come back as a number.
	sqliteDialect = Dialect{Name: "sqlite3", jsonType: "TEXT", bytesType: "BLOB", like: "LIKE", prepares: true}
)

// ForUpdate is the suffix that locks the rows of a SELECT until the end of the
// transaction; empty where a transaction already holds the only write lock.
func (d Dialect) ForUpdate() string { return d.forUpdate }

// Contains is the condition that column holds text, whatever the case of ASCII
// letters, and the argument that goes with it.
func (d Dialect) Contains(column, text string) (cond string, arg any) {
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	return column + " " + d.like + ` ? ESCAPE '\'`, "%" + escape.Replace(Clean(text)) + "%"
}

// rebind turns ? into $1, $2, … where the engine wants that. A ? inside a quoted
// string or identifier stays.
func (d Dialect) rebind(query string) string {
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

// expand puts the dialect's words into a migration.
func (d Dialect) expand(script string) string {
	return strings.NewReplacer("$JSON", d.jsonType, "$BYTES", d.bytesType).Replace(d.expandLists(script))
}
