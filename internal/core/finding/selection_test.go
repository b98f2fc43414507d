package finding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"pgregory.net/rapid"
)

func appendLine(dst []byte, d *Document) ([]byte, error) { return append(d.AppendJSON(dst), '\n'), nil }

// encoded is the ids of what a filter selects, in the order in which they are written.
func (r room) encoded(t rapid.TB, f Filter) (ids []string) {
	t.Helper()
	s, err := r.Select(r.alice, f)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	err = s.Encode(r.alice, appendLine, func(part []byte, rows int) error {
		all += rows
		for line := range bytes.Lines(part) {
			var doc struct {
				ID string `json:"vuln_id"`
			}
			if err := json.Unmarshal(line, &doc); err != nil {
				return err
			}
			ids = append(ids, doc.ID)
		}
		return nil
	})
	if err != nil || all != len(ids) || s.Len() != len(ids) {
		t.Fatalf("%d of %d findings, %d told; %v", len(ids), s.Len(), all, err)
	}
	return ids
}

// TestEncodeIsInOrder reads enough for several readers, with holes, and ends early.
func TestEncodeIsInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		const total = 3*pieceRows + 500
		r.add(t, "s", 1, sightings(0, total)...)
		large := findingtest.Event(total)
		large.Response = strings.Repeat("<", pieceBytes)
		for i := range 5 { // more than one piece holds
			large.MatchedAt = fmt.Sprint("https://large.example.com/", i)
			r.add(t, "s", 1, Sighting{Event: large})
		}
		if _, err := r.Delete(r.alice, Filter{Ports: []int{8003}}); err != nil {
			t.Fatal(err)
		}
		for _, f := range []Filter{{}, {Ports: []int{8001, 8002}}, {Severities: []string{"critical"}},
			{Severities: append([]string{"HIGH"}, Severities...)}, {Hosts: []string{"h5.example5.com"}}} {
			all := plainly(r.all(t), f, nil)
			got := r.encoded(t, f)
			if f.Ports != nil { // plainly knows no ports
				all = slices.DeleteFunc(all, func(x Finding) bool { return !slices.Contains(f.Ports, x.Port) })
			}
			if len(all) == 0 || !slices.Equal(got, idsOf(all)) {
				t.Errorf("%+v: %d findings, want %d", f, len(got), len(all))
			}
		}
		s, err := r.Select(r.alice, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range []*Selection{s, s.Brief()} {
			var with atomic.Int64
			if err := one.Encode(r.alice, func(dst []byte, d *Document) ([]byte, error) {
				if d.Response.JSON != "" {
					with.Add(1)
				}
				return dst, nil
			}, func([]byte, int) error { return nil }); err != nil || (with.Load() == 0) != one.brief {
				t.Errorf("of %d findings, %d come with a response, brief: %t; %v", one.Len(), with.Load(), one.brief, err)
			}
		}
		stop := errors.New("enough")
		if err := s.Encode(r.alice, appendLine, func([]byte, int) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("an error of emit: %v", err)
		}
		if err := s.Encode(r.alice, func([]byte, *Document) ([]byte, error) { return nil, stop },
			func([]byte, int) error { return nil }); !errors.Is(err, stop) {
			t.Errorf("an error of encode: %v", err)
		}
		ctx, cancel := context.WithCancel(r.alice)
		err = s.Encode(ctx, appendLine, func([]byte, int) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the end of the context: %v", err)
		}
		if s, err := r.Select(r.stranger, Filter{}); err != nil || s.Len() != 0 {
			t.Errorf("a stranger selects %d findings, %v", s.Len(), err)
		}
	})
}

// all is every finding of the team, in any order.
func (r room) all(t testing.TB) (out []Finding) {
	t.Helper()
	s, err := r.Select(r.alice, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int64, s.Len())
	for i, no := range s.picked {
		numbers[i] = int64(no)
	}
	out, err = r.Load(r.alice, r.db, r.team, numbers)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
