package knowledge

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

// VectorState says whether a search used vectors.
type VectorState string

// The states.
const (
	VectorsUsed     VectorState = "used"
	VectorsIndexing VectorState = "indexing" // some chunks, or all, have no vector yet
	VectorsNoModel  VectorState = "no_model" // the team has no embedding model
	VectorsFailed   VectorState = "failed"   // the model did; Reason says how
	VectorsTooMany  VectorState = "too_many" // more chunks than one search compares
)

// Vectors says what part vectors had in a search.
type Vectors struct {
	State   VectorState
	Used    bool // also while indexing, of what has vectors
	Model   string
	Indexed int // chunks that have one, of Chunks; 0 where they were not looked at
	Chunks  int // that the search sees
	Reason  string
}

// Message says to people why vectors were not used, or not all; empty: they were.
func (v Vectors) Message() string {
	switch v.State {
	case VectorsUsed:
		return ""
	case VectorsNoModel:
		return "No embedding model is configured: only words were compared."
	case VectorsTooMany:
		return fmt.Sprintf("There are %d chunks, more than one search compares by vectors: only words were compared.", v.Chunks)
	case VectorsFailed:
		if !v.Used {
			return "Only words were compared: " + v.Reason
		}
		return fmt.Sprintf("%d of %d chunks have vectors, and the others cannot get some: %s", v.Indexed, v.Chunks, v.Reason)
	default:
		return strings.TrimSpace(fmt.Sprintf("%d of %d chunks have vectors; the others are still being indexed. %s", v.Indexed, v.Chunks,
			v.Reason))
	}
}

const (
	passesAtOnce = 2                // on this node; others wait
	queryFor     = 15 * time.Second // that a search waits for the vector of its query
	queryRetries = 1
	restartPause = 5 * time.Second // before a search asks again for vectors of another model
)

// nearest are the chunks whose vectors are nearest to that of a query, the nearest first. What keeps vectors from being
// used is no error: words find alone.
func (k *Knowledge) nearest(
	ctx context.Context, who model.Account, query, sourceID string,
) (near []int64, v Vectors, err error) {
	v = Vectors{State: VectorsNoModel}
	if k.models == nil {
		return nil, v, nil
	}
	e, err := k.models.EmbeddingOf(ctx, who.TeamID)
	if err != nil || e == nil {
		return nil, v, err
	}
	v.Model = e.Name
	where, args := visible+` AND s.shown > 0`, []any{who.TeamID, who.UserID}
	if sourceID != "" {
		where, args = where+` AND s.id = ?`, append(args, sourceID)
	}
	v.Chunks, err = db.Value[int](ctx, k.db, `SELECT coalesce(sum(s.chunks), 0) FROM knowledge_source s`+where, args...)
	if err != nil {
		return nil, v, err
	}
	p, err := k.progress(ctx, k.db, who.TeamID)
	switch {
	case err != nil:
		return nil, v, err
	case v.Chunks > k.most:
		v.State = VectorsTooMany
		return nil, v, nil
	case p.model != e.Name:
		v.State = VectorsIndexing
		if v.Chunks == 0 {
			return nil, v, nil
		}
		return nil, v, k.db.Tx(ctx, func(tx *db.Tx) error { return k.askVectors(ctx, tx, who.TeamID, restartPause) })
	case p.dimensions == 0, int64(len(p.unrelated)) != 4*p.dimensions:
		v.State, v.Reason = VectorsIndexing, p.failure
		if p.failure != "" {
			v.State = VectorsFailed
		}
		return nil, v, nil
	case v.Chunks == 0:
		v.State = VectorsUsed
		return nil, v, nil
	}
	asked, err := k.vectorOf(ctx, who, *e, query)
	if err != nil {
		known := errs.From(err)
		if known.Kind == errs.Internal || ctx.Err() != nil {
			return nil, v, err
		}
		v.State, v.Reason = VectorsFailed, known.Message
		return nil, v, nil
	}
	if int64(len(asked)) != p.dimensions {
		v.State, v.Reason = VectorsIndexing, "The model's vectors have another length than before."
		return nil, v, k.newLength(ctx, who.TeamID, p, len(asked))
	}
	near, v.Indexed, err = k.pass(ctx, asked, floor(dot(asked, p.unrelated)), where, append(args, p.space))
	v.Used, v.State = v.Indexed > 0, VectorsUsed
	if v.Indexed < v.Chunks {
		v.State, v.Reason = VectorsIndexing, p.failure
		if p.failure != "" {
			v.State = VectorsFailed
		}
	}
	return near, v, err
}

