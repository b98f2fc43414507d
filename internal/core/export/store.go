package export

import (
	"bytes"
	"compress/flate"
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// partWriter stores what is written to it as the parts of an export.
type partWriter struct {
	ctx         context.Context
	es          *Exports
	job         queue.Job[RunArgs]
	total, done int
	part        []byte
	n           int
	size        int64
}

// Write implements io.Writer.
func (s *partWriter) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		take := min(partSize-len(s.part), len(p))
		s.part, p = append(s.part, p[:take]...), p[take:]
		if len(s.part) == partSize {
			if err := s.flush(Running); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// begin deletes the parts of an earlier run.
func (s *partWriter) begin() error {
	return s.tx(func(tx *db.Tx) error {
		if _, err := tx.Exec(s.ctx, `DELETE FROM export_part WHERE export_id = ?`, s.job.Args.ExportID); err != nil {
			return err
		}
		return s.report(tx, Running)
	})
}

func (s *partWriter) finish() error {
	s.done = s.total
	return s.flush(Finished)
}

// flush stores a full part, or the last one.
func (s *partWriter) flush(state State) error {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(s.part); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	s.size += int64(len(s.part))
	err = s.tx(func(tx *db.Tx) error {
		if err := s.report(tx, state); err != nil {
			return err
		}
		_, err := tx.Exec(s.ctx, `INSERT INTO export_part (export_id, n, bytes) VALUES (?, ?, ?)`,
			s.job.Args.ExportID, s.n, packed.Bytes())
		return err
	})
	s.part, s.n = s.part[:0], s.n+1
	return err
}

// tx runs a transaction that fails unless the job is still this run's.
func (s *partWriter) tx(do func(tx *db.Tx) error) error {
	return s.es.db.Tx(s.ctx, func(tx *db.Tx) error {
		if err := s.job.CheckLease(s.ctx, tx); err != nil {
			return err
		}
		return do(tx)
	})
}

func (s *partWriter) report(tx *db.Tx, state State) error {
	deleted := queue.Abandon(errs.Missing("export"))
	return db.ExecOr(s.ctx, tx, deleted, `UPDATE export SET state = ?, total = ?, done = ?, size = ?, updated_at = ?
		WHERE id = ?`, state, s.total, s.done, s.size, db.At(s.es.now()), s.job.Args.ExportID)
}
