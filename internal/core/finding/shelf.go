package finding

import (
	"context"
	"slices"
)

// slot is the place of a finding on the shelf, where it stands at its revision as lists
// show it.
type slot struct {
	teamID string
	no     uint32
}

// results are the findings of a view as lists show them. One that was deleted meanwhile
// is not there.
func (fs *Findings) results(ctx context.Context, v view) ([]Raw, error) {
	out := fs.shelf.Take(len(v.shown), func(i int) (slot, int64) { return slot{v.teamID, v.shown[i].no}, v.shown[i].rev })
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
		written := Raw(d.AppendResult(nil))
		fs.shelf.Put(slot{teamID, d.no}, d.rev, written)
		each(d.no, written)
	}
	return rows.Err()
}
