package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

type sink struct {
	flags   *scanFlags
	w       io.Writer
	file    *os.File                // also receives findings; nil without --output
	colours bool                    // on w
	stored  *passive                // whose files are named instead of sites; nil otherwise
	worst   int                     // the best rank seen
	matched map[cellKey]bool        // with --matcher-status: of targets that have not ended
	known   map[string]engine.Event // what unmatched prints of a template
	err     error
}

type cellKey struct{ target, template string }

func newSink(out io.Writer, f *scanFlags) (*sink, error) {
	s := &sink{flags: f, w: out, worst: len(cli.Severities), matched: map[cellKey]bool{}}
	s.colours = !f.noColor && cli.IsTerminal(out) && os.Getenv("NO_COLOR") == ""
	f.jsonl = f.jsonl || f.out == "json"
	if f.out != "" && f.out != "json" {
		how := os.O_TRUNC
		if f.resume != "" {
			how = os.O_APPEND // what an earlier run has found stays
		}
		var err error
		if s.file, err = os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|how, 0o600); err != nil {
			return nil, cli.Usagef("--output: %w", err)
		}
	}
	return s, nil
}

// write prints one finding. It is not called concurrently.
func (s *sink) write(e engine.Event) {
	s.stored.event(&e)
	s.worst = min(s.worst, cli.SeverityRank(string(e.Info.Severity)))
	if s.flags.status {
		s.matched[cellKey{e.Target, e.TemplateID}] = true
	}
	s.print(&e)
}

func (s *sink) print(e *engine.Event) {
	if s.flags.omitRaw || !s.flags.raw {
		e.Request, e.Response = "", ""
	}
	var line []byte
	var err error
	if s.flags.jsonl {
		if line, err = jsonLine(e); err == nil {
			_, err = s.w.Write(line)
		}
	} else {
		line = []byte(s.line(e, false))
		_, err = io.WriteString(s.w, s.line(e, s.colours))
	}
	if err == nil && s.file != nil {
		_, err = s.file.Write(line)
	}
	s.err = errors.Join(s.err, err)
}

// countEarlier counts findings of an earlier run of the scan.
func (s *sink) countEarlier(severities []string) {
	for _, severity := range severities {
		s.worst = min(s.worst, cli.SeverityRank(severity))
	}
}

func (s *sink) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// line is a finding as text (template language, 8.3), safe for a terminal.
func (s *sink) line(e *engine.Event, colours bool) string {
	if s.flags.noMeta {
		return oneLine(e.MatchedAt) + "\n"
	}
	var b strings.Builder
	for _, text := range s.labels(e) {
		b.WriteString("[" + oneLine(text) + "] ")
	}
	severity := oneLine(string(e.Info.Severity))
	if colours {
		severity = paint[severity] + severity + "\x1b[0m"
	}
	b.WriteString("[" + severity + "] " + oneLine(e.MatchedAt))
	details(&b, e)
	b.WriteByte('\n')
	return b.String()
}

// labels are the words in brackets before the severity.
func (s *sink) labels(e *engine.Event) (labels []string) {
	if s.flags.timestamps {
		labels = append(labels, e.Timestamp.Format("2006-01-02 15:04:05"))
	}
	name := e.TemplateID
	if which := cmp.Or(e.MatcherName, e.ExtractorName); which != "" {
		name += ":" + which
	}
	labels = append(labels, name)
	if s.flags.status {
		labels = append(labels, map[bool]string{true: "matched", false: "failed"}[e.MatcherStatus])
	}
	if e.Global {
		labels = append(labels, "global")
	}
	return append(labels, e.Type)
}

// oneLine is Printable without line breaks.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, cli.Printable(text))
}

func details(b *strings.Builder, e *engine.Event) {
	list := func(texts []string) {
		if len(texts) > 0 {
			b.WriteString(" [" + strings.Join(texts, ",") + "]")
		}
	}
	var found, meta []string
	for _, text := range e.ExtractedResults {
		found = append(found, strconv.QuoteToASCII(strings.TrimSpace(text)))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Meta)) {
		meta = append(meta, oneLine(name)+"="+strconv.QuoteToASCII(e.Meta[name]))
	}
	list(found)
	list(meta)
	if e.FuzzingParameter != "" {
		list([]string{e.FuzzingPosition + ":" + strconv.QuoteToASCII(e.FuzzingParameter)})
	}
	if e.FuzzingMethod != "" {
		list([]string{oneLine(e.FuzzingMethod)})
	}
	if e.Error != "" {
		b.WriteString(" " + oneLine(e.Error))
	}
}

var paint = map[string]string{
	"critical": "\x1b[1;35m", "high": "\x1b[31m", "medium": "\x1b[33m", "low": "\x1b[32m", "info": "\x1b[34m",
	"unknown": "\x1b[37m",
}

// jsonLine is an event as a line of JSON, safe for a terminal: JSON itself escapes only ASCII control characters.
func jsonLine(e *engine.Event) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return nil, err
	}
	line := b.Bytes()
	if !bytes.ContainsFunc(line[:len(line)-1], cli.IsControl) {
		return line, nil
	}
	safe := make([]byte, 0, len(line)+64)
	for rest := line[:len(line)-1]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if cli.IsControl(r) {
			safe = fmt.Appendf(safe, `\u%04x`, r)
		} else {
			safe = append(safe, rest[:size]...)
		}
		rest = rest[size:]
	}
	return append(safe, '\n'), nil
}

// unmatched prints an event for each template that did not match a target which has ended, with the reason if it was
// not tested.
func (s *sink) unmatched(t *engine.TargetReport, chosen *templates.Selection, ids []string) {
	if s.known == nil {
		s.known = map[string]engine.Event{}
		for _, p := range chosen.Programs {
			s.known[p.ID] = engine.Event{Info: p.Info, TemplatePath: p.Path}
		}
		for _, w := range chosen.Workflows {
			s.known[w.ID] = engine.Event{Info: w.Info, TemplatePath: w.Path}
		}
	}
	ended := time.Now().UTC()
	for cell := range t.Cells(ids) {
		key := cellKey{cell.Target, cell.Template}
		if s.matched[key] {
			delete(s.matched, key)
			continue
		}
		e := s.known[cell.Template]
		e.TemplateID, e.Type, e.MatchedAt, e.Timestamp = cell.Template, "http", cell.Target, ended
		if t, err := targets.Parse(cell.Target); err == nil {
			if u, err := url.Parse(t.URL()); err == nil {
				e.Host, e.Port, e.Path = u.Hostname(), u.Port(), u.Path
			}
		}
		if cell.State != engine.Tested && cell.State != engine.NotApplicable {
			e.Error = strings.TrimSuffix(string(cell.State)+": "+cell.Reason, ": ")
		}
		s.print(&e)
	}
}
