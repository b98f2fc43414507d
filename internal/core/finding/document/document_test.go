package document

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

func TestTextsOfAValue(t *testing.T) {
	for json, want := range map[string][]string{
		`["a","\\\"b\u003c"]`: {"a", `\"b<`}, `[null,"z"]`: {"", "z"}, `[]`: nil, `["x",1]`: nil, `"x"`: nil, ``: nil,
		`{"a":["b"]}`: nil,
	} {
		if got := (Value{JSON: json}).Texts(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", json, got, want)
		}
	}
}

// fakeRow is a row whose number and event are known.
type fakeRow int

func (r fakeRow) Scan(dest ...any) error {
	if r < 0 {
		return errRow
	}
	for _, to := range dest {
		switch to := to.(type) {
		case *uint32:
			*to = uint32(r)
		case *sql.RawBytes:
			*to = fmt.Appendf(nil, `{"event":{"matched-at":"%d"}}`, r)
		}
	}
	return nil
}

var errRow = errors.New("no row")

// TestDocumentsAreReadAhead: in the order of their rows, each whole until the next one; an error is the last, and rows
// are closed when the loop ends, however it does.
func TestDocumentsAreReadAhead(t *testing.T) {
	var a Ahead
	for _, c := range []struct{ rows, bad, end, want int }{
		{rows: 0, bad: -1, end: -1}, {rows: 100, bad: -1, end: -1, want: 100}, {rows: 100, bad: 40, end: -1, want: 40},
		{rows: 100, bad: -1, end: 30, want: 31}, {rows: 10, bad: 0, end: -1},
	} {
		closed := make(chan bool, 1)
		rows := func(yield func(db.Row, error) bool) {
			defer func() { closed <- true }()
			for i := range c.rows {
				row := fakeRow(i)
				if i == c.bad {
					row = -1
				}
				if !yield(row, nil) {
					return
				}
			}
		}
		n, failed := 0, false
		for d, err := range a.Documents(rows) {
			if failed = errors.Is(err, errRow); failed {
				continue
			}
			if err != nil || d.No != uint32(n) || d.Event("matched-at").Text != strconv.Itoa(n) {
				t.Fatalf("%+v: %d is %d, %q: %v", c, n, d.No, d.Event("matched-at").Text, err)
			}
			if n++; n > c.end && c.end >= 0 {
				break
			}
		}
		if n != c.want || failed != (c.bad >= 0) || !<-closed {
			t.Errorf("%+v: %d documents, failed %v", c, n, failed)
		}
	}
}
