package knowledge

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// atOnce is how many chunks one transaction stores.
const atOnce = 200

// Index is the job that reads and stores a source. A round that is no longer wanted does nothing.
func (k *Knowledge) Index(ctx context.Context, a IndexArgs) error {
	s, err := scanSource(k.db.QueryRow(ctx, `SELECT `+columns+` FROM knowledge_source WHERE id = ?`, a.SourceID))
	if db.IsNoRows(err) || err == nil && s.round != a.Round {
		return nil
	}
	if err == nil {
		err = k.db.QueryRow(ctx, `SELECT content FROM knowledge_source WHERE id = ?`, s.ID).Scan(&s.content)
	}
	if err != nil {
		return err
	}
	docs, revision, err := k.read(ctx, s)
	if err == nil {
		err = k.store(ctx, s, docs, revision)
	}
	if e := errs.From(err); err != nil && e.Kind != errs.Internal {
		return k.fail(ctx, k.db, a, e.Message)
	}
	return err
}

// GiveUp ends a round whose job the queue will not run again.
func (k *Knowledge) GiveUp(ctx context.Context, tx *db.Tx, a IndexArgs) error {
	return k.fail(ctx, tx, a, "The source could not be indexed. The server's log says why.")
}

func (k *Knowledge) fail(ctx context.Context, q db.Querier, a IndexArgs, why string) error {
	_, err := q.Exec(ctx, `UPDATE knowledge_source SET state = ?, error = ? WHERE id = ? AND round = ?`, Failed,
		errs.Clip(db.Clean(why), 500), a.SourceID, a.Round)
	return err
}

// store stores the chunks of a round, and makes it the one that is searched.
func (k *Knowledge) store(ctx context.Context, s Source, docs []document, revision string) error {
	var all []chunk
	var size int64
	for _, d := range docs {
		d.place, d.text = errs.Clip(db.Clean(d.place), 500), db.Clean(d.text)
		size += int64(len(d.text))
		all = append(all, chunks(d)...)
	}
	if len(all) == 0 {
		return refused("There is no text in it.")
	}
	if err := k.room(ctx, s, size, len(all)); err != nil {
		return err
	}
	// What a job of the same round left that was killed.
	if err := k.drop(ctx, `source_id = ? AND round = ?`, s.ID, s.round); err != nil {
		return err
	}
	had, err := k.vectored(ctx, s)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all, atOnce) {
		if err := k.db.Tx(ctx, func(tx *db.Tx) error { return k.add(ctx, tx, s, some, had) }); err != nil {
			return err
		}
	}
	embeds, err := k.embeds(ctx, s.TeamID)
	if err != nil {
		return err
	}
	var n int64
	err = k.db.Tx(ctx, func(tx *db.Tx) (err error) {
		n, err = tx.Exec(ctx, `UPDATE knowledge_source SET state = ?, error = '', revision = ?, bytes = ?, chunks = ?,
			shown = ?, indexed_at = ? WHERE id = ? AND round = ?`,
			Ready, revision, size, len(all), s.round, db.At(k.now()), s.ID, s.round)
		if err == nil && n > 0 && embeds {
			err = k.askVectors(ctx, tx, s.TeamID, 0)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case n == 0: // another round is wanted meanwhile
		return k.drop(ctx, `source_id = ? AND round = ?`, s.ID, s.round)
	}
	return k.drop(ctx, `source_id = ? AND round < ?`, s.ID, s.round)
}

// room refuses what does not fit beside the team's other sources.
func (k *Knowledge) room(ctx context.Context, s Source, size int64, count int) error {
	var bytes, chunks int64
	err := k.db.QueryRow(ctx, `SELECT coalesce(sum(bytes), 0), coalesce(sum(chunks), 0) FROM knowledge_source
		WHERE team_id = ? AND id <> ?`, s.TeamID, s.ID).Scan(&bytes, &chunks)
	if err == nil && (bytes+size > maxBytes || chunks+int64(count) > maxChunks) {
		err = refused("Your team's sources have at most %d bytes and %d chunks together; delete some first.", maxBytes, maxChunks)
	}
	return err
}

// add adds chunks, with the vectors that the same texts had before.
func (k *Knowledge) add(ctx context.Context, tx *db.Tx, s Source, some []chunk, had map[digest]int64) error {
	if _, err := tx.Exec(ctx, `UPDATE knowledge_number SET last = last + ?`, len(some)); err != nil {
		return err
	}
	last, err := db.Value[int64](ctx, tx, `SELECT last FROM knowledge_number`)
	if err != nil {
		return err
	}
	rows, texts, same := make([][]any, len(some)), map[int64]string{}, map[int64]int64{}
	for i, c := range some {
		no := last - int64(len(some)) + 1 + int64(i)
		rows[i] = []any{no, s.ID, s.TeamID, s.round, c.place, c.line, c.text}
		texts[no] = c.place + " " + c.text
		if old, is := had[digestOf(c.place, c.text)]; is {
			same[no] = old
		}
	}
	if err := tx.Insert(ctx, `knowledge_chunk (no, source_id, team_id, round, place, line, text)`, rows); err != nil {
		return err
	}
	if err := k.reuse(ctx, tx, s, same); err != nil {
		return err
	}
	return index.Add(ctx, tx, texts)
}

// drop deletes chunks, some at a time.
func (k *Knowledge) drop(ctx context.Context, where string, args ...any) error {
	for {
		n, err := k.db.Exec(ctx, `DELETE FROM knowledge_chunk WHERE no IN (SELECT no FROM knowledge_chunk WHERE `+where+` LIMIT ?)`,
			append(slices.Clone(args), atOnce)...)
		if err != nil || n == 0 {
			return err
		}
	}
}
