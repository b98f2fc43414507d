package docx

import (
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

// body writes the paragraphs and tables of a document.
type body struct{ strings.Builder }

func (b *body) writef(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// colours are those of severities.
var colours = map[string]string{
	"critical": "8F1D2C",
	"high":     "C2410C",
	"medium":   "946200",
	"low":      "1D67BD",
	"info":     "4F6173",
	"unknown":  "6B7280",
}

// run is a text with line breaks; properties are XML.
func run(text, properties string) string {
	if properties != "" {
		properties = "<w:rPr>" + properties + "</w:rPr>"
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		b.WriteString("<w:r>" + properties)
		if i > 0 {
			b.WriteString("<w:br/>")
		}
		for j, part := range strings.Split(line, "\t") {
			if j > 0 {
				b.WriteString("<w:tab/>")
			}
			b.WriteString(`<w:t xml:space="preserve">` + escape(part) + `</w:t>`)
		}
		b.WriteString("</w:r>")
	}
	return b.String()
}

func (b *body) paragraph(style, runs string, breakBefore bool) {
	more := ""
	if breakBefore {
		more = "<w:pageBreakBefore/>"
	}
	b.writef(`<w:p><w:pPr><w:pStyle w:val="%s"/>%s</w:pPr>%s</w:p>`, style, more, runs)
}

func (b *body) cover(d report.Document) {
	if p := d.CoverPicture; p.Format != "" {
		b.logo(p)
	}
	if d.Company != "" {
		b.paragraph("Company", run(d.Company, ""), false)
	}
	b.paragraph("Title", run(d.Title, ""), false)
	b.paragraph("Subtitle", run(d.Subtitle, ""), false)
	var facts [][2]string
	for _, pair := range d.Cover {
		if pair[1] != "" {
			facts = append(facts, pair)
		}
	}
	b.facts(facts)
	if len(d.Tiles) > 0 {
		b.tiles(d.Tiles)
	}
	b.paragraph("Note", run(d.Notice, ""), false)
}

// logo draws the picture at most 8 cm wide and 2.5 cm high.
func (b *body) logo(p report.Picture) {
	const wide, high = 8 * 360_000, 2.5 * 360_000 // in EMU
	scale := min(wide/float64(p.Width), high/float64(p.Height))
	x, y := int(float64(p.Width)*scale), int(float64(p.Height)*scale)
	b.writef(`<w:p><w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="%d" cy="%d"/>`+
		`<wp:docPr id="1" name="Logo"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">`+
		`<pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="Logo"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId3"/>`+
		`<a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="%d" cy="%d"/></a:xfrm>`+
		`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`,
		x, y, x, y)
}

func (b *body) tiles(tiles []report.Bar) {
	width := textWidth / len(tiles)
	b.WriteString(table(nil, make([]int, len(tiles)), width) + "<w:tr>")
	for _, t := range tiles {
		b.writef(`<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/><w:shd w:val="clear" w:color="auto" w:fill="%s"/></w:tcPr>`+
			`<w:p><w:pPr><w:pStyle w:val="Tile"/></w:pPr>%s</w:p></w:tc>`, width, colours[t.Severity],
			run(report.Thousands(t.N)+"\n"+t.Name, ""))
	}
	b.WriteString("</w:tr></w:tbl>")
	b.paragraph("Normal", "", false)
}

// table begins a table with columns of these widths, or all of one width.
func table(style *string, widths []int, all int) string {
	name := ""
	if style != nil {
		name = `<w:tblStyle w:val="` + *style + `"/>`
	}
	var out strings.Builder
	out.WriteString(`<w:tbl><w:tblPr>` + name + `<w:tblW w:w="5000" w:type="pct"/><w:tblLayout w:type="fixed"/></w:tblPr><w:tblGrid>`)
	for _, w := range widths {
		if all > 0 {
			w = all
		}
		fmt.Fprintf(&out, `<w:gridCol w:w="%d"/>`, w)
	}
	return out.String() + "</w:tblGrid>"
}

func cell(style, text string, width int) string {
	return fmt.Sprintf(
		`<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/></w:tcPr><w:p><w:pPr><w:pStyle w:val="%s"/></w:pPr>%s</w:p></w:tc>`,
		width,
		style,
		run(text, ""),
	)
}

func (b *body) facts(pairs [][2]string) {
	if len(pairs) == 0 {
		return
	}
	widths := []int{textWidth / 5, textWidth * 4 / 5}
	b.WriteString(table(nil, widths, 0))
	for _, pair := range pairs {
		b.WriteString(
			"<w:tr>" + cell("FactName", pair[0], widths[0]) + cell("Fact", breakable(pair[1]), widths[1]) + "</w:tr>",
		)
	}
	b.WriteString("</w:tbl>")
	b.paragraph("Gap", "", false)
}

func (b *body) table(block report.Block) {
	grid := "Grid"
	widths := make([]int, len(block.Widths))
	for i, part := range block.Widths {
		widths[i] = int(part * textWidth)
	}
	b.WriteString(table(&grid, widths, 0) + "<w:tr><w:trPr><w:tblHeader/></w:trPr>")
	for i, name := range block.Header {
		b.WriteString(cell("FactName", name, widths[i]))
	}
	b.WriteString("</w:tr>")
	for _, row := range block.Rows {
		b.WriteString("<w:tr><w:trPr><w:cantSplit/></w:trPr>")
		for i, text := range row {
			b.WriteString(cell("Cell", breakable(fact.Clip(text, 1000)), widths[i]))
		}
		b.WriteString("</w:tr>")
	}
	b.WriteString("</w:tbl>")
	b.paragraph("Gap", "", false)
}

// breakable lets long words break after 24 characters, with a space of no width.
func breakable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; r == ' ' || r == '\n' {
			n = 0
		}
		b.WriteRune(r)
		if n >= 24 || n > 12 && (r == '/' || r == '&' || r == '?') {
			b.WriteRune('\u200b')
			n = 0
		}
	}
	return b.String()
}

