package catalog

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// weights are the weights of a word by where it stands. The letter a is the first one's in
// template_search.words, b the second one's.
var weights = [...]int{16, 8, 6, 5, 3, 1}

// The places of words, as indices of weights.
const (
	inID = iota
	inName
	inTag
	inProduct
	inAuthor
	inText
)

const searchTable = `template_search (scope, id, written_id, name, lower_name, severity_rank, type, path, dir,
	vendor, product, requests, created_at, updated_at, facets, folded, words)`

// searchRow is a template's row of searchTable.
func searchRow(t row) []any {
	vendor, product := Vendor(t.Info), Product(t.Info)
	at := db.Clean(t.Path)
	lines := []byte("\n")
	for i, values := range [len(facets)][]string{
		t.Info.Author, {t.CreatedAt.UTC().Format("2006-01")}, {dirOf(at)}, {strconv.FormatBool(t.Scope == EarlySet)},
		{strconv.FormatBool(t.IsNew)}, {product}, {string(t.Info.Severity)}, t.Info.Tags, {t.Type}, {vendor},
	} {
		for _, value := range values {
			if value != "" {
				lines = append(append(append(append(lines, facets[i]...), '='), oneLine(value)...), '\n')
			}
		}
	}
	name := db.Clean(t.Info.Name)
	return []any{
		t.Scope, t.ID, t.WrittenID, name, strings.ToLower(name), t.Info.Severity.Rank(), t.Type, at, dirOf(at),
		db.Clean(vendor), db.Clean(product), t.requests, db.At(t.CreatedAt), db.At(t.UpdatedAt), string(lines),
		strings.ToLower(string(lines) + "id=" + t.WrittenID + "\n"), searchWords(t.Template),
	}
}

func oneLine(value string) string { return strings.ReplaceAll(db.Clean(value), "\n", " ") }

// searchWords are the words of a template as template_search has them: each once, where it weighs
// most.
func searchWords(t Template) string {
	places := map[string]int{}
	add := func(place int, texts ...string) {
		for _, text := range texts {
			for word := range wordsOf(text) {
				if _, known := places[word]; !known {
					places[word] = place
				}
			}
		}
	}
	add(inID, t.WrittenID, t.ID)
	add(inName, t.Info.Name)
	add(inTag, t.Info.Tags...)
	if c := t.Info.Classification; c != nil {
		add(inTag, c.CVEID...)
		add(inTag, c.CWEID...)
	}
	add(inProduct, Vendor(t.Info), Product(t.Info))
	add(inAuthor, t.Info.Author...)
	add(inText, t.Info.Description, t.Info.Impact, t.Info.Remediation, t.Path, t.Type, string(t.Info.Severity))
	words := make([]string, 0, len(places))
	for word, place := range places {
		words = append(words, string(rune('a'+place))+":"+word)
	}
	slices.Sort(words)
	return " " + strings.Join(words, " ") + " "
}

// index replaces the row of searchTable of one template.
func index(ctx context.Context, tx *db.Tx, t row) error {
	if _, err := tx.Exec(ctx, `DELETE FROM template_search WHERE scope = ? AND id = ?`, t.Scope, t.ID); err != nil {
		return err
	}
	return tx.Insert(ctx, searchTable, [][]any{searchRow(t)})
}

// Backfill adds the templates that earlier versions stored to lists and searches. It is called once
// before anything is served.
func (c *Catalog) Backfill(ctx context.Context) error {
	for {
		old, err := db.Select(ctx, c.db, func(r db.Row) ([]any, error) {
			var t row
			err := r.Scan(&t.Scope, &t.ID, &t.WrittenID, &t.Path, &t.Type, db.Into(&t.Info), &t.IsNew, &t.requests,
				db.Into(&t.CreatedAt), db.Into(&t.UpdatedAt))
			return searchRow(t), err
		}, `SELECT scope, id, written_id, path, type, info, is_new, requests, created_at, updated_at
			FROM template t WHERE NOT EXISTS (SELECT 1 FROM template_search s WHERE s.scope = t.scope AND s.id = t.id) LIMIT 1000`)
		if err != nil || len(old) == 0 {
			return err
		}
		err = c.db.Tx(ctx, func(tx *db.Tx) error {
			_, err := tx.InsertNew(ctx, searchTable, "scope, id", old)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// maxWord is the number of bytes of a word that count.
const maxWord = 64

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isJoint reports whether a letter joins words to one, as in CVE-2024-1234.
func isJoint(r rune) bool { return r == '-' || r == '_' || r == '.' }

// wholeWords are the runs of letters and digits in a text, also joined ones.
func wholeWords(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for whole := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) && !isJoint(r) }) {
			if whole = strings.TrimFunc(whole, isJoint); whole != "" && !yield(whole) {
				return
			}
		}
	}
}

// maxJoints is the number of joints of a word behind which words begin.
const maxJoints = 8

// wordsOf are the words of a text in lower case. Of wp-login.php they are its ends,
// wp-login.php, login.php and php, and its parts, such as login.
func wordsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := range wholeWords(strings.ToLower(text)) {
			for range maxJoints {
				joint := strings.IndexFunc(end, isJoint)
				if !yield(cut(end)) || joint > 0 && !yield(cut(end[:joint])) {
					return
				}
				if joint < 0 {
					break
				}
				end = strings.TrimLeftFunc(end[joint:], isJoint)
			}
		}
	}
}

func cut(word string) string {
	if len(word) > maxWord {
		return strings.ToValidUTF8(word[:maxWord], "")
	}
	return word
}

// Vendor is who makes what a template tests, as its metadata says; empty when it does not.
func Vendor(info syntax.Info) string { return metadataText(info, "vendor") }

// Product is what a template tests, as its metadata says; empty when it does not.
func Product(info syntax.Info) string { return metadataText(info, "product") }

func metadataText(info syntax.Info, key string) string {
	switch v := info.Metadata[key].(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			s, _ := v[0].(string)
			return s
		}
	}
	return ""
}
