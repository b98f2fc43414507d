package prober

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto"
)

// Findings of one name in one unit are one, with its lines, and the values of all; names of matchers come before those of
// extractors, and these before none.
func TestUnits(t *testing.T) {
	r := &Run{}
	for line, f := range []match.Finding{
		{Matcher: "a", Extracted: []string{"x"}}, {Matcher: "b"}, {Matcher: "a", Extracted: []string{"x", "y"}},
	} {
		r.add(&proto.Reply{Unit: "one", Line: line + 1}, []match.Finding{f})
	}
	r.add(&proto.Reply{Unit: "one", Line: 4}, []match.Finding{{Extracted: []string{"z"}}, {Extractor: "e"}})
	r.add(&proto.Reply{Unit: "two", Line: 7}, []match.Finding{{Matcher: "a"}})
	r.add(&proto.Reply{Unit: "three", Line: 1}, []match.Finding{{Extracted: []string{"z"}}, {Extractor: "e", Extracted: []string{"v"}}})
	r.add(&proto.Reply{}, []match.Finding{{Matcher: "a"}})
	r.add(&proto.Reply{}, []match.Finding{{Matcher: "a"}})
	r.endUnit()
	var got []string
	for _, f := range r.result.Findings {
		got = append(got, fmt.Sprint(f.Reply.Unit, f.Matcher, f.Extracted, f.Lines))
	}
	want := []string{"onea[x y z] [1 3]", "oneb[x y z] [2]", "twoa[] [7]", "three[v] [1]", "a[] []", "a[] []"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An address that refused is not dialled again; one that is silent is tried twice.
func TestDials(t *testing.T) {
	var d Dials
	dials := 0
	failing := func(err error) dialFunc {
		return func(context.Context, string, string) (net.Conn, error) { dials++; return nil, err }
	}
	for _, c := range []struct {
		addr string
		err  error
		want int
	}{{"a", syscall.ECONNREFUSED, 1}, {"b", errors.New("silence"), 2}, {"c", context.Canceled, 4}} {
		dials = 0
		for range 4 {
			if _, err := d.dial(t.Context(), failing(c.err), "tcp", c.addr); !errors.Is(err, c.err) {
				t.Errorf("%s: %v", c.addr, err)
			}
		}
		if dials != c.want {
			t.Errorf("%s: %d dials", c.addr, dials)
		}
	}
}
