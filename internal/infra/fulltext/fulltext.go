// Package fulltext finds rows by the words of their texts, those that fit best first. It knows no noun of the product.
//
// A service keeps rows in a table with a number "no", and $TEXT(thing OF table) in a migration makes the index beside
// it: an FTS5 table without content, ranked by bm25, on SQLite; a column of type tsvector with a GIN index, ranked by
// ts_rank_cd, on PostgreSQL. What is deleted from the table leaves the index by itself. Both see the same words, which
// Words makes.
package fulltext

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Index is one index: Name is the one in the migration, Table that of the rows.
type Index struct{ Name, Table string }

const (
	maxWord  = 40 // bytes of a word that count
	maxAsked = 32 // words of a query
)

// Words are the words of a text: runs of letters and digits, in lower case.
func Words(text string) []string {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	out := strings.FieldsFunc(strings.ToLower(db.Clean(text)), between)
	for i, word := range out {
		if len(word) > maxWord {
			out[i] = strings.ToValidUTF8(word[:maxWord], "")
		}
	}
	return out
}

// Add adds the texts of new rows, by their numbers.
func (x Index) Add(ctx context.Context, tx *db.Tx, texts map[int64]string) error {
	value := "?"
	if tx.Dialect().HasArrays() {
		value = "to_tsvector('simple', ?)"
	}
	numbers := make([]int64, 0, len(texts))
	for no := range texts {
		numbers = append(numbers, no)
	}
	slices.Sort(numbers)
	for _, no := range numbers {
		_, err := tx.Exec(ctx, `INSERT INTO `+x.Name+`_text (rowid, body) VALUES (?, `+value+`)`, no,
			strings.Join(Words(texts[no]), " "))
		if err != nil {
			return err
		}
	}
	return nil
}

// Search is the numbers of the rows whose texts have a word of a query, among those that a condition on the table
// (called t) picks: the best first, at most limit.
func (x Index) Search(ctx context.Context, d *db.DB, query, where string, args []any, limit int) ([]int64, error) {
	words := Words(query)
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 0 {
		return nil, nil
	}
	words = words[:min(len(words), maxAsked)]
	text, quote, or := x.Name+"_text", `"`, " OR "
	match, rank := text+" MATCH ?", "bm25("+text+")"
	if d.Dialect().HasArrays() {
		quote, or = "'", " | "
		match, rank = text+".body @@ to_tsquery('simple', ?)", "-ts_rank_cd("+text+".body, to_tsquery('simple', ?))"
	}
	asked := quote + strings.Join(words, quote+or+quote) + quote
	all := append([]any{asked}, args...)
	if d.Dialect().HasArrays() {
		all = append(all, asked)
	}
	return db.Values[int64](ctx, d, `SELECT t.no FROM `+text+` JOIN `+x.Table+` t ON t.no = `+text+`.rowid WHERE `+match+
		` AND `+where+` ORDER BY `+rank+`, t.no LIMIT ?`, append(all, limit)...)
}