func (b *body) block(block report.Block) {
	switch block.Kind {
	case report.Heading:
		b.paragraph(fmt.Sprintf("Heading%d", min(max(block.Level, 1), 3)), run(block.Text, ""), block.Break)
	case report.FindingTag:
		tag := fmt.Sprintf(
			`<w:b/><w:color w:val="FFFFFF"/><w:sz w:val="18"/><w:shd w:val="clear" w:color="auto" w:fill="%s"/>`,
			colours[block.Severity],
		)
		b.paragraph("Heading2", run(" "+strings.ToUpper(block.Severity)+" ", tag)+run("  "+block.Text, ""), block.Break)
	case report.Paragraph:
		b.paragraph("Normal", run(block.Text, ""), false)
	case report.Note:
		b.paragraph("Note", run(block.Text, ""), false)
	case report.Facts:
		b.facts(block.Facts)
	case report.List:
		for _, item := range block.Items {
			b.paragraph("Item", run("•\t"+item, ""), false)
		}
	case report.Table:
		b.table(block)
	case report.Bars, report.Columns:
		b.bars(block.Bars)
	case report.Evidence:
		b.paragraph("Heading3", run(block.Text, ""), false)
		b.evidence(block.Excerpt)
	}
}

// bars are a table with blocks as long as their numbers.
func (b *body) bars(bars []report.Bar) {
	most := 1
	for _, bar := range bars {
		most = max(most, bar.N)
	}
	widths := []int{textWidth * 3 / 10, textWidth * 6 / 10, textWidth / 10}
	b.WriteString(table(nil, widths, 0))
	for _, bar := range bars {
		colour := colours[bar.Severity]
		if colour == "" {
			colour = "12324F"
		}
		long := bar.N * 40 / most
		if bar.N > 0 {
			long = max(long, 1)
		}
		b.writef(
			`<w:tr>%s<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/></w:tcPr><w:p><w:pPr><w:pStyle w:val="Cell"/></w:pPr>%s</w:p></w:tc>%s</w:tr>`,
			cell(
				"Cell",
				breakable(bar.Name),
				widths[0],
			),
			widths[1],
			run(strings.Repeat("█", long), `<w:color w:val="`+colour+`"/>`),
			cell("Cell", report.Thousands(bar.N), widths[2]),
		)
	}
	b.WriteString("</w:tbl>")
	b.paragraph("Gap", "", false)
}

func (b *body) evidence(e fact.Excerpt) {
	var runs strings.Builder
	at := 0
	for _, m := range e.Marked {
		runs.WriteString(run(e.Text[at:m[0]], ""))
		runs.WriteString(run(e.Text[m[0]:m[1]], `<w:b/><w:highlight w:val="yellow"/>`))
		at = m[1]
	}
	runs.WriteString(run(strings.TrimRight(e.Text[at:], "\r\n \t"), ""))
	b.paragraph("Code", runs.String(), false)
}
