package page

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
)

// TestPagesCoverAList: the windows of a list hold each of its items once, in order.
func TestPagesCoverAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, limit := rapid.IntRange(0, 500).Draw(t, "total"), rapid.IntRange(1, 60).Draw(t, "limit")
		seen := 0
		pages := Window{Limit: limit}.Pages(total)
		for number := 1; number <= pages; number++ {
			w := Window{Offset: seen, Limit: limit}
			if w.Page() != number {
				t.Fatalf("the window at %d of %d is page %d, want %d", seen, limit, w.Page(), number)
			}
			got := min(total-seen, limit)
			if got < 1 {
				t.Fatalf("page %d of %d is empty", number, pages)
			}
			seen += got
		}
		if seen != total {
			t.Fatalf("%d pages hold %d of %d", pages, seen, total)
		}
	})
}

var allowed = map[string]string{"name": "t.name", "created_at": "t.created_at", "started": "t.created_at"}

func TestSorts(t *testing.T) {
	for _, c := range []struct {
		asc, desc string
		want      []Sort
		param     string
	}{
		{"", "", nil, ""},
		{"name", "", []Sort{{"t.name", false}}, ""},
		{" name , ", "created_at", []Sort{{"t.name", false}, {"t.created_at", true}}, ""},
		{"created_at", "name", []Sort{{"t.created_at", false}, {"t.name", true}}, ""},
		{"name,name", "", nil, "sort_asc"},
		{"name", "name", nil, "sort_desc"},
		{"created_at,started", "", nil, "sort_asc"}, // one column by two names
		{"", "password", nil, "sort_desc"},
		{"t.name", "", nil, "sort_asc"},
		{"name;DROP TABLE t", "", nil, "sort_asc"},
		{"NAME", "", nil, "sort_asc"},
	} {
		got, err := Sorts(c.asc, c.desc, allowed)
		if e := errs.From(err); c.param == "" && (e != nil || !slices.Equal(got, c.want)) || c.param != "" &&
			(e == nil || e.Param != c.param) {
			t.Errorf("%q, %q: %v, %v", c.asc, c.desc, got, err)
		}
	}
}

// FuzzSorts: whatever is asked for, only allowed columns come out, each once.
func FuzzSorts(f *testing.F) {
	f.Add("name", "created_at")
	f.Add("name,,", "x\x00\xff")
	f.Add(strings.Repeat("ä", 100), "")
	f.Fuzz(func(t *testing.T, asc, desc string) {
		got, err := Sorts(asc, desc, allowed)
		if err != nil {
			if e := errs.From(err); e.Kind != errs.Invalid || e.Param == "" || len(e.Message) > 1000 ||
				!utf8.ValidString(e.Message) {
				t.Errorf("%q, %q: %+v", asc, desc, e)
			}
			return
		}
		seen := map[string]bool{}
		for _, s := range got {
			if s.Column != "t.name" && s.Column != "t.created_at" || seen[s.Column] {
				t.Errorf("%q, %q: %v", asc, desc, got)
			}
			seen[s.Column] = true
		}
	})
}
