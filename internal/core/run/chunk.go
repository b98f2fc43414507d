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

// hold locks the scan or enumeration of the chunk until tx ends.
func (l *Lease) hold(ctx context.Context, tx *db.Tx) error {
	return l.runs.life().Hold(ctx, tx, l.ID, l.Run, Running)
}

// move changes the state of the chunk.
func (l *Lease) move(ctx context.Context, tx *db.Tx, to ChunkState, set string) error {
	var w db.Where
	w.And("KIND_id = ? AND run = ? AND n = ?", l.ID, l.Run, l.Chunk)
	db.In(&w, "state", chunkMoves.Before(to))
	err := tx.QueryRow(ctx, l.runs.sql(`UPDATE KIND_chunk SET state = ?`+set+w.String()+` RETURNING token`),
		append([]any{to}, w.Args...)...).Scan(&l.token)
	if db.IsNoRows(err) {
		err = ErrLate
	}
	return err
}

// Write runs fn in a transaction that locks the scan or enumeration, or fails with ErrLate when the lease is lost.
func (l *Lease) Write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return l.runs.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := l.hold(ctx, tx); err != nil {
			return err
		}
		var held bool
		err := tx.QueryRow(ctx, l.runs.sql(`SELECT token = ? AND state = ? FROM KIND_chunk
			WHERE KIND_id = ? AND run = ? AND n = ?`), l.token, ChunkRunning, l.ID, l.Run, l.Chunk).Scan(&held)
		if err == nil && !held {
			err = ErrLate
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// Finish ends the chunk in a transaction of Write. The last chunk ends the run.
func (l *Lease) Finish(ctx context.Context, tx *db.Tx) error {
	if err := l.move(ctx, tx, ChunkDone, ""); err != nil {
		return err
	}
	return l.count(ctx, tx, 0)
}

// GiveUp ends a chunk that the queue will not run again, in the transaction that ends its job; the last chunk ends
// the run. done, unless nil, is called in between. It fails with ErrLate when the chunk or its run has ended.
func (rs Runs) GiveUp(ctx context.Context, tx *db.Tx, r Ref, chunk int, done func(*Lease) error) error {
	l := &Lease{Ref: r, Chunk: chunk, runs: rs}
	if err := l.hold(ctx, tx); err != nil {
		return err
	}
	if err := l.move(ctx, tx, ChunkFailed, ""); err != nil {
		return err
	}
	if done != nil {
		if err := done(l); err != nil {
			return err
		}
	}
	return l.count(ctx, tx, 1)
}

// Outcome is how a run ends when all of its chunks have.
type Outcome struct {
	Status Status
	Why    string // empty: no chunk failed
}

// count counts a chunk that has ended, of which failed have failed, and ends the run after its last chunk.
func (l *Lease) count(ctx context.Context, tx *db.Tx, failed int) error {
	var open int
	err := tx.QueryRow(ctx, l.runs.sql(`UPDATE KIND_run SET open_chunk = open_chunk - 1, failed_chunk = failed_chunk + ?
		WHERE KIND_id = ? AND run = ? RETURNING open_chunk, failed_chunk`), failed, l.ID, l.Run).Scan(&open, &failed)
	if err != nil || open > 0 {
		return err
	}
	chunks, err := l.runs.Next(ctx, tx, l.Ref)
	if err != nil {
		return err
	}
	o := Outcome{Status: Finished}
	switch failed {
	case 0:
	case chunks:
		o = Outcome{Failed, l.runs.sql("No part of the KIND could be run. The server's log says why.")}
	default:
		o.Why = fmt.Sprintf("%d of %d parts of the %s could not be run%s.", failed, chunks, l.runs.Kind, l.runs.Hint)
	}
	return l.runs.End(ctx, tx, l.Ref, o)
}
