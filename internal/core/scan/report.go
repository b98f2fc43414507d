package scan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan/record"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Report says how the report of another tool is imported.
type Report struct {
	Name     string            // of the scan; empty: the tool and the time
	Format   string            // a name of importer.Formats, or auto
	FileName string            // of the report: a hint for its format; may be empty
	Columns  map[string]string // for the format csv: field of a record to the name of its column
}

// ImportedReport is what came of a report.
type ImportedReport struct {
	Imported
	importer.Summary
	Rejected []Rejection // the first maxRejections
}

// Rejection is an item of a report that could not be read.
type Rejection = importer.Rejection

const maxRejections = 1000

// ImportReport reads the report of another tool into a scan. The same report again goes into the same scan: nothing is
// stored twice, and an import that was interrupted goes on. Faults of the report are those of importer.Read; what was
// stored before a fault stays.
func (ss *Scans) ImportReport(ctx context.Context, r Report, body io.Reader) (out ImportedReport, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return out, err
	}
	if err := ss.db.CheckRoom(); err != nil {
		return out, err
	}
	// It is kept on disk first: its content says whether it is known.
	file, digest, err := ss.spool(r, body)
	if err != nil {
		return out, err
	}
	defer func() { _ = file.Close() }()
	s, prepare, err := ss.scanOf(ctx, c, r, digest)
	if err != nil {
		return out, err
	}
	opts := importer.Options{Format: r.Format, FileName: r.FileName, Columns: r.Columns, TempDir: ss.TempDir}
	read := func(ctx context.Context, take func([]finding.Sighting) error) error {
		b := batches{take: take, without: s.CreatedAt}
		out.Summary, err = importer.Read(ctx, file, opts, func(item importer.Item) error {
			if item.Rejected != nil && len(out.Rejected) < maxRejections {
				out.Rejected = append(out.Rejected, *item.Rejected)
			}
			return b.add(item.Record)
		})
		if err != nil {
			return err
		}
		return b.flush()
	}
	out.Imported, err = ss.take(ctx, s, read, prepare)
	if err == nil && out.Stored+out.Known == 0 {
		out.ScanID = "" // nothing was in it
	}
	return out, err
}

// spool writes a report to a file without a name and gives the hash of what it is.
func (ss *Scans) spool(r Report, body io.Reader) (*os.File, string, error) {
	file, err := os.CreateTemp(ss.TempDir, "report-*")
	if err != nil {
		return nil, "", err
	}
	err = os.Remove(file.Name())
	sum := sha256.New()
	_, _ = io.WriteString(sum, r.Format+"\x00")
	if err == nil {
		_, err = io.Copy(io.MultiWriter(file, sum), body)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, "", err
	}
	return file, hex.EncodeToString(sum.Sum(nil)), nil
}

// scanOf is the scan of a report that was imported before, or a new one.
func (ss *Scans) scanOf(
	ctx context.Context, c account.Caller, r Report, digest string,
) (s Scan, prepare func(tx *db.Tx) error, err error) {
	id, err := db.Value[string](ctx, ss.db, `SELECT scan_id FROM scan_report WHERE team_id = ? AND digest = ?`, c.TeamID,
		digest)
	if err == nil {
		s, err = ss.own(ctx, id)
		return s, func(*db.Tx) error { return nil }, err
	}
	if !db.IsNoRows(err) {
		return s, nil, err
	}
	now := ss.now()
	name := cmp.Or(strings.TrimSpace(r.Name), filepath.Base(cmp.Or(r.FileName, "Report"))+" "+
		now.UTC().Format("2006-01-02 15:04:05"))
	if name, err = run.CheckName(name); err != nil {
		return s, nil, err
	}
	s = Scan{ID: run.NewID(now), TeamID: c.TeamID, UserID: c.UserID, Name: name, Status: Uploaded, IsOSS: true,
		CreatedAt: now}
	create := ss.once(ctx, &s)
	noted := false
	return s, func(tx *db.Tx) error {
		if err := create(tx); err != nil || noted {
			return err
		}
		tx.AfterCommit(func() { noted = true })
		n, err := tx.Exec(ctx, `INSERT INTO scan_report (team_id, digest, scan_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			c.TeamID, digest, s.ID)
		if err == nil && n == 0 {
			err = errs.New(errs.Conflict, "report_in_import", "The same report is being imported. Try again in a moment.")
		}
		return err
	}, nil
}

// batches collects sightings for take.
type batches struct {
	take    func([]finding.Sighting) error
	without time.Time // when sightings without a time were seen
	seen    []finding.Sighting
	bytes   int
}

func (b *batches) add(r *importer.Record) error {
	if r == nil {
		return nil
	}
	s := record.Sighting(*r)
	if s.Event.Timestamp.IsZero() {
		s.Event.Timestamp = b.without
	}
	b.seen = append(b.seen, s)
	b.bytes += len(s.Event.Request) + len(s.Event.Response) + len(s.Event.Info.Description)
	if len(b.seen) == importBatch || b.bytes >= importBytes {
		return b.flush()
	}
	return nil
}

func (b *batches) flush() error {
	if len(b.seen) == 0 {
		return nil
	}
	err := b.take(b.seen)
	clear(b.seen) // frees the events
	b.seen, b.bytes = b.seen[:0], 0
	return err
}
