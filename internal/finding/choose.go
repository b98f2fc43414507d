package finding

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"golang.org/x/sync/errgroup"
)

// Selection is the findings that a filter picked at one moment, the newest first. It is
// made without the index: an export of everything need not bring everything to memory.
type Selection struct {
	fs     *Findings
	teamID string
	picked *roaring.Bitmap // their numbers: a million in a row takes some bytes
}

// Select picks findings of the caller's team as FindAll does.
func (fs *Findings) Select(ctx context.Context, f Filter) (*Selection, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	s := &Selection{fs, c.TeamID, roaring.New()}
	if len(f.IDs) == 0 {
		err = s.add(ctx, f, nil)
	}
	for part := range slices.Chunk(f.IDs, batch) {
		if err == nil {
			err = s.add(ctx, f, part)
		}
	}
	s.picked.RunOptimize()
	return s, err
}

// Len is how many findings there are, unless some are deleted meanwhile.
func (s *Selection) Len() int { return int(s.picked.GetCardinality()) }

// First is the first n findings of it.
func (s *Selection) First(n int) *Selection {
	first := &Selection{s.fs, s.teamID, s.picked.Clone()}
	if more := s.Len() - n; more > 0 {
		least, _ := s.picked.Select(uint32(more)) // there are more than that
		first.picked.RemoveRange(0, uint64(least))
	}
	return first
}

// add picks among all findings, or among those with these ids. Columns that hold one word
// are compared by the database; what needs a look at words is compared here, by the rules
// of the index.
func (s *Selection) add(ctx context.Context, f Filter, ids []string) error {
	w := f.where(s.teamID)
	if ids != nil {
		db.In(&w, "id", ids)
	}
	columns, looks := "no", len(f.Domains)+len(f.Categories)+len(f.Tags)+len(f.Labels)+len(f.Search) > 0
	if looks {
		columns = "no, host, template_id, name, categories, tags, labels"
	}
	rows, err := s.fs.db.Query(ctx, `SELECT `+columns+` FROM finding`+w.String()+` ORDER BY no`, w.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	m := f.matcher()
	for rows.Next() {
		var no uint32
		if !looks {
			err = rows.Scan(&no)
		} else {
			var l labelled
			if err = rows.Scan(&no, &l.host, &l.template, &l.name, &l.categories, &l.tags, &l.labels); err == nil && !m.picks(l) {
				continue
			}
		}
		if err != nil {
			return err
		}
		s.picked.Add(no)
	}
	return rows.Err()
}

// where is the part of a filter that the database answers.
func (f Filter) where(teamID string) (w db.Where) {
	w.And("team_id = ?", teamID)
	for column, values := range map[string][]string{
		"severity": f.someSeverities(), "status": words(f.Statuses), "scan_id": f.ScanIDs, "host": lower(f.Hosts), "template_id": f.Templates,
	} {
		if len(values) > 0 {
			for i := range values {
				values[i] = db.Clean(values[i])
			}
			db.In(&w, column, values)
		}
	}
	if len(f.Ports) > 0 {
		db.In(&w, "port", f.Ports)
	}
	for column, want := range map[string]*bool{"is_internal": f.Internal, "is_regression": f.Regression, "is_ticket": f.Ticket} {
		if want != nil {
			w.And(column+" = ?", *want)
		}
	}
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	if f.Before > 0 {
		w.And("no < ?", f.Before)
	}
	return w
}

// someSeverities are those that a filter names; none where it names all, so that the
// database need not look at each finding for them.
func (f Filter) someSeverities() []string {
	named := lower(f.Severities)
	for _, severity := range Severities {
		if !slices.Contains(named, severity) {
			return named
		}
	}
	return nil
}

// labelled is what a matcher looks at.
type labelled struct{ host, template, name, categories, tags, labels string }

// matcher is the part of a filter that needs a look at words.
type matcher struct {
	domains                  []string
	categories, tags, labels []string
	search                   string
}

func (f Filter) matcher() matcher {
	m := matcher{categories: lower(f.Categories), tags: lower(f.Tags), labels: lower(f.Labels), search: strings.ToLower(f.Search)}
	for _, domain := range lower(f.Domains) {
		m.domains = append(m.domains, strings.Trim(domain, ".*"))
	}
	return m
}

func (m matcher) picks(l labelled) bool {
	if m.search != "" && !strings.Contains(l.host, m.search) && !strings.Contains(strings.ToLower(l.template), m.search) && !strings.Contains(strings.ToLower(l.name), m.search) {
		return false
	}
	return one(m.domains, []string{l.host}, below) && one(m.categories, split(l.categories), strings.EqualFold) &&
		one(m.tags, split(l.tags), strings.EqualFold) && one(m.labels, split(l.labels), strings.EqualFold)
}

// one reports whether one of the wanted words goes with one of those that are there.
func one(wanted, there []string, goes func(wanted, there string) bool) bool {
	return len(wanted) == 0 || slices.ContainsFunc(there, func(word string) bool {
		return slices.ContainsFunc(wanted, func(want string) bool { return goes(want, word) })
	})
}

// below reports whether a host is at or below a domain.
func below(domain, host string) bool {
	rest, ok := strings.CutSuffix(host, domain)
	return ok && domain != "" && (rest == "" || strings.HasSuffix(rest, "."))
}

const (
	pieceRows  = 1000    // findings that one goroutine reads
	pieceBytes = 1 << 20 // after which what was read goes on its way
	inAtOnce   = 100     // findings of the first statement, before it is known how large they are; numbers in any that lists them
)

// piece is what a reader has encoded.
type piece struct {
	bytes []byte
	rows  int
	err   error
}

// Encode reads the findings and hands to emit, in order, what encode appended for them,
// with how many they are. Several goroutines read and encode at once; emit is called by
// one, and no connection is held while it runs. What encode is given is good until it
// returns, what emit is given until that returns. Memory is bounded, however many and
// large the findings are. An error of either ends it.
func (s *Selection) Encode(ctx context.Context, encode func(dst []byte, d *Document) ([]byte, error), emit func(part []byte, rows int) error) error {
	work, ctx := errgroup.WithContext(ctx)
	turns := make(chan chan piece, max(runtime.GOMAXPROCS(0)-1, 1))
	used := make(chan []byte, 2*cap(turns)+2)
	work.Go(func() error {
		defer close(turns)
		for part := range s.parts() {
			out := make(chan piece)
			select {
			case turns <- out:
			case <-ctx.Done():
				return ctx.Err()
			}
			work.Go(func() error {
				defer close(out)
				r := reader{Selection: s, encode: encode, out: out, used: used}
				return r.read(ctx, part)
			})
		}
		return nil
	})
	work.Go(func() error {
		for out := range turns {
			for p := range out {
				if p.err != nil {
					return p.err
				}
				if err := emit(p.bytes, p.rows); err != nil {
					return err
				}
				select {
				case used <- p.bytes[:0]:
				default:
				}
			}
		}
		return nil
	})
	return work.Wait()
}

// parts are the numbers, the greatest first, as many at a time as one goroutine reads.
func (s *Selection) parts() iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		numbers := s.picked.ReverseIterator()
		for numbers.HasNext() {
			part := make([]uint32, 0, pieceRows)
			for numbers.HasNext() && len(part) < pieceRows {
				part = append(part, numbers.Next())
			}
			if !yield(part) {
				return
			}
		}
	}
}

