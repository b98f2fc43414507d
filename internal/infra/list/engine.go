package list

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// What the two databases spell differently: tokens, conditions on them, and how the newest
// rows that meet a condition are found.

// words is tokens as FTS5 splits them.
func words(tokens []int64) string {
	b := make([]byte, 0, 14*len(tokens))
	for _, t := range tokens {
		b = append(strconv.AppendUint(b, uint64(t), 36), ' ')
	}
	return string(b)
}

// among is the condition that a number is one of several, in one argument: SQLite's driver
// takes the square of their number to bind them.
func among(column string, q db.Querier, numbers []int64) (cond string, arg any) {
	if q.Dialect().HasArrays() {
		return column + ` = ANY(?)`, numbers
	}
	return column + ` IN (SELECT value FROM json_each(?))`, jsonOf(numbers)
}

func jsonOf(numbers []int64) string {
	text, _ := json.Marshal(numbers) //nolint:errchkjson // numbers always have a JSON form
	return string(text)
}

// narrowing is what the inverted index can say of a filter: an FTS5 query, or a condition
// on the column tokens. Without text it says nothing.
type narrowing struct {
	text string
	args []any
	// exact: all rows that it finds meet the filter; otherwise all that meet it are among them.
	exact bool
}

// narrow makes a narrowing of a filter that was resolved.
func (s *search) narrow(f Filter) narrowing {
	switch f := f.(type) {
	case tokens:
		return s.anyToken(f.list)
	case allOf:
		return s.narrowAll(f)
	case anyOf:
		if len(f) == 0 {
			return s.anyToken(nil)
		}
		parts, exact := []narrowing{}, true
		for _, one := range f {
			n := s.narrow(one)
			if n.text == "" {
				return narrowing{exact: n.exact}
			}
			parts, exact = append(parts, n), exact && n.exact
		}
		return joined(parts, " OR ", exact)
	case notOf:
		return s.narrowAll(allOf{f})
	}
	return narrowing{}
}

// narrowAll joins what the parts say; what they do not say is checked in entries.
func (s *search) narrowAll(f allOf) narrowing {
	var with, without []narrowing
	exact := true
	for _, one := range f {
		not, negated := one.(notOf)
		if negated {
			one = not.Filter
		}
		n := s.narrow(one)
		switch {
		case negated && n.text == "" && n.exact: // not everything
			with = append(with, s.anyToken(nil))
		case negated && n.exact:
			without = append(without, n)
		case negated:
			exact = false
		default:
			if exact = exact && n.exact; n.text != "" {
				with = append(with, n)
			}
		}
	}
	if len(without) == 0 {
		return joined(with, " AND ", exact)
	}
	if s.arrays {
		for _, n := range without {
			with = append(with, narrowing{text: "NOT (" + n.text + ")", args: n.args})
		}
		return joined(with, " AND ", exact)
	}
	if len(with) == 0 {
		with = append(with, s.anyToken([]int64{token(s.team, everything, "")}))
	}
	n := joined(with, " AND ", exact)
	n.text = "(" + n.text + ") NOT (" + joined(without, " OR ", true).text + ")"
	return n
}

func joined(parts []narrowing, sign string, exact bool) narrowing {
	out := narrowing{exact: exact}
	texts := make([]string, len(parts))
	for i, n := range parts {
		texts[i] = "(" + n.text + ")"
		out.args = append(out.args, n.args...)
	}
	var text strings.Builder
	balance(&text, texts, sign)
	out.text = text.String()
	return out
}

// balance writes texts with a sign between them, in brackets of two halves each: FTS5 reads a chain of n operators in a
// time that grows with the square of n.
func balance(out *strings.Builder, texts []string, sign string) {
	if len(texts) <= 2 {
		out.WriteString(strings.Join(texts, sign))
		return
	}
	half := len(texts) / 2
	out.WriteString("(")
	balance(out, texts[:half], sign)
	out.WriteString(")" + sign + "(")
	balance(out, texts[half:], sign)
	out.WriteString(")")
}

// anyToken is the rows that have one of some tokens.
func (s *search) anyToken(list []int64) narrowing {
	switch {
	case s.arrays && len(list) == 0:
		return narrowing{text: "FALSE", exact: true}
	case s.arrays && len(list) == 1:
		return narrowing{"e.tokens @> ?", []any{list}, true}
	case s.arrays:
		return narrowing{"e.tokens && ?", []any{list}, true}
	case len(list) == 0:
		return narrowing{text: `"matchesnothing"`, exact: true} // no token has so many letters
	}
	tokens := strings.Fields(words(list))
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	for i, t := range tokens {
		tokens[i] = `"` + t + `"`
	}
	var text strings.Builder
	balance(&text, tokens, " OR ")
	return narrowing{text: text.String(), exact: true}
}

// hit is a row that the index found, with its entry where that must be checked.
type hit struct {
	key   int64
	entry string
}

