package knowledge

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// embedder has vectors made, and compares them.
type embedder struct {
	models  *model.Models // nil: there are no vectors
	secrets *secret.Secrets
	most    int           // chunks that one pass compares
	passes  chan struct{} // holds one for each pass under way
}

const (
	embedAtOnce = 32              // chunks of one call
	embedFor    = 5 * time.Minute // then another job goes on, so that no team holds a worker
	embedSweep  = time.Minute     // how often models that changed or failed are looked for
	embedAgain  = 5 * time.Minute // after a failure
)

// EmbedArgs are the arguments of the job that has vectors of a team's chunks made.
type EmbedArgs struct {
	TeamID string `json:"team_id"`
	Wanted int64  `json:"wanted"`
}

// Kind implements queue.Args.
func (EmbedArgs) Kind() string { return "knowledge.embed" }

// progress is how far a team's vectors are.
type progress struct {
	model             string
	dimensions, space int64
	unrelated         []byte // the mean vector of the texts of that name; empty: not known yet
	wanted            int64
	failure           string
}

func (k *Knowledge) progress(ctx context.Context, q db.Querier, teamID string) (p progress, err error) {
	err = q.QueryRow(ctx, `SELECT model, dimensions, unrelated, space, wanted, error FROM knowledge_embedding
		WHERE team_id = ?`, teamID).Scan(&p.model, &p.dimensions, &p.unrelated, &p.space, &p.wanted, &p.failure)
	if db.IsNoRows(err) {
		err = nil
	}
	return p, err
}

// embeds reports whether a team has an embedding model.
func (k *Knowledge) embeds(ctx context.Context, teamID string) (bool, error) {
	if k.models == nil {
		return false, nil
	}
	e, err := k.models.EmbeddingOf(ctx, teamID)
	return e != nil, err
}

// askVectors queues the job of a team, unless one was asked for within pause. Jobs that were asked for before it end.
func (k *Knowledge) askVectors(ctx context.Context, tx *db.Tx, teamID string, pause time.Duration) error {
	now := k.now()
	latest := now.Add(-pause)
	if pause == 0 {
		latest = now.Add(time.Hour) // also where another node's clock is ahead
	}
	var wanted int64
	err := tx.QueryRow(ctx, `INSERT INTO knowledge_embedding
			(team_id, model, dimensions, unrelated, space, wanted, error, tried_at)
		VALUES (?, '', 0, ?, 1, 1, '', ?) ON CONFLICT (team_id) DO UPDATE SET wanted = knowledge_embedding.wanted + 1,
		tried_at = excluded.tried_at WHERE knowledge_embedding.tried_at <= ? RETURNING wanted`,
		teamID, []byte{}, db.At(now), db.At(latest)).Scan(&wanted)
	if db.IsNoRows(err) {
		return nil
	}
	if err == nil {
		_, err = k.queue.Insert(ctx, tx, teamID, EmbedArgs{teamID, wanted})
	}
	return err
}

// Keep asks for vectors where a model has changed or failed, until ctx ends. It runs on every worker node.
func (k *Knowledge) Keep(ctx context.Context, logger *slog.Logger) {
	queue.Every(ctx, embedSweep, logger, "asking for vectors of knowledge", k.Sweep)
}

// Sweep is one look of Keep.
func (k *Knowledge) Sweep(ctx context.Context) error {
	if k.models == nil {
		return nil
	}
	if has, err := k.models.HasEmbedding(ctx); err != nil || !has {
		return err
	}
	teams, err := db.Values[string](ctx, k.db, `SELECT DISTINCT team_id FROM knowledge_source WHERE shown > 0`)
	for _, team := range teams {
		if err != nil {
			break
		}
		var e *model.Embedding
		var p progress
		if e, err = k.models.EmbeddingOf(ctx, team); err == nil && e != nil {
			p, err = k.progress(ctx, k.db, team)
		}
		if err == nil && e != nil && (p.model != e.Name || p.failure != "") {
			err = k.db.Tx(ctx, func(tx *db.Tx) error { return k.askVectors(ctx, tx, team, embedAgain) })
		}
	}
	return err
}

