package export

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// column is a column of a table of T.
type column[T any] struct {
	name string
	text func(T) string
}

// columns are those of findings, without request and response: cells are too short for them.
var columns = []column[*finding.Document]{
	{"vuln_id", func(d *finding.Document) string { return d.ID }},
	{"name", info("name")},
	{"severity", func(d *finding.Document) string { return d.Severity }},
	{"vuln_status", func(d *finding.Document) string { return string(d.Status) }},
	{"target", func(d *finding.Document) string { return d.Target.Text }},
	{"host", func(d *finding.Document) string { return d.Host }},
	{"port", func(d *finding.Document) string { return number(d.Port) }},
	{"ip", event("ip")},
	{"matched_at", event("matched-at")},
	{"template_id", func(d *finding.Document) string { return d.TemplateID }},
	{"matcher_name", event("matcher-name")},
	{"extracted_results", func(d *finding.Document) string { return strings.Join(d.Event("extracted-results").Texts(), "\n") }},
	{"type", event("type")},
	{"description", info("description")},
	{"impact", info("impact")},
	{"remediation", info("remediation")},
	{"reference", func(d *finding.Document) string { return strings.Join(d.Info("reference").Texts(), "\n") }},
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
	{"template_url", func(d *finding.Document) string { return d.TemplateURL.Text }},
	{"created_at", func(d *finding.Document) string { return d.CreatedAt.Format(time.RFC3339) }},
	{"updated_at", func(d *finding.Document) string { return d.UpdatedAt.Format(time.RFC3339) }},
}

func event(key string) func(*finding.Document) string {
	return func(d *finding.Document) string { return d.Event(key).Text }
}

func info(key string) func(*finding.Document) string {
	return func(d *finding.Document) string { return d.Info(key).Text }
}

// classification is a text, a number or a list of words in capitals.
func classification(key string) func(*finding.Document) string {
	return func(d *finding.Document) string {
		value := d.Classification(key)
		if texts := value.Texts(); texts != nil {
			return strings.ToUpper(strings.Join(texts, ","))
		}
		return cmp.Or(value.Text, value.JSON)
	}
}

// number is a number, and "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (f *File) writeCSV(ctx context.Context, out *output) error {
	if _, err := out.w.Write(appendHeader(nil, columns)); err != nil {
		return err
	}
	return f.selected.Brief().Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
		return appendRecord(dst, columns, d), nil
	}, out.part)
}

func appendHeader[T any](dst []byte, columns []column[T]) []byte {
	for i, c := range columns {
		dst = appendCell(dst, c.name, i)
	}
	return append(dst, "\r\n"...)
}

func appendRecord[T any](dst []byte, columns []column[T], row T) []byte {
	for i, c := range columns {
		dst = appendCell(dst, Cell(c.text(row)), i)
	}
	return append(dst, "\r\n"...)
}

// appendCell appends the i-th cell of a record, quoted where RFC 4180 asks for it.
func appendCell(dst []byte, text string, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	if !strings.ContainsAny(text, ",\"\r\n;'") {
		return append(dst, text...)
	}
	return append(append(append(dst, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}

// maxCell is the most bytes of a cell. Spreadsheets take 32,767 characters.
const maxCell = 32_000

// Cell makes a text safe for a spreadsheet: it is not a formula and has no invisible characters.
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

// plainCell reports whether a text is like most: short printable ASCII that begins with a letter or a digit.
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

// formula reports whether a spreadsheet may take a text for a formula: after blanks it begins like one, in either width,
// or with a character that some spreadsheets skip.
func formula(text string) bool {
	if text != "" && (text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		return true
	}
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=+-@＝＋－＠|%", first) && text != ""
}

// visible replaces an invisible character: controls except tab and line feed, and marks of the writing direction.
func visible(r rune) rune {
	if r == '\n' || r == '\t' ||
		!unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\ufeff' && r != '\u2028' && r != '\u2029' {
		return r
	}
	return utf8.RuneError
}
