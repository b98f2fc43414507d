// Package export writes findings into files: JSON for programs, CSV for spreadsheets,
// SARIF for code scanning, PDF for people. A file is streamed to whoever asks, or made in
// the background and kept for some days.
//
// What targets sent stands in these files. Each format has one place that keeps it data:
// JSON is copied as it was encoded, a cell of CSV passes through cell, SARIF through its
// library and reference, a line of PDF through the typesetter.
package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/finding"
	"github.com/vedette-sec/vedette/internal/queue"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	JSON  Format = "json"  // an array of the specification's "Scan vulnerability"
	CSV   Format = "csv"   // RFC 4180, one finding a record, with a header
	PDF   Format = "pdf"   // a report
	SARIF Format = "sarif" // SARIF 2.1.0
)

// ContentType is the media type of a format.
func (f Format) ContentType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8"
	case PDF:
		return "application/pdf"
	case SARIF:
		return "application/sarif+json"
	default:
		return "application/json"
	}
}

// Request says which findings are wanted, and how.
type Request struct {
	Format Format
	Name   string // what people read as its title; "Findings" when empty
	ScanID string // of the scan that it is an export of; empty: across scans
	Filter finding.Filter
}

// Exports is the slice.
type Exports struct {
	db       *db.DB
	queue    *queue.Queue
	findings *finding.Findings
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the slice.
func New(d *db.DB, q *queue.Queue, findings *finding.Findings, logger *slog.Logger) *Exports {
	return &Exports{db: d, queue: q, findings: findings, logger: logger, now: time.Now}
}

// File is an export that is ready to be written.
type File struct {
	Request
	FileName string // such as findings-20261121-0930.csv
	Total    int    // findings that will be in it

	es       *Exports
	selected *finding.Selection
	at       time.Time
}

// Open picks the findings of a request, of the caller's team.
func (es *Exports) Open(ctx context.Context, r Request) (*File, error) {
	r.Name = cmp.Or(r.Name, "Findings")
	switch r.Format {
	case JSON, CSV, PDF, SARIF:
	default:
		return nil, errs.Field("type", "type must be json, csv, pdf or sarif.")
	}
	selected, err := es.findings.Select(ctx, r.Filter)
	if err != nil {
		return nil, err
	}
	at := es.now().UTC()
	return &File{r, fileName(r.ScanID, r.Format, at), selected.Len(), es, selected, at}, nil
}

// fileName is a name that every file system takes.
func fileName(scanID string, format Format, at time.Time) string {
	what := "findings"
	if scanID != "" {
		what = "scan-" + scanID
	}
	return fmt.Sprintf("%s-%s.%s", what, at.Format("20060102-1504"), format)
}

// Write writes the file, and tells after each piece how many of its findings are written.
// Memory does not grow with the number of findings; a PDF holds a bounded number of them.
// What was written before an error is not a whole file.
func (f *File) Write(ctx context.Context, w io.Writer, progress func(done int)) error {
	out := &outlet{w: w, progress: progress}
	switch f.Format {
	case CSV:
		return f.writeCSV(ctx, out)
	case PDF:
		return f.writePDF(ctx, out)
	case SARIF:
		return f.writeSARIF(ctx, out)
	default:
		return f.writeJSON(ctx, out)
	}
}

// outlet counts what goes through it.
type outlet struct {
	w        io.Writer
	progress func(done int)
	done     int
}

func (o *outlet) text(text string) error {
	_, err := io.WriteString(o.w, text)
	return err
}

// part writes what was encoded of some findings.
func (o *outlet) part(bytes []byte, findings int) error {
	if _, err := o.w.Write(bytes); err != nil {
		return err
	}
	o.done += findings
	if o.progress != nil {
		o.progress(o.done)
	}
	return nil
}

// list writes what append makes of each finding, with commas between.
func (f *File) list(ctx context.Context, out *outlet, each func(dst []byte, d *finding.Document) ([]byte, error)) error {
	first := true
	return f.selected.Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
		return each(append(dst, ",\n"...), d)
	}, func(part []byte, rows int) error {
		if first && rows > 0 {
			part, first = part[1:], false
		}
		return out.part(part, rows)
	})
}

// writeJSON writes an array with a finding a line.
func (f *File) writeJSON(ctx context.Context, out *outlet) error {
	if err := out.text("["); err != nil {
		return err
	}
	if err := f.list(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) { return d.AppendJSON(dst), nil }); err != nil {
		return err
	}
	return out.text("\n]\n")
}
