package run

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Lease is a worker's hold on a chunk. It ends when another worker takes the chunk, or
// when the chunk or its run ends.
type Lease struct {
	Ref
	Chunk  int
	TeamID string

	runs  Runs
	token int64
}

// Take takes the lease on a chunk, over that of any earlier worker. It fails with ErrLate
// when the chunk or its run has ended.
func (rs Runs) Take(ctx context.Context, tx *db.Tx, r Ref, chunk int) (*Lease, error) {
	l := &Lease{Ref: r, Chunk: chunk, runs: rs}
	if err := l.hold(ctx, tx); err != nil {
		return nil, err
	}
	if err := l.move(ctx, tx, ChunkRunning, ", token = token + 1"); err != nil {
		return nil, err
	}
	var err error
	l.TeamID, err = rs.team(ctx, tx, r.ID)
	return l, err
}

// hold locks the noun of the chunk until tx ends.
func (l *Lease) hold(ctx context.Context, tx *db.Tx) error {
	return l.runs.life().Hold(ctx, tx, l.ID, l.Run, Running)
}

// move changes the state of the chunk.
func (l *Lease) move(ctx context.Context, tx *db.Tx, to ChunkState, set string) error {
	var w db.Where
	w.And("NOUN_id = ? AND run = ? AND n = ?", l.ID, l.Run, l.Chunk)
	db.In(&w, "state", chunkMoves.Before(to))
	err := tx.QueryRow(ctx, l.runs.sql(`UPDATE NOUN_chunk SET state = ?`+set+w.String()+` RETURNING token`),
		append([]any{to}, w.Args...)...).Scan(&l.token)
	if db.IsNoRows(err) {
		err = ErrLate
	}
	return err
}

// Write runs fn in a transaction that holds the noun and the chunk, or fails with ErrLate
// when the lease is lost.
func (l *Lease) Write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return l.runs.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := l.hold(ctx, tx); err != nil {
			return err
		}
		var held bool
		err := tx.QueryRow(ctx, l.runs.sql(`SELECT token = ? AND state = ? FROM NOUN_chunk
			WHERE NOUN_id = ? AND run = ? AND n = ?`), l.token, ChunkRunning, l.ID, l.Run, l.Chunk).Scan(&held)
		if err == nil && !held {
			err = ErrLate
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// Finish ends the chunk in a transaction of Write. last is nil unless it was the
// last one of the run, and else how the run ends.
func (l *Lease) Finish(ctx context.Context, tx *db.Tx) (last *Outcome, err error) {
	return l.end(ctx, tx, ChunkDone)
}

// GiveUp ends a chunk that the queue will not run again, in the transaction that ends its
// job. It fails with ErrLate when the chunk or its run has ended.
func (rs Runs) GiveUp(ctx context.Context, tx *db.Tx, r Ref, chunk int) (l *Lease, last *Outcome, err error) {
	l = &Lease{Ref: r, Chunk: chunk, runs: rs}
	if err := l.hold(ctx, tx); err != nil {
		return nil, nil, err
	}
	last, err = l.end(ctx, tx, ChunkFailed)
	return l, last, err
}

// Outcome is how a run ends when all of its chunks have.
type Outcome struct {
	Status Status
	Why    string // empty: no chunk failed
}

func (l *Lease) end(ctx context.Context, tx *db.Tx, to ChunkState) (*Outcome, error) {
	if err := l.move(ctx, tx, to, ""); err != nil {
		return nil, err
	}
	var open, failed, chunks int
	err := tx.QueryRow(ctx, l.runs.sql(`UPDATE NOUN_run SET open_chunk = open_chunk - 1,
		failed_chunk = failed_chunk + CASE WHEN ? THEN 1 ELSE 0 END WHERE NOUN_id = ? AND run = ?
		RETURNING open_chunk, failed_chunk`), to == ChunkFailed, l.ID, l.Run).Scan(&open, &failed)
	if err != nil || open > 0 {
		return nil, err
	}
	if chunks, err = l.runs.Next(ctx, tx, l.Ref); err != nil {
		return nil, err
	}
	switch failed {
	case 0:
		return &Outcome{Status: Finished}, nil
	case chunks:
		return &Outcome{Failed, l.runs.sql("No part of the NOUN could be run. The server's log says why.")}, nil
	}
	why := fmt.Sprintf("%d of %d parts of the %s could not be run%s.", failed, chunks, l.runs.Noun, l.runs.Hint)
	return &Outcome{Finished, why}, nil
}
