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

// cells are the names and texts of a finding's cells, without request and response, which are too long for a cell.
func cells(d *finding.Document) [][2]string {
	return [][2]string{
		{"vuln_id", d.ID},
		{"name", d.Info("name").Text},
		{"severity", d.Severity},
		{"vuln_status", string(d.Status)},
		{"target", d.Target.Text},
		{"host", d.Host},
		{"port", number(d.Port)},
		{"ip", d.Event("ip").Text},
		{"matched_at", d.Event("matched-at").Text},
		{"template_id", d.TemplateID},
		{"matcher_name", d.Event("matcher-name").Text},
		{"extracted_results", strings.Join(d.Event("extracted-results").Texts(), "\n")},
		{"type", d.Event("type").Text},
		{"description", d.Info("description").Text},
		{"impact", d.Info("impact").Text},
		{"remediation", d.Info("remediation").Text},
		{"reference", strings.Join(d.Info("reference").Texts(), "\n")},
		{"tags", d.Tags},
		{"cve_id", classification(d, "cve-id")},
		{"cwe_id", classification(d, "cwe-id")},
		{"cvss_score", classification(d, "cvss-score")},
		{"cvss_metrics", classification(d, "cvss-metrics")},
		{"epss_score", classification(d, "epss-score")},
		{"labels", d.Labels},
		{"due_at", dueAt(d)},
		{"due_state", d.Follows.DueState},
		{"is_kev", strconv.FormatBool(d.Follows.IsKEV)},
		{"is_regression", strconv.FormatBool(d.IsRegression)},
		{"is_internal", strconv.FormatBool(d.IsInternal)},
		{"scan_id", d.ScanID},
		{"vuln_hash", d.Hash},
		{"template_url", d.TemplateURL.Text},
		{"created_at", d.CreatedAt.Format(time.RFC3339)},
		{"updated_at", d.UpdatedAt.Format(time.RFC3339)},
	}
}

func dueAt(d *finding.Document) string {
	if !d.HasDate() {
		return ""
	}
	return d.DueAt().Format(time.RFC3339)
}

// classification is a text, a number or a list of words in capitals.
func classification(d *finding.Document, key string) string {
	value := d.Classification(key)
	if texts := value.Texts(); texts != nil {
		return strings.ToUpper(strings.Join(texts, ","))
	}
	return cmp.Or(value.Text, value.JSON)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (f *File) writeCSV(ctx context.Context, out *output) error {
	if _, err := out.w.Write(appendRecord(nil, cells(&finding.Document{}), 0)); err != nil {
		return err
	}
	return f.encode(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		return appendRecord(dst, cells(d), 1), nil
	})
}

// appendRecord appends the names (part 0) or the texts (part 1) of cells.
func appendRecord(dst []byte, cells [][2]string, part int) []byte {
	for i, c := range cells {
		dst = appendCell(dst, Cell(c[part]), i)
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

// formula reports whether a spreadsheet may take a text for a formula: after characters that show nothing it begins
// like one, in either width, or with a character that some spreadsheets skip.
func formula(text string) bool {
	if text != "" && (text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		return true
	}
	text = strings.TrimLeftFunc(text, showsNothing)
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=+-@＝＋－＠|%", first) && text != ""
}

// showsNothing reports whether a character is a blank or has no shape of its own (Default_Ignorable_Code_Point).
func showsNothing(r rune) bool {
	return unicode.IsSpace(r) || r == utf8.RuneError || r == '\u2800' || // the empty braille pattern
		unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
}

// visible replaces an invisible character: controls except tab and line feed, and marks of the writing direction.
func visible(r rune) rune {
	if r == '\n' || r == '\t' ||
		!unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\ufeff' && r != '\u2028' && r != '\u2029' {
		return r
	}
	return utf8.RuneError
}
