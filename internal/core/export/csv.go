package export

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// column is one of a table.
type column struct {
	name string
	text func(d *finding.Document) string
}

// columns are what a spreadsheet shows of a finding; the request and the response are
// longer than its cells can be.
var columns = []column{
	{"vuln_id", func(d *finding.Document) string { return d.ID }},
	{"name", info("name")},
	{"severity", func(d *finding.Document) string { return d.Severity }},
	{"vuln_status", func(d *finding.Document) string { return string(d.Status) }},
	{"target", func(d *finding.Document) string { return d.Target.Text() }},
	{"host", func(d *finding.Document) string { return d.Host }},
	{"port", func(d *finding.Document) string { return port(d.Port) }},
	{"ip", event("ip")},
	{"matched_at", event("matched-at")},
	{"template_id", func(d *finding.Document) string { return d.TemplateID }},
	{"matcher_name", event("matcher-name")},
	{"extracted_results", func(d *finding.Document) string { return strings.Join(d.Event.Get("extracted-results").Texts(), "\n") }},
	{"type", event("type")},
	{"description", info("description")},
	{"impact", info("impact")},
	{"remediation", info("remediation")},
	{"reference", func(d *finding.Document) string { return strings.Join(d.Info.Get("reference").Texts(), "\n") }},
	{"tags", func(d *finding.Document) string { return d.Tags }},
	{"cve_id", classification("cve-id")},
	{"cwe_id", classification("cwe-id")},
	{"cvss_score", classification("cvss-score")},
	{"cvss_metrics", classification("cvss-metrics")},
	{"epss_score", classification("epss-score")},
	{"labels", func(d *finding.Document) string { return d.Labels }},
	{"is_regression", func(d *finding.Document) string { return strconv.FormatBool(d.IsRegression) }},
	{"is_internal", func(d *finding.Document) string { return strconv.FormatBool(d.IsInternal) }},
	{"scan_id", func(d *finding.Document) string { return d.ScanID }},
	{"vuln_hash", func(d *finding.Document) string { return d.Hash }},
	{"template_url", func(d *finding.Document) string { return d.TemplateURL.Text() }},
	{"created_at", func(d *finding.Document) string { return d.CreatedAt.Format(time.RFC3339) }},
	{"updated_at", func(d *finding.Document) string { return d.UpdatedAt.Format(time.RFC3339) }},
}

func event(key string) func(*finding.Document) string {
	return func(d *finding.Document) string { return d.Event.Get(key).Text() }
}

func info(key string) func(*finding.Document) string {
	return func(d *finding.Document) string { return d.Info.Get(key).Text() }
}

// classification is a text, a number or the words of the event's classification.
func classification(key string) func(*finding.Document) string {
	return func(d *finding.Document) string {
		switch value := d.Classification().Get(key); {
		case value == nil:
			return ""
		case value[0] == '"':
			return value.Text()
		case value[0] == '[':
			return strings.ToUpper(strings.Join(value.Texts(), ","))
		default:
			return string(value)
		}
	}
}

func port(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (f *File) writeCSV(ctx context.Context, out *outlet) error {
	var header []byte
	for i, c := range columns {
		header = appendCell(header, c.name, i)
	}
	if _, err := out.w.Write(append(header, "\r\n"...)); err != nil {
		return err
	}
	return f.selected.Brief().Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
		for i, c := range columns {
			dst = appendCell(dst, Cell(c.text(d)), i)
		}
		return append(dst, "\r\n"...), nil
	}, out.part)
}

// appendCell appends the i-th cell of a record, quoted where RFC 4180 asks for it.
func appendCell(dst []byte, text string, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	if !strings.ContainsAny(text, ",\"\r\n;'") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for {
		before, after, more := strings.Cut(text, `"`)
		dst = append(dst, before...)
		if !more {
			return append(dst, '"')
		}
		dst = append(dst, `""`...)
		text = after
	}
}

// maxCell is how many bytes a cell has at most. Spreadsheets take 32,767 characters.
const maxCell = 32_000

// Cell makes a text safe for a spreadsheet: it is no formula, and has no characters that
// act instead of being seen.
func Cell(text string) string {
	if plainCell(text) {
		return text
	}
	if len(text) > maxCell {
		cut := maxCell
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + " […]"
	}
	text = strings.Map(visible, strings.ReplaceAll(text, "\r\n", "\n"))
	if formula(text) {
		return "'" + text
	}
	return text
}

// plainCell reports whether a text is as most are: short, printable ASCII that begins
// with a letter or a digit.
func plainCell(text string) bool {
	if text == "" {
		return true
	}
	if first := text[0] | 0x20; len(text) > maxCell || (first < 'a' || first > 'z') && (text[0] < '0' || text[0] > '9') {
		return false
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// formula reports whether a spreadsheet may take a text for a formula: it begins, behind
// blanks, with what formulas begin with, in either width, or with a character that some
// spreadsheets pass over.
func formula(text string) bool {
	if text != "" && (text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		return true
	}
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=+-@＝＋－＠|%", first) && text != ""
}

// visible replaces a character that acts instead of being seen: controls but for the end
// of a line and the tab, and marks of the direction of writing.
func visible(r rune) rune {
	if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\ufeff' && r != '\u2028' && r != '\u2029' {
		return r
	}
	return utf8.RuneError
}
