package finding

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/document"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Document is a finding as it is stored.
type Document = document.Document

// Value is a part of a Document's JSON.
type Value = document.Value

// DocumentOf is a document of an event that is no row of this package, such as that of a task's issue, with its place
// and its hash. The caller sets the other fields.
func DocumentOf(e engine.Event, target string) (*Document, error) {
	large, err := json.Marshal(exchange{Request: e.Request, Response: e.Response, Compared: e.Compared})
	if err != nil {
		return nil, err
	}
	e.Compared = nil
	event, err := json.Marshal(storedEvent{Event: e, Target: target})
	if err != nil {
		return nil, err
	}
	d, parts := document.Parse(string(event), string(large)), identity.Of(e, "")
	d.TemplateID, d.Host, d.Port, d.Hash = e.TemplateID, parts.Host, parts.Port, parts.Hash()
	return d, nil
}

// Selection is the findings that a filter picked at one moment, the newest first.
type Selection struct {
	fs     *Findings
	teamID string
	picked []uint32 // their numbers: 4 MB for a million
	brief  bool
}

// Select picks findings of the caller's team as FindAll does.
func (fs *Findings) Select(ctx context.Context, f Filter) (*Selection, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	s := &Selection{fs: fs, teamID: c.TeamID}
	if len(f.IDs) == 0 {
		f.IDs = nil
	}
	query, err := fs.query(ctx, fs.db, c.TeamID, f.AsList(), nil, page.Window{})
	if err != nil {
		return nil, err
	}
	return s, findings.Each(ctx, fs.db, c.TeamID, query, func(part []int64) error {
		for _, no := range part {
			s.picked = append(s.picked, uint32(no)) // they are below 1<<32
		}
		return nil
	})
}

// Len is the number of findings, unless some are deleted meanwhile.
func (s *Selection) Len() int { return len(s.picked) }

// Brief is the same findings without Request, Response and template_encoded: half of what is stored of most.
func (s *Selection) Brief() *Selection {
	brief := *s
	brief.brief = true
	return &brief
}

const (
	pieceRows  = 1000    // findings that one statement reads at most
	pieceBytes = 1 << 20 // after which encoded findings are emitted
	maxListed  = 100     // numbers in one IN list: the time of SQLite's driver grows with their square
)

// Encode reads the findings in order, lets encode append each to a buffer, and gives emit (nil: nothing) about a
// megabyte of them at a time, with their number. No database connection is held while emit runs. The Document and the
// buffer are reused. An error of either function ends it.
func (s *Selection) Encode(
	ctx context.Context, encode func(dst []byte, d *Document) ([]byte, error), emit func(part []byte, rows int) error,
) error {
	r := reader{Selection: s, encode: encode}
	for numbers := s.picked; len(numbers) > 0; {
		read, rows, err := r.fill(ctx, numbers)
		if err == nil && emit != nil {
			err = emit(r.encoded, rows)
		}
		if err != nil {
			return err
		}
		numbers = numbers[read:]
	}
	return nil
}

// reader reads a selection piece by piece.
type reader struct {
	*Selection
	encode  func([]byte, *Document) ([]byte, error)
	ahead   document.Ahead
	encoded []byte // the present piece
}

// fill encodes the first of the numbers until the piece is full; read is how many numbers are done.
func (r *reader) fill(ctx context.Context, numbers []uint32) (read, rows int, err error) {
	query, args, asked := r.query(numbers)
	r.encoded = r.encoded[:0]
	for d, err := range r.ahead.Documents(r.fs.db.Rows(ctx, query, args...)) {
		if err != nil {
			return 0, 0, err
		}
		for read < asked && numbers[read] > d.No { // deleted meanwhile
			read++
		}
		if read == asked || numbers[read] != d.No { // not picked
			continue
		}
		if r.encoded, err = r.encode(r.encoded, d); err != nil {
			return 0, 0, err
		}
		read++
		if rows++; len(r.encoded) >= pieceBytes {
			return read, rows, nil
		}
	}
	return asked, rows, nil
}

// query reads the first of the numbers: as a range where that is at most twice as many, else as a list. Both tables get
// the bounds and the limit, so that PostgreSQL walks them side by side instead of looking up each document.
func (r *reader) query(numbers []uint32) (query string, args []any, asked int) {
	exchange := `, d.exchange`
	if r.brief {
		exchange = `, NULL`
	}
	query = `SELECT ` + document.Columns + exchange + tables
	numbers = numbers[:min(pieceRows, len(numbers))]
	from, to := numbers[len(numbers)-1], numbers[0]
	if int(to-from)+1 <= 2*len(numbers) {
		return query + ` WHERE f.team_id = ? AND f.no BETWEEN ? AND ? AND d.no BETWEEN ? AND ? ORDER BY f.no DESC LIMIT ` +
			strconv.Itoa(2*pieceRows), []any{r.teamID, from, to, from, to}, len(numbers)
	}
	numbers = numbers[:min(maxListed, len(numbers))]
	return query + byNumbers(len(numbers)) + ` ORDER BY f.no DESC`, slices.Concat([]any{r.teamID}, db.Anys(numbers)),
		len(numbers)
}