// reader reads one part of a selection.
type reader struct {
	*Selection
	encode func([]byte, *Document) ([]byte, error)
	out    chan<- piece
	used   chan []byte
}

func (r reader) read(ctx context.Context, numbers []uint32) error {
	scratch := r.buffer()
	defer func() { r.giveBack(scratch) }()
	atOnce := inAtOnce // findings of the next statement, of which one piece is made
	for len(numbers) > 0 {
		query, args, asked := r.query(numbers[:min(atOnce, len(numbers))])
		var ends []int
		var err error
		if scratch, ends, err = r.fill(ctx, scratch[:0], numbers[:asked], query, args); err != nil {
			return r.send(ctx, piece{err: err})
		}
		if len(scratch) >= pieceBytes && asked > 1 {
			atOnce = asked / 2
			continue
		}
		if err := r.send(ctx, piece{bytes: turned(r.buffer(), scratch, ends), rows: len(ends)}); err != nil {
			return err
		}
		numbers = numbers[asked:]
		atOnce = max(1, min(pieceRows, asked*(pieceBytes*3/4)/max(len(scratch), 1)))
	}
	return nil
}

func (r reader) send(ctx context.Context, p piece) error {
	select {
	case r.out <- p:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// buffer is one that nobody uses any more, or a new one.
func (r reader) buffer() []byte {
	select {
	case b := <-r.used:
		return b
	default:
		return nil
	}
}

func (r reader) giveBack(b []byte) {
	select {
	case r.used <- b[:0]:
	default:
	}
}

// fill encodes the findings of these numbers, the oldest first, for a system reads a file
// ahead that is read forwards. It stops where there is more than a piece holds. ends are
// where the findings end.
func (r reader) fill(ctx context.Context, dst []byte, numbers []uint32, query string, args []any) (filled []byte, ends []int, err error) {
	rows, err := r.fs.db.Query(ctx, query, args...)
	if err != nil {
		return dst, nil, err
	}
	defer rows.Close()
	var d Document
	for i := len(numbers) - 1; rows.Next() && len(dst) < pieceBytes; {
		if err := d.read(rows); err != nil {
			return dst, nil, err
		}
		for i >= 0 && numbers[i] < d.no { // deleted meanwhile
			i--
		}
		if i < 0 || numbers[i] != d.no { // not picked
			continue
		}
		if dst, err = r.encode(dst, &d); err != nil {
			return dst, nil, err
		}
		ends = append(ends, len(dst))
	}
	return dst, ends, rows.Err()
}

// turned appends what ends at these places, the last first.
func turned(dst, from []byte, ends []int) []byte {
	for i, end := range slices.Backward(ends) {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		dst = append(dst, from[start:end]...)
	}
	return dst
}

// query asks for the first of the numbers: for all between two where that is hardly more,
// else for each by its number.
func (r reader) query(numbers []uint32) (query string, args []any, asked int) {
	query = `SELECT ` + documentColumns + `, d.exchange` + tables + ` WHERE f.team_id = ? AND f.no `
	if span := int(numbers[0]-numbers[len(numbers)-1]) + 1; span <= 2*len(numbers) {
		return query + `BETWEEN ? AND ? ORDER BY f.no`, []any{r.teamID, numbers[len(numbers)-1], numbers[0]}, len(numbers)
	}
	numbers = numbers[:min(inAtOnce, len(numbers))]
	return query + `IN (?` + strings.Repeat(", ?", len(numbers)-1) + `) ORDER BY f.no`, append([]any{r.teamID}, anys(numbers)...), len(numbers)
}