// vectorOf is the vector of a query, which goes to the model without the values of the team's secrets.
func (k *Knowledge) vectorOf(
	ctx context.Context, who model.Account, e model.Embedding, query string,
) ([]float32, error) {
	values, err := k.secrets.OfTeam(ctx, who.TeamID)
	if err != nil {
		return nil, err
	}
	usage := k.models.EmbeddingUsage(e, who, "Search of knowledge")
	who.TaskID = usage.TaskID
	e.Config.Deadline, e.Config.Retries = queryFor, queryRetries
	vectors, err := k.models.Embed(ctx, e, who, &usage, []string{mask.New(nil, values...).Text(query)})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// newLength has all vectors of a team made again, at most once in a while.
func (k *Knowledge) newLength(ctx context.Context, teamID string, p progress, length int) error {
	return k.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE knowledge_embedding SET dimensions = ?, unrelated = ?, space = space + 1
			WHERE team_id = ? AND space = ? AND tried_at <= ?`,
			length, []byte{}, teamID, p.space, db.At(k.now().Add(-embedAgain))); err != nil {
			return err
		}
		return k.askVectors(ctx, tx, teamID, embedAgain)
	})
}

// near is a chunk with the cosine of its vector and the query's.
type near struct {
	no     int64
	cosine float32
}

// pass reads the vectors of a space in the sources that a condition picks, one at a time, and keeps the nearest ones
// whose cosine is least or more.
func (k *Knowledge) pass(
	ctx context.Context, asked []float32, least float32, where string, args []any,
) (out []int64, seen int, err error) {
	select {
	case k.passes <- struct{}{}:
		defer func() { <-k.passes }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	best := make([]near, 0, depth+1)
	var raw sql.RawBytes
	for row, err := range k.db.Rows(ctx, `SELECT v.no, v.vector FROM knowledge_source s JOIN knowledge_vector v
		ON v.source_id = s.id AND v.round = s.shown`+where+` AND v.space = ?`, args...) {
		if err != nil {
			return nil, 0, err
		}
		var n near
		if err := row.Scan(&n.no, &raw); err != nil {
			return nil, 0, err
		}
		if len(raw) != 4*len(asked) {
			continue
		}
		seen++
		if n.cosine = dot(asked, raw); n.cosine < least || len(best) == depth && !n.before(best[depth-1]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, n, func(a, b near) int {
			return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.no, b.no))
		})
		best = slices.Insert(best, at, n)
		best = best[:min(len(best), depth)]
	}
	for _, n := range best {
		out = append(out, n.no)
	}
	return out, seen, nil
}

func (n near) before(other near) bool {
	return n.cosine > other.cosine || n.cosine == other.cosine && n.no < other.no
}

// dot is the product of a vector and an encoded one of the same length. Four sums let the processor add at once.
func dot(a []float32, encoded []byte) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(encoded) >= 16 {
		s0 += a[0] * math.Float32frombits(binary.LittleEndian.Uint32(encoded))
		s1 += a[1] * math.Float32frombits(binary.LittleEndian.Uint32(encoded[4:]))
		s2 += a[2] * math.Float32frombits(binary.LittleEndian.Uint32(encoded[8:]))
		s3 += a[3] * math.Float32frombits(binary.LittleEndian.Uint32(encoded[12:]))
		a, encoded = a[4:], encoded[16:]
	}
	for i, x := range a {
		s0 += x * math.Float32frombits(binary.LittleEndian.Uint32(encoded[4*i:]))
	}
	return s0 + s1 + s2 + s3
}
