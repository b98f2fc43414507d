package export

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// LogLine is the result of one check of a scan.
type LogLine struct {
	Target     string    `json:"target"`
	TemplateID string    `json:"template_id"`
	Matched    bool      `json:"matched" doc:"Whether something was found."`
	Error      string    `json:"error" doc:"What went wrong; empty when nothing did."`
	Timestamp  time.Time `json:"timestamp" doc:"When the run ended, or began while it has not."`
	Severity   string    `json:"severity" enum:"error,info" doc:"error where something went wrong."`
	Event      string    `json:"event" doc:"How the check ended, as in the coverage."`
}

// LineOf is a line of a log as answers and files show it.
func LineOf(l scan.LogLine) LogLine {
	out := LogLine{Target: l.Target, TemplateID: l.Template, Matched: l.Matched, Timestamp: l.At, Severity: "info",
		Event: string(l.State)}
	if l.Failed() {
		out.Severity, out.Error = "error", l.Reason
	}
	return out
}

// openLog counts the lines of a scan's log. A run that the scan does not have is errs.Missing.
func (es *Exports) openLog(ctx context.Context, r Request) (*File, error) {
	switch r.Format {
	case JSON, CSV, Lines:
	default:
		return nil, errs.Field("format", "format must be raw, json or csv.")
	}
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	found, err := es.from.Scans.Find(ctx, r.ScanID)
	if err != nil {
		return nil, err
	}
	// A rescan that begins meanwhile does not change which run it is.
	pick := *r.Log
	pick.Run = cmp.Or(pick.Run, found.Run)
	if pick.Run < 0 || pick.Run > found.Run {
		return nil, errs.Missing("run")
	}
	r.Log, r.Name = &pick, cmp.Or(r.Name, found.Name)
	at := es.now().UTC()
	f := &File{Request: r, FileName: fileName(r, at), es: es, caller: c, at: at}
	return f, es.from.Scans.EachLogLine(ctx, r.ScanID, pick, func(scan.LogLine) bool { f.Total++; return true })
}

func (f *File) writeLog(ctx context.Context, out *output) error {
	head, between, tail := "", "", ""
	switch f.Format {
	case JSON:
		head, between, tail = "[", ",", "]\n"
	case CSV:
		head = string(appendRecord(nil, logCells(LogLine{}), 0))
	}
	if err := out.text(head); err != nil {
		return err
	}
	var part []byte
	var failed error
	lines, first := 0, true
	flush := func(atLeast int) bool {
		if failed == nil && len(part) >= atLeast {
			failed = out.part(part, lines)
			part, lines = part[:0], 0
		}
		return failed == nil
	}
	err := f.es.from.Scans.EachLogLine(account.WithCaller(ctx, f.caller), f.ScanID, *f.Log, func(l scan.LogLine) bool {
		line := LineOf(l)
		if f.Format == CSV {
			part = appendRecord(part, logCells(line), 1)
		} else {
			if !first {
				part = append(part, between...)
			}
			var text []byte
			if text, failed = json.Marshal(line); failed != nil {
				return false
			}
			part = append(append(part, text...), '\n')
		}
		first = false
		lines++
		return flush(64 << 10)
	})
	if flush(1); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	return out.text(tail)
}

func logCells(l LogLine) [][2]string {
	return [][2]string{
		{"timestamp", l.Timestamp.Format(time.RFC3339)},
		{"target", l.Target},
		{"template_id", l.TemplateID},
		{"matched", strconv.FormatBool(l.Matched)},
		{"severity", l.Severity},
		{"event", l.Event},
		{"error", l.Error},
	}
}