// errSuperseded says that another job goes on.
var errSuperseded = errors.New("another job makes the vectors")

// Embed is the job that has vectors made of each chunk of a team that has none of its present model. What the model
// refuses is told to searches, and tried again later; other errors are the queue's to repeat.
func (k *Knowledge) Embed(ctx context.Context, a EmbedArgs) error {
	if k.models == nil {
		return nil
	}
	e, err := k.models.EmbeddingOf(ctx, a.TeamID)
	if err != nil || e == nil {
		return err
	}
	p, err := k.beginSpace(ctx, a, e.Name)
	if err == nil {
		err = k.embedTeam(ctx, a, *e, p)
	}
	switch known := errs.From(err); {
	case errors.Is(err, errSuperseded):
		return nil
	case err == nil:
		return k.embedFailed(ctx, k.db, a, "")
	case known.Kind != errs.Internal && ctx.Err() == nil:
		return k.embedFailed(ctx, k.db, a, known.Message)
	}
	return err
}

// GiveUpEmbed ends a job that the queue will not run again.
func (k *Knowledge) GiveUpEmbed(ctx context.Context, tx *db.Tx, a EmbedArgs) error {
	return k.embedFailed(ctx, tx, a, "The vectors could not be stored. The server's log says why.")
}

func (k *Knowledge) embedFailed(ctx context.Context, q db.Querier, a EmbedArgs, why string) error {
	_, err := q.Exec(ctx, `UPDATE knowledge_embedding SET error = ? WHERE team_id = ? AND wanted = ?`,
		errs.Clip(db.Clean(why), 500), a.TeamID, a.Wanted)
	return err
}

// beginSpace begins a space of vectors where the model is another one than before.
func (k *Knowledge) beginSpace(ctx context.Context, a EmbedArgs, name string) (p progress, err error) {
	err = k.db.Tx(ctx, func(tx *db.Tx) error {
		if p, err = k.progress(ctx, tx, a.TeamID); err != nil {
			return err
		}
		if p.wanted != a.Wanted {
			return errSuperseded
		}
		if p.model == name {
			return nil
		}
		p.model, p.dimensions, p.unrelated = name, 0, []byte{}
		p.space++
		_, err := tx.Exec(ctx, `UPDATE knowledge_embedding SET model = ?, dimensions = 0, unrelated = ?, space = ?
			WHERE team_id = ?`, name, p.unrelated, p.space, a.TeamID)
		return err
	})
	return p, err
}

// embedTeam makes the vectors of all sources that somebody sees. A model whose vectors have another length than before
// begins a space; one whose length keeps changing fails.
func (k *Knowledge) embedTeam(ctx context.Context, a EmbedArgs, e model.Embedding, p progress) error {
	values, err := k.secrets.OfTeam(ctx, a.TeamID)
	if err != nil {
		return err
	}
	sources, err := db.Select(ctx, k.db, scanSource, `SELECT `+columns+` FROM knowledge_source s
		WHERE s.team_id = ? AND s.shown > 0
		AND EXISTS (SELECT 1 FROM member m WHERE m.team_id = s.team_id AND m.user_id = s.user_id)
		ORDER BY created_at, id`, a.TeamID)
	if err != nil {
		return err
	}
	run := &embedding{k: k, args: a, model: e, progress: p, first: p.space, masker: mask.New(nil, values...),
		until: k.now().Add(embedFor)}
	for i := 0; i < len(sources); i++ {
		space := run.space
		if err := run.source(ctx, sources[i]); err != nil {
			return err
		}
		if run.space != space {
			i = -1 // all again
		}
	}
	return nil
}

// embedding is one run of the job.
type embedding struct {
	k     *Knowledge
	args  EmbedArgs
	model model.Embedding
	progress
	first  int64 // its space when it began
	masker *mask.Masker
	until  time.Time
}

