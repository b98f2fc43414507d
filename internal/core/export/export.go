// Package export writes findings, of scans and of tasks, for people (PDF, DOCX and HTML reports, CSV) and for
// programs (JSON, SARIF, CycloneDX, CSAF, OpenVEX, DefectDojo, OCSF), assets as JSON, CSV and lines of text, and logs
// of scans. A file is streamed to the caller, or made by a job and stored for some days.
//
// The files contain text from targets. Each format escapes it in one place: JSON is copied as it was encoded, a cell
// of CSV passes through Cell, SARIF through its library and reference, all other JSON through encoding/json, a report
// through the typesetter, the escaping of XML or html/template. Secrets in that text are masked before (masking.go),
// unless a member of the team asks for them; what is stored never changes.
package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/vex"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
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

	DOCX       Format = "docx"       // a report of findings, as PDF
	HTML       Format = "html"       // a report of findings, as PDF, in one file
	CycloneDX  Format = "cyclonedx"  // CycloneDX 1.6 VEX, JSON
	CSAF       Format = "csaf"       // CSAF 2.0, profile VEX
	OpenVEX    Format = "openvex"    // OpenVEX 0.2
	DefectDojo Format = "defectdojo" // DefectDojo's "Generic Findings Import", JSON
	OCSF       Format = "ocsf"       // OCSF 1.3, a Vulnerability Finding (2002) a line
)

// OfFinding are the formats of findings, in the order in which they are offered.
var OfFinding = []Format{JSON, CSV, PDF, DOCX, HTML, SARIF, CycloneDX, CSAF, OpenVEX, DefectDojo, OCSF}

// IsReport reports whether a format is for people: it counts all findings and describes some.
func (f Format) IsReport() bool { return f == PDF || f == DOCX || f == HTML }

// ContentType is the media type of a format.
func (f Format) ContentType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8"
	case PDF:
		return "application/pdf"
	case SARIF:
		return "application/sarif+json"
	case Lines, OCSF:
		return "application/x-ndjson"
	case DOCX:
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case HTML:
		return "text/html; charset=utf-8"
	case CycloneDX:
		return "application/vnd.cyclonedx+json; version=1.6"
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
	TaskID    string // of the task whose findings are exported; Filter has no effect then
	Filter    finding.Filter
	Style     report.Style    // of a report; empty fields are those of the team
	Unmasked  bool            // secrets are shown
	Inventory *Inventory      // assets, and no findings
	Log       *scan.LogFilter // the log of the scan ScanID, and no findings

	Schedule Schedule // that asks for it; zero: a person
}

// Schedule is what asks for an export again and again.
type Schedule struct {
	ID  string
	Run int64 // which of its times, from 1
	// Keep is how long its exports are kept.
	Keep time.Duration
}

// Sources are the services that exports read.
type Sources struct {
	Findings *finding.Findings
	Assets   *asset.Assets
	Scans    *scan.Scans
	Tasks    *task.Tasks
	Secrets  *secret.Secrets  // nil: none are known
	Catalog  *catalog.Catalog // nil: only the starter templates tell what proves a finding
	Version  string           // of this program
}

// Exports makes files of findings and assets.
type Exports struct {
	db     *db.DB
	queue  *queue.Queue
	from   Sources
	logger *slog.Logger
	now    func() time.Time

	starter func() map[string][]byte // the texts of the starter templates, by id
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, from Sources, logger *slog.Logger) *Exports {
	return &Exports{db: d, queue: q, from: from, logger: logger, now: time.Now,
		starter: sync.OnceValue(starterTexts)}
}

// File is an export that is ready to be written.
type File struct {
	Request
	FileName string // such as findings-20261121-0930.csv
	Total    int    // findings, assets or lines that will be in it

	es       *Exports
	selected *finding.Selection
	task     *taskFindings // of a task
	masker   *mask.Masker
	assets   iter.Seq2[[]asset.Asset, error] // of an inventory
	caller   account.Caller                  // Write reads logs in their name
	at       time.Time
}

// Open picks the findings or assets of a request, of the caller's team. Only a member or an admin of the team may ask
// for secrets unmasked (Forbidden).
func (es *Exports) Open(ctx context.Context, r Request) (*File, error) {
	if err := checkMask(ctx, r); err != nil {
		return nil, err
	}
	return es.open(ctx, r)
}

func checkMask(ctx context.Context, r Request) error {
	if !r.Unmasked {
		return nil
	}
	_, err := account.Writer(ctx)
	return err
}