// find gives rows that the narrowing finds with keys from low on and below high, in the order
// of keys or against it, at most limit behind the first offset of them.
func (s *search) find(ctx context.Context, low, high int64, asc bool, limit, offset int) ([]hit, error) {
	entry, from, cond := "''", " FROM "+s.x.Name+"_list e", " WHERE e.key >= ? AND e.key < ?"
	key, args := "e.key", []any{low, high}
	if !s.index.exact {
		entry = "e.entry"
	}
	index := s.index
	if !s.arrays && index.text == "" && index.exact && offset > 0 { // tokens are smaller than entries
		index = s.anyToken([]int64{token(s.team, everything, "")})
	}
	switch {
	case index.text == "":
	case s.arrays:
		cond += " AND (" + s.index.text + ")"
		args = append(args, s.index.args...)
	default:
		fts := s.x.Name + "_list_token"
		from, key = " FROM "+fts, fts+".rowid"
		if !s.index.exact {
			from += " JOIN " + s.x.Name + "_list e ON e.key = " + key
		}
		cond = " WHERE " + fts + " MATCH ? AND " + key + " >= ? AND " + key + " < ?"
		args = []any{index.text, low, high}
	}
	query := "SELECT " + key + ", " + entry + from + cond
	// MATERIALIZED keeps PostgreSQL from walking the primary key on a guess of its own.
	if s.arrays && s.index.text != "" {
		query = "WITH e AS MATERIALIZED (SELECT e.key, " + entry + " AS entry" + from + cond +
			") SELECT e.key, e.entry FROM e"
	}
	query += " ORDER BY " + key + direction(!asc) + " LIMIT ? OFFSET ?"
	return s.hits(ctx, query, append(args, limit, offset)...)
}

func (s *search) hits(ctx context.Context, query string, args ...any) ([]hit, error) {
	rows, err := s.q.Query(ctx, query, args...)
	return db.Collect(rows, err, func(r db.Row) (h hit, err error) { return h, r.Scan(&h.key, &h.entry) })
}

// some gives up to limit rows that the narrowing finds, whichever: if there are fewer, all.
func (s *search) some(ctx context.Context, low, high int64, limit int) ([]hit, error) {
	if !s.arrays || s.index.text == "" {
		return s.find(ctx, low, high, false, limit, 0)
	}
	entry := "''"
	if !s.index.exact {
		entry = "e.entry"
	}
	args := append([]any{low, high}, s.index.args...)
	return s.hits(ctx, "SELECT e.key, "+entry+" FROM "+s.x.Name+"_list e WHERE e.key >= ? AND e.key < ? AND ("+
		s.index.text+") LIMIT ?",
		append(args, limit)...)
}

// walk checks a number of entries from one end of a range of keys, without the inverted
// index, and gives those that meet the narrowing, at most limit; and the range that is left.
func (s *search) walk(
	ctx context.Context, low, high int64, asc bool, width, limit int,
) (found []hit, l, h int64, err error) {
	order := " ORDER BY key" + direction(!asc) + " LIMIT ?"
	table := s.x.Name + "_list WHERE key >= ? AND key < ?" + order
	args := append([]any{low, high, width}, s.index.args...)
	found, err = s.hits(ctx, "SELECT e.key, e.entry FROM (SELECT key, entry, tokens FROM "+table+") e WHERE "+s.index.text+
		order,
		append(args, limit)...)
	if err != nil || len(found) == limit {
		return found, low, high, err
	}
	var n int
	var least, most int64
	err = s.q.QueryRow(ctx, "SELECT count(*), coalesce(min(key), 0), coalesce(max(key), 0) FROM (SELECT key FROM "+table+
		") e",
		low, high, width).Scan(&n, &least, &most)
	switch {
	case n < width: // the range ends before
		return found, high, high, err
	case asc:
		return found, most + 1, high, err
	}
	return found, low, least, err
}

func direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return ""
}

// valuesWith gives tokens of a facet's distinct values that contain part and satisfy match;
// ok is false where there are more than may be looked at or used.
func (s *search) valuesWith(ctx context.Context, f matching) (list []int64, ok bool, err error) {
	var w db.Where
	w.And("v.team = ?", s.team)
	db.In(&w, "v.facet", f.facets)
	table, limit := s.x.Name+"_list_value v", limits.looked
	if grams := trigrams(f.part); len(grams) > 0 {
		if s.arrays {
			w.And("list_grams(v.value) @> ?", grams)
		} else {
			table = s.x.Name + "_list_gram g CROSS JOIN " + table + " ON v.token = g.rowid"
			w.And(s.x.Name+"_list_gram MATCH ?", `"`+strings.Join(doubled(grams), `" AND "`)+`"`)
		}
	}
	rows, err := s.q.Query(ctx, "SELECT v.token, v.value FROM "+table+w.String()+" LIMIT ?", append(w.Args, limit)...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	looked := 0
	for rows.Next() && len(list) <= limits.values {
		var token int64
		var value string
		if err := rows.Scan(&token, &value); err != nil {
			return nil, false, err
		}
		if looked++; f.match(value) {
			list = append(list, token)
		}
	}
	return list, looked < limit && len(list) <= limits.values, rows.Err()
}

// trigrams are those of a text, each once.
func trigrams(text string) (out []string) {
	letters, seen := []rune(db.Clean(text)), map[string]bool{}
	for i := 0; i+3 <= len(letters); i++ {
		if gram := string(letters[i : i+3]); !seen[gram] {
			seen[gram] = true
			out = append(out, gram)
		}
	}
	return out
}

// doubled is texts as they stand between quotes of an FTS5 query.
func doubled(texts []string) []string {
	for i, text := range texts {
		texts[i] = strings.ReplaceAll(text, `"`, `""`)
	}
	return texts
}