func (r *embedding) source(ctx context.Context, s Source) error {
	who := model.Account{TeamID: s.TeamID, UserID: s.UserID, TaskID: s.ID}
	if err := r.k.models.Reservations(who).Close(ctx); err != nil { // of a job that was killed
		return err
	}
	usage := r.k.models.EmbeddingUsage(r.model, who, "Vectors of knowledge: "+s.Name)
	var last int64
	for {
		some, err := r.next(ctx, s.ID, last)
		if err != nil || len(some) == 0 {
			return err
		}
		last = some[len(some)-1].no
		var texts []string
		if len(r.unrelated) == 0 {
			texts = append(texts, unrelated...)
		}
		for _, c := range some {
			texts = append(texts, r.masker.Text(c.text))
		}
		vectors, err := r.k.models.Embed(ctx, r.model, who, &usage, texts)
		if err != nil {
			return err
		}
		var now progress
		if err := r.k.db.Tx(ctx, func(tx *db.Tx) (err error) {
			now, err = r.store(ctx, tx, some, vectors)
			return err
		}); err != nil {
			return err
		}
		isSame := r.space == now.space
		r.progress = now
		switch {
		case now.wanted != r.args.Wanted:
			return errSuperseded
		case !isSame:
			return nil
		}
		if r.k.now().After(r.until) {
			err := r.k.db.Tx(ctx, func(tx *db.Tx) error { return r.k.askVectors(ctx, tx, s.TeamID, 0) })
			return errors.Join(err, errSuperseded)
		}
	}
}

// numbered is a chunk that has no vector.
type numbered struct {
	no, round    int64
	source, text string
}

// next are some chunks of a source behind one, without vectors in this space.
func (r *embedding) next(ctx context.Context, sourceID string, last int64) ([]numbered, error) {
	return db.Select(ctx, r.k.db, func(row db.Row) (n numbered, err error) {
		var place string
		err = row.Scan(&n.no, &n.round, &n.source, &place, &n.text)
		n.text = place + "\n" + n.text
		return n, err
	}, `SELECT c.no, c.round, c.source_id, c.place, c.text
		FROM knowledge_source s JOIN knowledge_chunk c ON c.source_id = s.id AND c.round = s.shown
		WHERE s.id = ? AND c.no > ? AND NOT EXISTS (SELECT 1 FROM knowledge_vector v WHERE v.no = c.no AND v.space = ?)
		ORDER BY c.no LIMIT ?`, sourceID, last, r.space, embedAtOnce)
}

// store stores vectors of the chunks that are still there, and says how far the team is. The vectors of unrelated texts
// stand before them, if they were asked for.
func (r *embedding) store(
	ctx context.Context, tx *db.Tx, some []numbered, vectors [][]float32,
) (p progress, err error) {
	if p, err = r.k.progress(ctx, tx, r.args.TeamID); err != nil {
		return p, err
	}
	if p.space != r.space {
		return p, errSuperseded
	}
	others := vectors[:len(vectors)-len(some)]
	vectors = vectors[len(others):]
	if length := int64(len(vectors[0])); length != p.dimensions || len(others) > 0 {
		if p.dimensions > 0 && length != p.dimensions {
			p.space++
		}
		if p.space > r.first+1 {
			return p, errs.New(errs.FailedDependency, "vectors_change",
				"The embedding model's vectors have now %d and now %d numbers.", p.dimensions, length)
		}
		p.dimensions, p.unrelated = length, encode(mean(others))
		if _, err := tx.Exec(ctx, `UPDATE knowledge_embedding SET dimensions = ?, unrelated = ?, space = ?
			WHERE team_id = ?`, length, p.unrelated, p.space, r.args.TeamID); err != nil {
			return p, err
		}
	}
	numbers := make([]int64, len(some))
	for i, c := range some {
		numbers[i] = c.no
	}
	var where db.Where
	db.In(&where, "no", numbers)
	there, err := db.Values[int64](ctx, tx, `SELECT no FROM knowledge_chunk`+where.String(), where.Args...)
	if err != nil {
		return p, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM knowledge_vector`+where.String(), where.Args...); err != nil {
		return p, err
	}
	var rows [][]any
	for i, c := range some {
		if slices.Contains(there, c.no) {
			rows = append(rows, []any{c.no, c.source, c.round, p.space, encode(vectors[i])})
		}
	}
	return p, tx.Insert(ctx, `knowledge_vector (no, source_id, round, space, vector)`, rows)
}

// encode is a vector as it is stored: float32, little endian.
func encode(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
