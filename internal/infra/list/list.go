// Package list answers lists of rows from an inverted index in the database: filters, text search, orders, pages,
// totals and facets with counts. It knows no noun of the product.
//
// # How it works
//
// A service keeps rows in a table of its own, numbered by team in the order of arrival. For each row it gives this
// package an entry: the values of its facets, such as severity=high and tag=xss, folded to lower case where lists
// shall not regard case. An entry is stored under the key team<<32|number, so that the order of arrival is the order
// of keys. Each value becomes a token, a 64-bit hash of team, facet and value. SQLite keeps tokens in an FTS5 table
// without content or positions, PostgreSQL in a BIGINT[] with a GIN index.
//
// Substrings, wildcards and ranges are conditions on values: those of Searched facets have a table with an index over
// their trigrams, and those that match become tokens. Where they are too many, and for conditions in SQL on the
// service's table, the index narrows as far as it can, and the entries of candidates are checked in Go.
//
// A page in order of arrival walks the postings from the newest key on SQLite. On PostgreSQL, where GIN gives all
// matches at once, the newest entries are checked first; then GIN is asked for a few thousand matches, and where there
// are more, ever larger parts are walked. In another order, few matches are sorted by the database. Of many, a page is
// filled group by group where the order is that of a facet with few values; otherwise the service's index of that
// order is walked: its first rows by their entries, the others by a bit set of what the inverted index finds.
//
// # How a service uses it
//
// See Example for the calls. A migration says $LIST(thing); a package variable describes the
// list:
//
//	var things = list.Index{Name: "thing", Table: "thing", Searched: []string{"host", "name"}}
//
// Code that writes rows calls Add for new ones, Put for changed ones and Delete, in the same
// transaction. Lists build a Filter, call Page, and read the rows of Page.Numbers. Rows from
// before the migration are brought in by Backfill, at the start, before lists are served.
package list

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Index is one list: its tables, from $LIST(Name) in a migration, and the service's table.
type Index struct {
	Name     string   // the prefix of the index's tables
	Table    string   // the service's
	Team     string   // its column with the team; empty: team_id
	Number   string   // its column with the number of arrival; empty: no
	Searched []string // facets whose values Contains and Match look at, or that order a list
}

// Row is what the index knows of a row.
type Row struct {
	No     int64 // in the order of arrival within the team, 0 < No < 1<<32
	Values []Value
}

// Value is a value of a facet. Values are texts of any letters, compared as they are.
type Value struct{ Facet, Value string }

// Order is one field of an order of rows.
type Order struct {
	Column string // of the service's table; there should be an index on (team, Column, number)
	Desc   bool
	// Facet is a Searched facet whose values sort as the column does: with few values, pages
	// come group by group, whatever the filter. Empty: there is none.
	Facet string
}

// Query says what a page shows.
type Query struct {
	Filter Filter // nil: all rows
	Orders []Order
	// Oldest reverses the order of arrival, of a list without Orders.
	Oldest        bool
	From, Before  int64 // numbers from the one on and below the other; 0: no bound
	Offset, Limit int
	WithoutTotal  bool // the page is wanted alone: its Total is how far it reaches, unless that is known
	ExactTotal    bool // the total is counted to the end, however long that takes
}

// Page is a part of a list.
type Page struct {
	Numbers []int64 // of the rows, in order
	Total   int     // of the rows that the filter picks
	// TotalIsEstimate says that there are at least Total, and perhaps more: counting all would take long.
	TotalIsEstimate bool
	// End is above every number that the list could have had. As Before of the pages that
	// follow, it keeps what arrives meanwhile from shifting them, in any order.
	End int64
	// Next, as Before with the offset 0, asks for what follows a page of the newest first; for
	// the oldest first, as From. 0: nothing follows.
	Next int64
}

// limitsOf is up to where a way to answer a list is taken.
type limitsOf struct {
	few       int // matches that are fetched and sorted at once
	known     int // rows that meet one condition whose numbers are fetched
	together  int // tokens that are looked for at once
	values    int // tokens that one condition may become
	looked    int // distinct values that one condition may look at
	groups    int // values of a facet that orders a list group by group
	count     int // rows that a total counts up to in keys or postings
	countRows int // and where PostgreSQL must look at each row
	walkFirst int // entries that are walked before PostgreSQL's index is asked
	walkMost  int // entries that a walk in another order looks at before it enumerates
	// countFor is how long it may take to look at the rows of a total.
	countFor time.Duration
}

// Tests make them so low that few rows use every way.
var limits = limitsOf{few: 5000, known: 20_000, together: 20, values: 2000, looked: 50_000, groups: 100,
	count: 500_000, countRows: 100_000,
	walkFirst: 4000, walkMost: 8000, countFor: 100 * time.Millisecond}

func (x *Index) team() string {
	if x.Team == "" {
		return "team_id"
	}
	return x.Team
}

func (x *Index) number() string {
	if x.Number == "" {
		return "no"
	}
	return x.Number
}

// teamNo is the number of a team in keys; 0: it has no rows.
func teamNo(ctx context.Context, q db.Querier, team string) (no int64, err error) {
	err = q.QueryRow(ctx, `SELECT no FROM list_team WHERE team_id = ?`, team).Scan(&no)
	if db.IsNoRows(err) {
		return 0, nil
	}
	return no, err
}

// token is the hash of a value. An attacker who can name hosts must not be able to make two
// values of one token, so it is a cryptographic one.
func token(team int64, facet, value string) int64 {
	b := make([]byte, 0, 128)
	b = binary.BigEndian.AppendUint64(b, uint64(team))
	b = append(append(append(b, facet...), '='), value...)
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// maxValue is how many bytes of a value count: PostgreSQL needs 10 s to cut a value of 100 KB into trigrams.
const maxValue = 1000

// clean makes a value that fits on a line of an entry.
func clean(value string) string {
	return strings.ReplaceAll(db.Clean(value[:min(len(value), maxValue)]), "\n", " ")
}

// keyOf is the key of a row.
func keyOf(team, no int64) int64 { return team<<32 | no }

// noOf is the number of the row with a key.
func noOf(key int64) int64 { return key & (1<<32 - 1) }
