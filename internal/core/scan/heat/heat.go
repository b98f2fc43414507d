// Package heat draws the coverage of a run as a picture: a grid of which each tile stands for some targets and some
// templates, and has the worst state among their cells. It is one pass over the bitmaps of the run, and its result is
// as large as the grid, however many cells there are: a hundred million are some kilobytes.
package heat

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
)

// Map is the picture.
type Map struct {
	Run                int64
	Targets, Templates int
	Rows, Columns      int
	Tiles              []byte   // row by row, a letter of Letters each; '.' where nothing is known
	RowNames           []string // the first target of each row
	ColumnNames        []string // the first template of each column
}

// Letters are the states of tiles from the best to the worst: not applicable, tested, pending, skipped, denied, failed,
// and x, a finding.
const Letters = "ntpsdfx"

var ranks = map[scan.State]byte{
	engine.NotApplicable: 1, engine.Tested: 2, scan.Pending: 3, engine.Skipped: 4, engine.Denied: 5, engine.Failed: 6,
}

const found = 7

// Scans is the service that has the coverage of scans.
type Scans interface {
	EachPart(ctx context.Context, id string, run int64, do func(scan.Part)) (int64, error)
}

// Draw draws the coverage of a run (0: the last) of a scan of the caller's team, in at most so many rows and columns. A
// run that is not planned yet has none. It fails as EachPart does.
func Draw(ctx context.Context, scans Scans, id string, run int64, rows, columns int) (m Map, err error) {
	seen := 0 // targets before those of the part
	size := 0 // targets of the part before
	m.Run, err = scans.EachPart(ctx, id, run, func(p scan.Part) {
		if m.Tiles == nil {
			m.begin(p, rows, columns)
		}
		if p.First == 0 { // a part that begins later has further templates of the same targets
			seen, size = seen+size, len(p.Targets)
		}
		m.draw(p, seen)
	})
	for i, rank := range m.Tiles {
		m.Tiles[i] = '.'
		if rank > 0 {
			m.Tiles[i] = Letters[rank-1]
		}
	}
	return m, err
}

func (m *Map) begin(p scan.Part, rows, columns int) {
	m.Targets, m.Templates = p.Of[0], p.Of[1]
	m.Rows, m.Columns = min(rows, m.Targets), min(columns, m.Templates)
	m.Tiles = make([]byte, m.Rows*m.Columns)
	m.RowNames, m.ColumnNames = make([]string, m.Rows), make([]string, m.Columns)
}

// draw draws a part whose targets come after seen others.
func (m *Map) draw(p scan.Part, seen int) {
	place := make([]int, len(p.Targets)) // the first tile of each target's row
	for i, name := range p.Targets {
		row := min((seen+i)*m.Rows/m.Targets, m.Rows-1)
		place[i] = row * m.Columns
		if m.RowNames[row] == "" {
			m.RowNames[row] = name
		}
	}
	columns := make([]int, len(p.Templates))
	for j, name := range p.Templates {
		columns[j] = min((p.First+j)*m.Columns/m.Templates, m.Columns-1)
		if m.ColumnNames[columns[j]] == "" {
			m.ColumnNames[columns[j]] = name
		}
	}
	paint := func(cells *roaring.Bitmap, rank byte) {
		some := make([]uint32, 4096)
		size := uint32(len(columns))
		target, begin := 0, uint32(0) // of the row of cells that is painted, and its first cell
		for it := cells.ManyIterator(); ; {
			n := it.NextMany(some)
			if n == 0 {
				return
			}
			for _, cell := range some[:n] {
				if cell-begin >= size { // cells come in order
					target = int(cell / size)
					begin = cell - cell%size
				}
				if tile := &m.Tiles[place[target]+columns[cell-begin]]; *tile < rank {
					*tile = rank
				}
			}
		}
	}
	for state, cells := range p.States {
		paint(cells, ranks[state])
	}
	paint(p.Matched, found)
}
