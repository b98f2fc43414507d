package heat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"pgregory.net/rapid"
)

type parts []scan.Part

func (ps parts) EachPart(_ context.Context, _ string, run int64, do func(scan.Part)) (int64, error) {
	for _, p := range ps {
		do(p)
	}
	return max(run, 1), nil
}

func part(of [2]int, first int, targets, templates []string, cells map[scan.State][]uint32, found ...uint32) scan.Part {
	p := scan.Part{First: first, Targets: targets, Templates: templates, Of: of, States: map[scan.State]*roaring.Bitmap{},
		Matched: roaring.BitmapOf(found...)}
	for state, c := range cells {
		p.States[state] = roaring.BitmapOf(c...)
	}
	return p
}

// Two targets with three templates, and then a third one whose templates are in two parts.
func TestDraw(t *testing.T) {
	of := [2]int{3, 3}
	all := parts{
		part(of, 0, []string{"a", "b"}, []string{"x", "y", "z"}, map[scan.State][]uint32{
			engine.Tested: {0, 1, 4}, engine.Denied: {2}, engine.NotApplicable: {3}, scan.Pending: {5}}, 4),
		part(of, 0, []string{"c"}, []string{"x", "y"}, map[scan.State][]uint32{engine.Skipped: {0}, engine.Failed: {1}}),
		part(of, 2, []string{"c"}, []string{"z"}, nil),
	}
	m, err := Draw(t.Context(), all, "s", 0, 100, 100)
	want := Map{Run: 1, Targets: 3, Templates: 3, Rows: 3, Columns: 3, Tiles: []byte("ttd" + "nxp" + "sf."),
		RowNames: []string{"a", "b", "c"}, ColumnNames: []string{"x", "y", "z"}}
	if err != nil || fmt.Sprint(m) != fmt.Sprint(want) {
		t.Errorf("%s %+v, %v", m.Tiles, m, err)
	}
	if m, _ = Draw(t.Context(), all, "s", 0, 1, 2); string(m.Tiles) != "xf" && string(m.Tiles) != "xd" {
		t.Errorf("%s", m.Tiles)
	}
	if m, err = Draw(t.Context(), parts{}, "s", 2, 10, 10); err != nil || m.Run != 2 || len(m.Tiles) != 0 {
		t.Errorf("a run without a plan: %+v, %v", m, err)
	}
	if _, err = Draw(t.Context(), broken{}, "s", 0, 10, 10); err == nil {
		t.Error("no error")
	}
}

type broken struct{}

func (broken) EachPart(context.Context, string, int64, func(scan.Part)) (int64, error) {
	return 0, errors.New("broken")
}

// Each tile has the worst state among its cells, whatever the parts and the grid; and a row has the name of its first
// target.
func TestTilesAreTheWorst(t *testing.T) {
	states := []scan.State{engine.NotApplicable, engine.Tested, scan.Pending, engine.Skipped, engine.Denied, engine.Failed}
	rapid.Check(t, func(rt *rapid.T) {
		targets, templates := rapid.IntRange(1, 12).Draw(rt, "targets"), rapid.IntRange(1, 12).Draw(rt, "templates")
		rows, columns := rapid.IntRange(1, 14).Draw(rt, "rows"), rapid.IntRange(1, 14).Draw(rt, "columns")
		names := func(of string, n int) (out []string) {
			for i := range n {
				out = append(out, fmt.Sprint(of, i))
			}
			return out
		}
		a, b := names("t", targets), names("c", templates)
		cell := rapid.SliceOfN(rapid.IntRange(0, len(states)-1), targets*templates, targets*templates).Draw(rt, "cells")
		var all parts
		for at := 0; at < targets; {
			n := rapid.IntRange(1, targets-at).Draw(rt, "part")
			cut := rapid.IntRange(0, templates-1).Draw(rt, "cut")
			for _, span := range [][2]int{{0, cut}, {cut, templates}} {
				if span[0] == span[1] {
					continue
				}
				of := map[scan.State][]uint32{}
				for i := range n {
					for j := span[0]; j < span[1]; j++ {
						s := states[cell[(at+i)*templates+j]]
						of[s] = append(of[s], uint32(i*(span[1]-span[0])+j-span[0]))
					}
				}
				all = append(all, part([2]int{targets, templates}, span[0], a[at:at+n], b[span[0]:span[1]], of))
			}
			at += n
		}
		m, err := Draw(context.Background(), all, "s", 0, rows, columns)
		if err != nil {
			rt.Fatal(err)
		}
		want := make([]int, m.Rows*m.Columns)
		for i := range targets {
			for j := range templates {
				tile := i*m.Rows/targets*m.Columns + j*m.Columns/templates
				want[tile] = max(want[tile], cell[i*templates+j])
			}
		}
		for tile, rank := range want {
			if m.Tiles[tile] != Letters[rank] {
				rt.Fatalf("tile %d is %c, want %c", tile, m.Tiles[tile], Letters[rank])
			}
		}
		for r, name := range m.RowNames {
			if first := (r*targets + m.Rows - 1) / m.Rows; name != a[first] {
				rt.Fatalf("row %d begins with %s, want %s", r, name, a[first])
			}
		}
		if strings.Contains(string(m.Tiles), ".") || slices.Contains(m.ColumnNames, "") {
			rt.Fatalf("%s %q", m.Tiles, m.ColumnNames)
		}
	})
}

// BenchmarkDraw: ten thousand targets and as many templates, as a scan cuts them.
func BenchmarkDraw(b *testing.B) {
	const n, size = 10_000, 10_000
	templates, of := make([]string, n), [2]int{n, n}
	for j := range templates {
		templates[j] = fmt.Sprint("t", j)
	}
	var all parts
	tested := roaring.New()
	tested.AddRange(0, size)
	for i := range n {
		all = append(all, scan.Part{Targets: []string{fmt.Sprint("h", i)}, Templates: templates, Of: of,
			States: map[scan.State]*roaring.Bitmap{engine.Tested: tested}, Matched: roaring.BitmapOf(uint32(i))})
	}
	for b.Loop() {
		if _, err := Draw(b.Context(), all, "s", 0, 100, 200); err != nil {
			b.Fatal(err)
		}
	}
}
