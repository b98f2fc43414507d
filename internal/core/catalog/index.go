package catalog

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// index answers lists and searches of some scopes. It is not changed once it is made.
type index struct {
	revs    map[string]int64
	entries []entry // by id
	table   *table
	byID    map[string]int     // written id, and for a team's own also the uuid → entry
	words   []string           // all words, sorted
	seen    map[string][]place // word → where it stands
}

// place is an entry in which a word stands, and how much that weighs.
type place struct {
	entry  uint32
	weight uint16
}

// entry is what the index knows of one template.
type entry struct {
	scope, id, writtenID, path, name, typ, severity string
	tags, authors                                   []string
	vendor, product                                 string
	lowerName, dir, month                           string // month is that of createdAt, such as 2026-11
	isNew                                           bool
	requests                                        int
	createdAt, updatedAt                            int64

	table *table
	marks [numFacets][]uint32 // the values of each facet, by their places in the table
}

// table is the values that the facets of an index have.
type table [numFacets]struct {
	values []string
	places map[string]uint32
}

// place is the place of a value, which is added if need be.
func (t *table) place(facet int, value string) uint32 {
	f := &t[facet]
	at, ok := f.places[value]
	if !ok {
		if f.places == nil {
			f.places = map[string]uint32{}
		}
		at = uint32(len(f.values))
		f.places[value] = at
		f.values = append(f.values, value)
	}
	return at
}

// What a word weighs by where it stands.
const (
	inID      = 16
	inName    = 8
	inTag     = 6
	inProduct = 5
	inAuthor  = 3
	inText    = 1
)

// load makes the index of scopes from one look at the database.
func (c *Catalog) load(ctx context.Context, scopes []string, revs map[string]int64) (*index, error) {
	x := &index{revs: revs, table: new(table), byID: map[string]int{}, seen: map[string][]place{}}
	if len(revs) == 0 {
		return x, nil
	}
	var w db.Where
	db.In(&w, "scope", scopes)
	rows, err := c.db.Query(ctx, `SELECT scope, id, written_id, path, type, info, is_new, requests, created_at, updated_at FROM template`+w.String(), w.Args...)
	type row struct {
		entry
		info syntax.Info
	}
	all, err := db.Collect(rows, err, func(r db.Row) (one row, err error) {
		var info db.JSON[syntax.Info]
		err = r.Scan(&one.scope, &one.id, &one.writtenID, &one.path, &one.typ, &info, &one.isNew, &one.requests, &one.createdAt, &one.updatedAt)
		one.info = info.V
		one.name, one.severity, one.tags, one.authors = info.V.Name, string(info.V.Severity), info.V.Tags, info.V.Author
		one.vendor, one.product = Vendor(info.V), Product(info.V)
		one.lowerName, one.dir, one.month = strings.ToLower(info.V.Name), dirOf(one.path), month(one.createdAt)
		return one, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b row) int {
		// Of the same id in several sets the latest set's comes first, and alone stays.
		return cmp.Or(strings.Compare(a.writtenID, b.writtenID), slices.Index(sets, b.scope)-slices.Index(sets, a.scope), strings.Compare(a.id, b.id))
	})
	for _, one := range all {
		if _, known := x.byID[one.writtenID]; known && slices.Contains(sets, one.scope) {
			continue
		}
		one.table = x.table
		for i, f := range facets {
			f.values(&one.entry, func(v string) {
				if v != "" {
					one.marks[i] = append(one.marks[i], x.table.place(i, v))
				}
			})
		}
		n := len(x.entries)
		if _, known := x.byID[one.writtenID]; !known {
			x.byID[one.writtenID] = n
		}
		x.byID[one.id] = n
		x.entries = append(x.entries, one.entry)
		x.note(uint32(n), one.entry, one.info)
	}
	x.words = slices.Sorted(maps.Keys(x.seen))
	return x, nil
}

// note takes the words of a template in.
func (x *index) note(n uint32, e entry, info syntax.Info) {
	weights := map[string]uint16{}
	add := func(weight uint16, texts ...string) {
		for _, text := range texts {
			for word := range wordsOf(text) {
				weights[word] = max(weights[word], weight)
			}
		}
	}
	add(inID, e.writtenID, e.id)
	add(inName, e.name)
	add(inTag, e.tags...)
	add(inProduct, e.vendor, e.product)
	add(inAuthor, e.authors...)
	add(inText, info.Description, info.Impact, info.Remediation, e.path, e.typ, e.severity)
	if c := info.Classification; c != nil {
		add(inTag, c.CVEID...)
		add(inTag, c.CWEID...)
	}
	for word, weight := range weights {
		x.seen[word] = append(x.seen[word], place{n, weight})
	}
}

// maxWord is how many bytes of a word count.
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

// maxJoints is how many joints of a word are looked behind.
const maxJoints = 8

// wordsOf are the words of a text in lower case. Of a joined one they are all its ends,
// such as wp-login.php, login.php and php, and what it is made of, such as login: whatever
// begins at a joint is the beginning of a word.
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

// month is the calendar month of a time in microseconds, such as 2026-11.
func month(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01") }

// fetch reads the templates of entries, in their order. One that is gone since is left
// out.
func (c *Catalog) fetch(ctx context.Context, entries []*entry, raw bool) ([]Template, error) {
	type key struct{ scope, id string }
	found := make(map[key]Template, len(entries))
	byScope := map[string][]string{}
	for _, e := range entries {
		byScope[e.scope] = append(byScope[e.scope], e.id)
	}
	for scope, ids := range byScope {
		for part := range slices.Chunk(ids, 500) {
			var w db.Where
			w.And("t.scope = ?", scope)
			db.In(&w, "t.id", part)
			rows, err := c.db.Query(ctx, selected(raw)+w.String(), w.Args...)
			_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
				t, err := scanned(r, raw)
				found[key{t.Scope, t.ID}] = t
				return struct{}{}, err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	out := make([]Template, 0, len(entries))
	for _, e := range entries {
		if t, ok := found[key{e.scope, e.id}]; ok {
			out = append(out, t)
		}
	}
	return out, nil
}
