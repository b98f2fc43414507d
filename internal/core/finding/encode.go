package finding

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

const (
	pieceRows  = 1000    // findings that one statement reads at most
	pieceBytes = 1 << 20 // after which what was encoded is emitted
	inAtOnce   = 100     // numbers in a statement that lists them: SQLite's driver takes the square of their number
)

// Encode reads the findings and hands to emit, in order, what encode appended for them, with
// how many they are. No connection is held while emit runs. What encode is given is good until
// it returns, what emit is given until that returns. Memory is bounded, however many and large
// the findings are. An error of either ends it.
func (s *Selection) Encode(
	ctx context.Context, encode func(dst []byte, d *Document) ([]byte, error), emit func(part []byte, rows int) error,
) error {
	r := reader{Selection: s, encode: encode}
	for numbers := s.picked; len(numbers) > 0; {
		read, rows, err := r.fill(ctx, numbers)
		if err == nil {
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
	encode   func([]byte, *Document) ([]byte, error)
	document Document
	encoded  []byte // the present piece
}

// fill encodes the first of the numbers, as many as a piece holds; read is how many of them are done.
func (r *reader) fill(ctx context.Context, numbers []uint32) (read, rows int, err error) {
	query, args, asked := r.query(numbers)
	r.encoded = r.encoded[:0]
	d := &r.document
	for row, err := range r.fs.db.Rows(ctx, query, args...) {
		if err == nil {
			err = d.read(row)
		}
		if err != nil {
			return 0, 0, err
		}
		for read < asked && numbers[read] > d.no { // deleted meanwhile
			read++
		}
		if read == asked || numbers[read] != d.no { // not picked
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

// query asks for the first of the numbers: for all between two where that is hardly more,
// else for each by its number. Both tables get the bounds and the limit: PostgreSQL then walks
// them side by side, and does not look each document up.
func (r *reader) query(numbers []uint32) (query string, args []any, asked int) {
	exchange := `, d.exchange`
	if r.brief {
		exchange = `, NULL`
	}
	query = `SELECT ` + documentColumns + exchange + tables + ` WHERE f.team_id = ? AND f.no `
	numbers = numbers[:min(pieceRows, len(numbers))]
	from, to := numbers[len(numbers)-1], numbers[0]
	if int(to-from)+1 <= 2*len(numbers) {
		return query + `BETWEEN ? AND ? AND d.no BETWEEN ? AND ? ORDER BY f.no DESC LIMIT ` + strconv.Itoa(2*pieceRows),
			[]any{r.teamID, from, to, from, to}, len(numbers)
	}
	numbers = numbers[:min(inAtOnce, len(numbers))]
	return query + `IN (?` + strings.Repeat(", ?", len(numbers)-1) + `) ORDER BY f.no DESC`,
		slices.Concat([]any{r.teamID}, anys(numbers)), len(numbers)
}
