// Package run owns the life of long work: of scans and enumerations and, for its states alone, of tasks.
//
// Each launch of a scan or an enumeration is a run with a number that only grows. A job plans the run: it cuts the work into chunks
// and inserts a job for each. A worker takes a lease on a chunk. The queue gives the job of a node without heartbeats to another,
// which takes the lease over with a higher token. Writes with an older token, or into an earlier run, fail with ErrLate. So a chunk
// runs at least once, and its results are written once where their rows have keys. A chunk that the queue gives up has failed. The
// last chunk that ends, ends the run in the same transaction.
//
// Services keep their nouns and columns of their own. Every transaction locks the row of the noun first, then its chunks.
package run

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Ref names a run: of which scan or enumeration, and its number.
type Ref struct {
	ID  string
	Run int64
}

// Runs keeps the runs of one noun in the tables NOUN, NOUN_run and NOUN_chunk.
type Runs struct {
	DB    *db.DB
	Queue *queue.Queue
	Now   func() time.Time
	Noun  string                            // a constant, as "scan"
	Plan  func(r Ref) queue.Args            // the job that plans a run
	Work  func(r Ref, chunk int) queue.Args // the job that works on a chunk
	Hint  string                            // where to look when chunks failed, behind "3 of 5 parts of the scan could not be run"
}

// sql puts the name of the noun into a statement.
func (rs Runs) sql(text string) string { return strings.ReplaceAll(text, "NOUN", rs.Noun) }

func (rs Runs) life() Life[Status] { return Life[Status]{Table: rs.Noun, Moves: moves, Now: rs.Now} }

// Launch begins a new run, or fails with ErrLate while one is active.
func (rs Runs) Launch(ctx context.Context, tx *db.Tx, id string) error {
	number, err := rs.life().Move(ctx, tx, id, AnyRun, Queued, ", failure_reason = '', run = run + 1")
	if err != nil {
		return err
	}
	job, err := rs.Queue.Insert(ctx, tx, rs.Plan(Ref{id, number}))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, rs.sql(`INSERT INTO NOUN_run (NOUN_id, run, team_id, job_id, status, created_at)
		SELECT id, run, team_id, ?, status, updated_at FROM NOUN WHERE id = ?`), job, id)
	return err
}

// Begin begins to plan a run and returns its team. It fails with ErrLate when the run is
// planned already or has ended.
func (rs Runs) Begin(ctx context.Context, tx *db.Tx, r Ref) (teamID string, err error) {
	if _, err := rs.life().Move(ctx, tx, r.ID, r.Run, Starting, ""); err != nil {
		return "", err
	}
	return rs.team(ctx, tx, r.ID)
}

func (rs Runs) team(ctx context.Context, tx *db.Tx, id string) (teamID string, err error) {
	return teamID, tx.QueryRow(ctx, rs.sql(`SELECT team_id FROM NOUN WHERE id = ?`), id).Scan(&teamID)
}

// Start sets a planned run running with its chunks; see Add. It fails with ErrLate when the run was stopped.
func (rs Runs) Start(ctx context.Context, tx *db.Tx, r Ref, columns string, chunks [][]any) error {
	if _, err := rs.life().Move(ctx, tx, r.ID, r.Run, Running, ""); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, rs.sql(`UPDATE NOUN_run SET status = ?, started_at = ? WHERE NOUN_id = ? AND run = ?`),
		Running, db.At(rs.Now()), r.ID, r.Run); err != nil {
		return err
	}
	return rs.Add(ctx, tx, r, columns, chunks)
}

// Add adds chunks with their jobs to a run that the transaction has locked. A chunk has a value for each of the noun's columns.
func (rs Runs) Add(ctx context.Context, tx *db.Tx, r Ref, columns string, chunks [][]any) error {
	if len(chunks) == 0 {
		return nil
	}
	first, err := rs.Next(ctx, tx, r)
	if err != nil {
		return err
	}
	rows := make([][]any, len(chunks))
	for i, values := range chunks {
		job, err := rs.Queue.Insert(ctx, tx, rs.Work(r, first+i))
		if err != nil {
			return fmt.Errorf("chunk %d: %w", first+i, err)
		}
		rows[i] = append([]any{r.ID, r.Run, first + i, job, string(ChunkWaiting)}, values...)
	}
	if err := tx.Insert(ctx, rs.sql(`NOUN_chunk (NOUN_id, run, n, job_id, state, `+columns+`)`), rows); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, rs.sql(`UPDATE NOUN_run SET open_chunk = open_chunk + ? WHERE NOUN_id = ? AND run = ?`),
		len(chunks), r.ID, r.Run)
	return err
}

// Next is the number of the next chunk that Add adds to a run.
func (rs Runs) Next(ctx context.Context, tx *db.Tx, r Ref) (n int, err error) {
	err = tx.QueryRow(ctx, rs.sql(`SELECT coalesce(max(n) + 1, 0) FROM NOUN_chunk WHERE NOUN_id = ? AND run = ?`),
		r.ID, r.Run).Scan(&n)
	return n, err
}

// End ends a run, or with AnyRun the current one, and returns its number and team. A stop also cancels its jobs. It fails with
// ErrLate when the run is not active.
func (rs Runs) End(ctx context.Context, tx *db.Tx, r Ref, o Outcome) (_ Ref, teamID string, err error) {
	why := db.Clean(o.Why)
	if r.Run, err = rs.life().Move(ctx, tx, r.ID, r.Run, o.Status, ", failure_reason = ?", why); err != nil {
		return r, "", err
	}
	if _, err = tx.Exec(ctx, rs.sql(`UPDATE NOUN_run SET status = ?, failure_reason = ?, ended_at = ?
		WHERE NOUN_id = ? AND run = ?`), o.Status, why, db.At(rs.Now()), r.ID, r.Run); err != nil {
		return r, "", err
	}
	if o.Status == Stopped {
		if err = rs.cancel(ctx, tx, r); err != nil {
			return r, "", err
		}
	}
	teamID, err = rs.team(ctx, tx, r.ID)
	return r, teamID, err
}

// cancel stops the chunks of a run that have not ended, and cancels its jobs.
func (rs Runs) cancel(ctx context.Context, tx *db.Tx, r Ref) error {
	var open db.Where
	db.In(&open, "state", chunkMoves.Before(ChunkStopped))
	open.And("NOUN_id = ? AND run = ?", r.ID, r.Run)
	chunks := rs.sql(open.String())
	jobs, err := db.Values[int64](ctx, tx, rs.sql(`SELECT job_id FROM NOUN_run WHERE NOUN_id = ? AND run = ?
		UNION SELECT job_id FROM NOUN_chunk`)+chunks+` ORDER BY job_id`, append([]any{r.ID, r.Run}, open.Args...)...)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := rs.Queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, rs.sql(`UPDATE NOUN_chunk SET state = ?`)+chunks, append([]any{ChunkStopped}, open.Args...)...)
	return err
}

// Elapsed is how long a run took, or has taken until now; zero times: not yet.
func Elapsed(started, ended, now time.Time) time.Duration {
	switch {
	case started.IsZero():
		return 0
	case ended.IsZero():
		return max(0, now.Sub(started))
	}
	return ended.Sub(started)
}

// NewID is an id for a scan or an enumeration: 20 of [0-9a-v], later ones sort later.
// Clients that upload results check for that form.
func NewID(now time.Time) string {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:4], uint32(now.Unix()))
	rand.Read(b[4:]) // never fails since Go 1.24
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}