func (es *Exports) open(ctx context.Context, r Request) (*File, error) {
	if r.Inventory != nil {
		return es.openInventory(ctx, r)
	}
	if r.Log != nil {
		return es.openLog(ctx, r)
	}
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	r.Name = cmp.Or(r.Name, "Findings")
	if !slices.Contains(OfFinding, r.Format) {
		return nil, errs.Field(
			"type",
			"type must be %s or %s.",
			join(OfFinding[:len(OfFinding)-1]),
			OfFinding[len(OfFinding)-1],
		)
	}
	f := &File{Request: r, es: es, caller: c, at: es.now().UTC()}
	f.FileName = fileName(r, f.at)
	if r.TaskID != "" {
		if f.task, err = es.findTask(ctx, r.TaskID); err != nil {
			return nil, err
		}
		f.Total = len(f.task.issues)
	} else {
		if f.selected, err = es.from.Findings.Select(ctx, r.Filter); err != nil {
			return nil, err
		}
		f.Total = f.selected.Len()
	}
	if collected := r.Format == CSAF || r.Format == OpenVEX; collected && f.Total > vex.MaxCollected {
		return nil, errs.New(
			errs.Invalid,
			"too_many_findings",
			"A file of the type %s holds at most %d findings, and these are %d. Narrow the filter.",
			r.Format,
			vex.MaxCollected,
			f.Total,
		).At("type")
	}
	f.masker, err = es.maskerOf(ctx, r, c.TeamID)
	return f, err
}

func join(all []Format) string {
	var out []string
	for _, f := range all {
		out = append(out, string(f))
	}
	return strings.Join(out, ", ")
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
	case r.TaskID != "":
		name = "task-" + r.TaskID
	case r.ScanID != "":
		name = "scan-" + r.ScanID
	}
	if longer, ok := endings[r.Format]; ok {
		ending = longer
	}
	return fmt.Sprintf("%s-%s.%s", name, at.Format("20060102-1504"), ending)
}

// endings are those of file names where they are not the format's name.
var endings = map[Format]string{Raw: "txt", CycloneDX: "cdx.json", CSAF: "csaf.json", OpenVEX: "openvex.json",
	DefectDojo: "defectdojo.json", OCSF: "ocsf.jsonl"}

// Write writes the file, and calls progress (unless nil) after each piece with the number of findings or assets
// written. Memory grows by only 4 bytes each; a report describes a limited number, CSAF and OpenVEX hold one. After an
// error the file is incomplete.
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
	case PDF, DOCX, HTML:
		return f.writeReport(ctx, out)
	case SARIF:
		return f.writeSARIF(ctx, out)
	case CycloneDX:
		return f.writeCycloneDX(ctx, out)
	case CSAF, OpenVEX:
		return f.writeCollected(ctx, out)
	case DefectDojo:
		return f.writeDefectDojo(ctx, out)
	case OCSF:
		return f.writeOCSF(ctx, out)
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

// encode gives each finding to encode, with its secrets masked, and writes what it appends.
func (f *File) encode(
	ctx context.Context, out *output, encode func(dst []byte, d *finding.Document) ([]byte, error),
) error {
	masked := func(dst []byte, d *finding.Document) ([]byte, error) {
		maskDocument(f.masker, d)
		return encode(dst, d)
	}
	if f.task != nil {
		return f.task.encode(masked, out.part)
	}
	selected := f.selected
	// Sessions are known from the requests, so that only a file with all secrets can do without them.
	if f.masker.Off() && (f.Format == CSV || f.Format == SARIF) {
		selected = selected.Brief()
	}
	return selected.Encode(ctx, masked, out.part)
}

// list writes the encoded findings, with commas between.
func (f *File) list(
	ctx context.Context, out *output, encode func(dst []byte, d *finding.Document) ([]byte, error),
) error {
	first := true
	commas := *out
	defer func() { out.done = commas.done }()
	commas.w = writerFunc(func(part []byte) (int, error) {
		written := len(part)
		if first && written > 0 {
			part, first = part[1:], false
		}
		_, err := out.w.Write(part)
		return written, err
	})
	return f.encode(ctx, &commas, func(dst []byte, d *finding.Document) ([]byte, error) {
		return encode(append(dst, ",\n"...), d)
	})
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func (f *File) writeJSON(ctx context.Context, out *output) error {
	if err := out.text("["); err != nil {
		return err
	}
	err := f.list(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) { return d.AppendJSON(dst), nil })
	if err != nil {
		return err
	}
	return out.text("\n]\n")
}
