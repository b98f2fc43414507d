package finding

import (
	"context"
	"slices"
	"sync"
)

// shelf keeps findings as lists showed them lately, for lists are asked again and again.
// What stands there is told by its revision: a finding that changed is read anew. It has
// two boards: when the new one is full, what nobody asked for since the last time goes.
type shelf struct {
	mu       sync.Mutex
	new, old map[slot]result
	bytes    int // on the new board
}

// boardBytes bounds one board.
const boardBytes = 24 << 20

type slot struct {
	teamID string
	no     uint32
}

type result struct {
	rev  int64
	json Raw
}

// take gives what stands for versions of a team's findings, in their order; nil where
// nothing stands.
func (s *shelf) take(teamID string, shown []version) []Raw {
	out := make([]Raw, len(shown))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range shown {
		at := slot{teamID, v.no}
		r, ok := s.new[at]
		if !ok {
			if r, ok = s.old[at]; ok && r.rev == v.rev {
				s.put(at, r)
			}
		}
		if ok && r.rev == v.rev {
			out[i] = r.json
		}
	}
	return out
}

// put needs the lock.
func (s *shelf) put(at slot, r result) {
	if s.bytes += len(r.json); s.new == nil || s.bytes > boardBytes {
		s.new, s.old, s.bytes = map[slot]result{}, s.new, len(r.json)
	}
	s.new[at] = r
}

// results are the findings of a view as lists show them. One that was deleted meanwhile
// is not there.
func (fs *Findings) results(ctx context.Context, v view) ([]Raw, error) {
	out := fs.shelf.take(v.teamID, v.shown)
	var missing []uint32
	at := map[uint32]int{}
	for i, one := range v.shown {
		if out[i] == nil {
			missing, at[one.no] = append(missing, one.no), i
		}
	}
	for part := range slices.Chunk(missing, batch) {
		if err := fs.read(ctx, v.teamID, part, func(no uint32, r Raw) { out[at[no]] = r }); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(out, func(r Raw) bool { return r == nil }), nil
}

// read reads findings from the database, and puts them on the shelf.
func (fs *Findings) read(ctx context.Context, teamID string, numbers []uint32, each func(no uint32, r Raw)) error {
	rows, err := fs.db.Query(ctx, `SELECT `+documentColumns+`, NULL`+tables+numbered(numbers), append([]any{teamID}, anys(numbers)...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var d Document
	for rows.Next() {
		if err := d.read(rows); err != nil {
			return err
		}
		r := result{d.rev, d.AppendResult(nil)}
		fs.shelf.mu.Lock()
		fs.shelf.put(slot{teamID, d.no}, r)
		fs.shelf.mu.Unlock()
		each(d.no, r.json)
	}
	return rows.Err()
}
