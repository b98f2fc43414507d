package scan

import (
	"context"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// State is the state of a cell.
type State = engine.State

// Pending is the state of cells whose chunk has not ended.
const Pending engine.State = "pending"

// States are those of the cells of a coverage.
var States = []engine.State{engine.Tested, engine.NotApplicable, engine.Skipped, engine.Denied, engine.Failed, Pending}

// Coverage is what a run has tested, and what not.
type Coverage struct {
	Run     int64
	Targets int
	Total   int // cells
	Counts  map[engine.State]int
	Cells   []Cell // the requested page
	Matched int    // cells with a finding
}

// CoverageFilter picks the cells to show.
type CoverageFilter struct {
	Run   int64        // 0: the last
	State engine.State // empty: gaps, which are neither tested nor not applicable
}

func (f CoverageFilter) picks(c Cell) bool {
	if f.State != "" {
		return c.State == f.State
	}
	return c.State != engine.Tested && c.State != engine.NotApplicable
}

// FindCoverage is the coverage of a run of a scan of the caller's team.
func (ss *Scans) FindCoverage(ctx context.Context, id string, f CoverageFilter, w page.Window) (Coverage, error) {
	out := Coverage{Counts: map[engine.State]int{}, Cells: []Cell{}}
	run, err := ss.eachChunk(ctx, id, f.Run, func(l *Cells, _ time.Time) bool {
		for state, n := range l.Counts() {
			out.Counts[state] += n
			out.Total += n
		}
		out.Matched += int(l.matched.GetCardinality())
		if len(out.Cells) < w.Limit {
			l.Each(func(c Cell) bool {
				if f.picks(c) {
					if w.Offset > 0 {
						w.Offset--
					} else {
						out.Cells = append(out.Cells, c)
					}
				}
				return len(out.Cells) < w.Limit
			})
		}
		if l.first == 0 { // other chunks have further templates of the same targets
			out.Targets += len(l.targets)
		}
		return true
	})
	out.Run = run
	return out, err
}

// eachChunk calls do with the cells of every chunk of a run (0: the last), in order, until it returns false. The
// cells of a chunk that has not ended are pending. It returns the number of the run.
func (ss *Scans) eachChunk(
	ctx context.Context, id string, run int64, do func(l *Cells, ended time.Time) bool,
) (int64, error) {
	s, err := ss.Find(ctx, id)
	if err != nil {
		return 0, err
	}
	if run == 0 {
		run = s.Run
	}
	if run < 0 || run > s.Run {
		return 0, errs.Missing("run")
	}
	return run, ss.chunks(ctx, id, run, do)
}

// EachChunk calls do with the cells of every chunk of a run, of whichever team, in order, until it returns false.
func (ss *Scans) EachChunk(ctx context.Context, r run.Ref, do func(*Cells) bool) error {
	return ss.chunks(ctx, r.ID, r.Run, func(l *Cells, _ time.Time) bool { return do(l) })
}

// chunks is eachChunk for a run that is there.
func (ss *Scans) chunks(ctx context.Context, id string, n int64, do func(l *Cells, ended time.Time) bool) error {
	var templates db.JSON[[]string]
	var ended db.Time
	var total int
	err := ss.db.QueryRow(ctx, `SELECT p.templates, coalesce(r.ended_at, r.started_at, r.created_at), r.total_target
		FROM scan_run r JOIN scan_plan p ON p.scan_id = r.scan_id AND p.run = r.run WHERE r.scan_id = ? AND r.run = ?`, id,
		n).Scan(&templates, &ended, &total)
	if db.IsNoRows(err) {
		return nil // it was never launched, or is not planned yet
	}
	if err != nil {
		return err
	}
	for after, more := int64(-1), true; more; {
		// Some chunks at a time, so that no connection is held while do waits for a slow client.
		found, err := db.Select(ctx, ss.db, chunkRow, `SELECT n, targets, first_template, last_template, ledger FROM scan_chunk
			WHERE scan_id = ? AND run = ? AND n > ? ORDER BY n LIMIT ?`, id, n, after, chunksRead)
		if err != nil {
			return err
		}
		for _, one := range found {
			l, err := one.cells(templates.V)
			if err != nil {
				return err
			}
			if l.first, l.of = one.first, [2]int{total, len(templates.V)}; !do(l, ended.Time) {
				return nil
			}
			after = one.n
		}
		more = len(found) == chunksRead
	}
	return nil
}

// Part is the coverage of some targets with some templates of a run.
type Part struct {
	First              int // the number of its first template in the run
	Targets, Templates []string
	Of                 [2]int                           // targets and templates of the run
	States             map[engine.State]*roaring.Bitmap // of cells, target by target
	Matched            *roaring.Bitmap
}

// EachPart calls do with every part of the coverage of a run (0: the last), in order. It returns the number of the run.
func (ss *Scans) EachPart(ctx context.Context, id string, run int64, do func(Part)) (int64, error) {
	return ss.eachChunk(ctx, id, run, func(l *Cells, _ time.Time) bool {
		do(Part{l.first, l.targets, l.templates, l.of, l.states, l.matched})
		return true
	})
}

// chunksRead is how many chunks one statement reads.
const chunksRead = 8

// storedChunk is a chunk as it is stored.
type storedChunk struct {
	n           int64
	targets     db.JSON[[]string]
	first, last int // the range of templates
	ledger      []byte
}

func chunkRow(r db.Row) (c storedChunk, err error) {
	return c, r.Scan(&c.n, &c.targets, &c.first, &c.last, &c.ledger)
}

func (c storedChunk) cells(templates []string) (*Cells, error) {
	l := NewCells(c.targets.V, templates[c.first:c.last])
	if c.ledger != nil {
		return decodeCells(c.ledger, l.targets, l.templates)
	}
	l.states[Pending] = roaring.New()
	l.states[Pending].AddRange(0, uint64(len(l.targets)*len(l.templates)))
	return l, nil
}

// LogLine is a cell in the log of a scan.
type LogLine struct {
	Cell
	At time.Time // when the run ended, or else started
}

// LogFilter picks lines of a scan's log.
type LogFilter struct {
	Run      int64 // 0: the last
	Host     string
	Template string
	Search   string
	Error    string    // a part of what went wrong, in any case
	Since    time.Time // lines of this time or later; zero: all
	Matched  *bool
	Errors   *bool // only cells that failed, or only others
}

func (f LogFilter) picks(c Cell) bool {
	has := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	return (f.Host == "" || has(c.Target, f.Host)) && (f.Template == "" || c.Template == f.Template) &&
		(f.Search == "" || has(c.Target+"\n"+c.Template+"\n"+c.Reason, f.Search)) &&
		(f.Error == "" || c.Failed() && has(c.Reason, f.Error)) &&
		(f.Matched == nil || *f.Matched == c.Matched) && (f.Errors == nil || *f.Errors == c.Failed())
}

// Failed reports whether a cell should have been tested and was not.
func (c Cell) Failed() bool {
	return c.State == engine.Failed || c.State == engine.Denied || c.State == engine.Skipped
}

// EachLogLine calls do with the lines of a scan's log, in order, until it returns false. Pending cells have none.
func (ss *Scans) EachLogLine(ctx context.Context, id string, f LogFilter, do func(LogLine) bool) error {
	_, err := ss.eachChunk(ctx, id, f.Run, func(l *Cells, ended time.Time) bool {
		return l.Each(func(c Cell) bool {
			if c.State == Pending || ended.Before(f.Since) || !f.picks(c) {
				return true
			}
			return do(LogLine{c, ended})
		})
	})
	return err
}
