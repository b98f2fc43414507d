package dbtest

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// SQLite has no statistics here, and takes the rows of a team for ten: for an order, or for an index with all columns,
// it would rather walk those than look up what a statement names, a million rows instead of a few. So each statement
// that the tests run on SQLite is explained once, with long lists, and a test fails whose statement names rows of a
// large table and walks the team's.

// statements are those that tests ran: true once they were explained.
var statements sync.Map

func watch(query string) {
	if !strings.HasPrefix(query, explain) {
		statements.LoadOrStore(query, false)
	}
}

const explain = "EXPLAIN QUERY PLAN "

var (
	namesRows = regexp.MustCompile(`\b(no|id|hash|host|weakness|operation) (= \?|IN \(\?)|\(team_id, no\) IN`)
	isList    = regexp.MustCompile(`LIMIT \? OFFSET \?`) // of the API: benchmarks of their own measure them
	oneList   = regexp.MustCompile(`IN \(\?(, ?\?)*\)`)
	walks     = regexp.MustCompile(`^(SCAN (finding|finding_change|asset)\b|` +
		`SEARCH .*INDEX (sqlite_autoindex_)?(finding|finding_change|asset)_[a-z0-9]+ \(team_id=\?\)$)`)
)

// checkPlans explains the statements that were not explained yet.
func checkPlans(t testing.TB, d *db.DB) {
	if d.Dialect().Name != "sqlite3" {
		return
	}
	statements.Range(func(query, explained any) bool {
		text := query.(string) // watch stores strings alone
		if explained != false || !statements.CompareAndSwap(query, false, true) || !namesRows.MatchString(text) ||
			isList.MatchString(text) {
			return true
		}
		for _, step := range plan(d, oneList.ReplaceAllString(text, "IN (?"+strings.Repeat(", ?", 249)+")")) {
			if walks.MatchString(step) {
				t.Errorf("A statement names rows, but SQLite walks all of the team (%s):\n%s", step, text)
			}
		}
		return true
	})
}

// plan are the steps of a statement; none for what cannot be explained, such as a script.
func plan(d *db.DB, query string) []string {
	args := make([]any, strings.Count(query, "?"))
	steps, _ := db.Select(context.Background(), d, func(r db.Row) (step string, err error) {
		var id, parent, unused int
		return step, r.Scan(&id, &parent, &unused, &step)
	}, explain+query, args...)
	return steps
}
