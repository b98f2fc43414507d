// Package html draws a report as one HTML file: its style and its logo are in it, it loads nothing, runs no script
// and has no links. html/template escapes every text for the place where it stands; the policy in its head (CSP)
// would stop what were to get through: it allows the one style sheet by its hash, and pictures that are in the file.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

var (
	//go:embed style.css
	style string
	//go:embed report.gohtml
	page string
)

// Write draws a document.
func Write(w io.Writer, d report.Document) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"kind": kind, "pieces": pieces, "thousands": report.Thousands, "lines": lines, "bar": bar, "columns": columns,
		"plain": plain,
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("the template of HTML reports: %w", err)
	}
	sum := sha256.Sum256([]byte(style))
	data := struct {
		report.Document

		Style  template.CSS
		Policy string
		Logo   template.URL
	}{Document: d, Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"}
	data.Style = template.CSS(style) //nolint:gosec // ours, from the binary
	if len(d.Logo) > 0 {             // a picture that was decoded before
		data.Logo = template.URL( //nolint:gosec // base64 of a picture that was decoded
			"data:image/" + d.CoverPicture.Format + ";base64," + base64.StdEncoding.EncodeToString(d.Logo),
		)
	}
	return t.Execute(w, data)
}

// kind names a block for the template.
func kind(b report.Block) string {
	return [...]string{report.Heading: "heading", report.Paragraph: "paragraph", report.Note: "note",
		report.Facts: "facts",
		report.List:  "list", report.Table: "table", report.Bars: "bars", report.Columns: "columns",
		report.FindingTag: "finding", report.Evidence: "evidence"}[b.Kind]
}

// plain is a text without characters that show nothing or turn the direction of others: they are written as their
// code.
func plain(text string) string {
	hidden := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff'
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func lines(text string) []string { return strings.Split(plain(text), "\n") }

// piece is a part of an excerpt.
type piece struct {
	Text   string
	Marked bool
}

// pieces divides an excerpt at its marks.
func pieces(e fact.Excerpt) (out []piece) {
	at := 0
	for _, m := range e.Marked {
		out = append(out, piece{plain(e.Text[at:m[0]]), false}, piece{plain(e.Text[m[0]:m[1]]), true})
		at = m[1]
	}
	return append(out, piece{plain(e.Text[at:]), false})
}

// bar is a bar with its length as a part of 1,000.
type drawn struct {
	report.Bar

	Length int
	X      int // of a column
	Rest   int // above a column
}

func bar(all []report.Bar) (out []drawn) {
	most := 1
	for _, b := range all {
		most = max(most, b.N)
	}
	for _, b := range all {
		length := b.N * 1000 / most
		if b.N > 0 {
			length = max(length, 4)
		}
		out = append(out, drawn{Bar: b, Length: length})
	}
	return out
}

// columns are bars of a chart of 1,000 by 200.
func columns(all []report.Bar) []drawn {
	out := bar(all)
	for i := range out {
		out[i].Length /= 5
		out[i].Rest = 200 - out[i].Length
		out[i].X = i * 1000 / max(len(out), 12)
	}
	return slices.Clip(out)
}
