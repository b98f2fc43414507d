// Package export writes findings as JSON, CSV, SARIF and PDF, assets as JSON, CSV and lines of text, and logs of
// scans. A file is streamed to the caller, or made by a job and stored for some days.
//
// The files contain text from targets. Each format escapes it in one place: JSON is copied as it was encoded, a cell of
// CSV passes through Cell, SARIF through its library and reference, a line of PDF through the typesetter.
package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	JSON  Format = "json"  // an array of the specification's "Scan vulnerability", or of EnumerationContent
	CSV   Format = "csv"   // RFC 4180, one finding or asset a record, with a header
	PDF   Format = "pdf"   // a report of findings
	SARIF Format = "sarif" // SARIF 2.1.0, of findings
	Lines Format = "jsonl" // an EnumerationContent or a line of a log a line
	Raw   Format = "raw"   // of assets, a host or host:port a line
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
	case Lines:
		return "application/x-ndjson"
	case Raw:
		return "text/plain; charset=utf-8"
	default:
		return "application/json"
	}
}

// Request says which findings or assets are wanted, and how.
type Request struct {
	Format    Format
	Name      string // the title of a report; empty: "Findings"
	ScanID    string // of the scan that is exported; empty: across scans
	Filter    finding.Filter
	Inventory *Inventory      // assets, and no findings
	Log       *scan.LogFilter // the log of the scan ScanID, and no findings
}

// Sources are the services that exports read.
type Sources struct {
	Findings *finding.Findings
	Assets   *asset.Assets
	Scans    *scan.Scans
}

// Exports makes files of findings and assets.
type Exports struct {
	db     *db.DB
	queue  *queue.Queue
	from   Sources
	logger *slog.Logger
	now    func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, from Sources, logger *slog.Logger) *Exports {
	return &Exports{db: d, queue: q, from: from, logger: logger, now: time.Now}
}

// File is an export that is ready to be written.
type File struct {
	Request
	FileName string // such as findings-20261121-0930.csv
	Total    int    // findings, assets or lines that will be in it

	es       *Exports
	selected *finding.Selection
	assets   iter.Seq2[[]asset.Asset, error] // of an inventory
	caller   account.Caller                  // of a log: Write reads in their name
	at       time.Time
}

// Open picks the findings or assets of a request, of the caller's team.
func (es *Exports) Open(ctx context.Context, r Request) (*File, error) {
	if r.Inventory != nil {
		return es.openInventory(ctx, r)
	}
	if r.Log != nil {
		return es.openLog(ctx, r)
	}
	r.Name = cmp.Or(r.Name, "Findings")
	switch r.Format {
	case JSON, CSV, PDF, SARIF:
	default:
		return nil, errs.Field("type", "type must be json, csv, pdf or sarif.")
	}
	selected, err := es.from.Findings.Select(ctx, r.Filter)
	if err != nil {
		return nil, err
	}
	at := es.now().UTC()
	return &File{Request: r, FileName: fileName(r, at), Total: selected.Len(), es: es, selected: selected, at: at}, nil
}

// fileName is a name that is valid in every file system.
func fileName(r Request, at time.Time) string {
	name, ending := "findings", string(r.Format)
	switch {
	case r.Inventory != nil && r.Inventory.EnumerationID != "":
		name = "enumeration-" + r.Inventory.EnumerationID
	case r.Inventory != nil:
		name = "assets"
	case r.Log != nil:
		name = "scan-log-" + r.ScanID
	case r.ScanID != "":
		name = "scan-" + r.ScanID
	}
	if r.Format == Raw {
		ending = "txt"
	}
	return fmt.Sprintf("%s-%s.%s", name, at.Format("20060102-1504"), ending)
}

// Write writes the file, and calls progress (unless nil) after each piece with the number of findings or assets
// written. Memory grows by only 4 bytes each; a PDF describes a limited number. After an error the file is incomplete.
func (f *File) Write(ctx context.Context, w io.Writer, progress func(done int)) error {
	out := &output{w: w, progress: progress}
	if f.Inventory != nil {
		return f.writeInventory(out)
	}
	if f.Log != nil {
		return f.writeLog(ctx, out)
	}
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

type output struct {
	w        io.Writer
	progress func(done int)
	done     int
}

func (o *output) text(text string) error {
	_, err := io.WriteString(o.w, text)
	return err
}

func (o *output) part(bytes []byte, findings int) error {
	if _, err := o.w.Write(bytes); err != nil {
		return err
	}
	o.done += findings
	if o.progress != nil {
		o.progress(o.done)
	}
	return nil
}

// list writes the encoded findings, with commas between.
func list(
	ctx context.Context, findings *finding.Selection, out *output,
	encode func(dst []byte, d *finding.Document) ([]byte, error),
) error {
	first := true
	return findings.Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
		return encode(append(dst, ",\n"...), d)
	}, func(part []byte, rows int) error {
		if first && rows > 0 {
			part, first = part[1:], false
		}
		return out.part(part, rows)
	})
}

func (f *File) writeJSON(ctx context.Context, out *output) error {
	if err := out.text("["); err != nil {
		return err
	}
	err := list(ctx, f.selected, out,
		func(dst []byte, d *finding.Document) ([]byte, error) { return d.AppendJSON(dst), nil })
	if err != nil {
		return err
	}
	return out.text("\n]\n")
}
