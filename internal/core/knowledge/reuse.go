package knowledge

import (
	"context"
	"crypto/sha256"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// digest is what is the same of chunks that have the same vector.
type digest [sha256.Size]byte

func digestOf(place, text string) digest { return sha256.Sum256([]byte(place + "\n" + text)) }

// vectored are the chunks of a source's earlier rounds that have vectors, by what is in them, so that a text that is
// read again unchanged is not paid for again.
func (k *Knowledge) vectored(ctx context.Context, s Source) (map[digest]int64, error) {
	out := map[digest]int64{}
	return out, db.Each(ctx, k.db, func(r db.Row) error {
		var no int64
		var place, text string
		err := r.Scan(&no, &place, &text)
		out[digestOf(place, text)] = no
		return err
	}, `SELECT c.no, c.place, c.text FROM knowledge_vector v JOIN knowledge_chunk c ON c.no = v.no
		WHERE v.source_id = ? AND v.round < ?`, s.ID, s.round)
}

// reuse gives chunks of a round the vectors of chunks with the same text; same maps their numbers to these.
func (k *Knowledge) reuse(ctx context.Context, tx *db.Tx, s Source, same map[int64]int64) error {
	if len(same) == 0 {
		return nil
	}
	var olds []int64
	for _, old := range same {
		olds = append(olds, old)
	}
	var where db.Where
	db.In(&where, "no", olds)
	type vector struct {
		space   int64
		encoded []byte
	}
	there := map[int64]vector{}
	if err := db.Each(ctx, tx, func(r db.Row) error {
		var no int64
		var v vector
		err := r.Scan(&no, &v.space, &v.encoded)
		there[no] = v
		return err
	}, `SELECT no, space, vector FROM knowledge_vector`+where.String(), where.Args...); err != nil {
		return err
	}
	var rows [][]any
	for no, old := range same {
		if v, is := there[old]; is {
			rows = append(rows, []any{no, s.ID, s.round, v.space, v.encoded})
		}
	}
	return tx.Insert(ctx, `knowledge_vector (no, source_id, round, space, vector)`, rows)
}
