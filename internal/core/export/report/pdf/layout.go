package pdf

import (
	"cmp"
	"slices"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

type layout struct {
	*typesetter

	document report.Document
}

// one is a text on one line, shortened if it is too long.
func (w *layout) one(fonts *fontset, what string, size, width float64) line {
	lines := fonts.lines(what, size, width)
	if len(lines) == 1 {
		return lines[0]
	}
	return fonts.lines(strings.TrimSpace(strings.ToValidUTF8(what[:min(len(what), 40)], ""))+" …", size, 10*width)[0]
}

func (w *layout) cover() []core.Row {
	d := w.document
	brand := w.one(w.bold, cmp.Or(d.Company, "V E D E T T E"), 11, textWidth-12)
	tiles := []core.Row{space(14)}
	if len(d.Tiles) > 0 {
		tiles = append(tiles, w.tiles())
	}
	gap := 52.0
	if len(d.Logo) > 0 {
		gap = 27
	}
	return slices.Concat(
		[]core.Row{drawn(14, accent, func(p pen) { p.write(brand, 6, 4.6, 11, white) }), space(gap)},
		text(style{w.bold, 30, ink}, fact.Clip(d.Title, 200)),
		[]core.Row{space(4)},
		text(style{w.plain, 16, muted}, fact.Clip(d.Subtitle, 300)),
		[]core.Row{space(8), drawn(1.6, nil, func(p pen) { p.box(0, 0, 38, 1.2, accent) }), space(10)},
		w.facts(d.Cover, 11),
		append(tiles, space(14)),
		text(style{w.plain, 8.5, muted}, d.Notice))
}

func (w *layout) tiles() core.Row {
	const gap = 2.5
	tiles := w.document.Tiles
	wide := (textWidth - (float64(len(tiles))-1)*gap) / float64(len(tiles))
	var numbers, names []line
	for _, t := range tiles {
		numbers = append(numbers, w.one(w.bold, report.Thousands(t.N), 15, wide*2))
		names = append(names, w.one(w.plain, t.Name, 8.5, wide*2))
	}
	return drawn(22, nil, func(p pen) {
		for i, t := range tiles {
			x := float64(i) * (wide + gap)
			p.box(x, 0, wide, 22, colorOf(t.Severity))
			p.write(numbers[i], x+(wide-numbers[i].width)/2, 4.5, 15, white)
			p.write(names[i], x+(wide-names[i].width)/2, 13.5, 8.5, white)
		}
	})
}

// block is the rows of a block.
func (w *layout) block(b report.Block) []core.Row {
	switch b.Kind {
	case report.Heading:
		return w.heading(b)
	case report.FindingTag:
		return w.finding(b)
	case report.Paragraph:
		return append(text(style{w.plain, 10, ink}, b.Text), space(2.5))
	case report.Note:
		return append(text(style{w.plain, 8, muted}, b.Text), space(1.5))
	case report.Facts:
		return append(w.facts(b.Facts, 9), space(2))
	case report.List:
		return w.list(b.Items)
	case report.Table:
		return w.table(b)
	case report.Bars:
		return append(w.bars(b.Bars), space(5))
	case report.Columns:
		return []core.Row{w.columns(b.Bars), space(6)}
	case report.Evidence:
		return slices.Concat([]core.Row{space(2.5)}, text(style{w.bold, 9.5, ink}, b.Text), []core.Row{space(1)},
			w.code(b.Excerpt), []core.Row{space(1)})
	}
	return nil
}

func (w *layout) heading(b report.Block) []core.Row {
	switch b.Level {
	case 1:
		return append(text(style{w.bold, 18, accent}, b.Text), space(1.5), rule(), space(4))
	case 2:
		return slices.Concat([]core.Row{space(3)}, text(style{w.bold, 12, ink}, b.Text), []core.Row{space(1.5)})
	default:
		return slices.Concat([]core.Row{space(2)}, text(style{w.bold, 11, ink}, b.Text), []core.Row{space(1)})
	}
}

// finding is the head of a cause.
func (w *layout) finding(b report.Block) []core.Row {
	badge := w.one(w.bold, strings.ToUpper(b.Severity), 8, 60)
	return slices.Concat(
		[]core.Row{space(8), drawn(6.4, nil, func(p pen) {
			p.box(0, 0, badge.width+7, 5.6, colorOf(b.Severity))
			p.write(badge, 3.5, 1.2, 8, white)
		})},
		text(style{w.bold, 13, ink}, b.Text), []core.Row{space(1), rule(), space(1.5)})
}

func (w *layout) list(items []string) (rows []core.Row) {
	const inset, size = 5.0, 10.0
	for _, item := range items {
		dot := w.one(w.plain, "•", size, inset)
		for i, l := range w.plain.lines(strings.TrimSpace(item), size, textWidth-inset) {
			rows = append(rows, drawn(size*mmPerPoint*leading, nil, func(p pen) {
				if i == 0 {
					p.write(dot, 1, 0, size, ink)
				}
				p.write(l, inset, 0, size, ink)
			}))
		}
		rows = append(rows, space(1.5))
	}
	return append(rows, space(1.5))
}

// maxCellLines bounds the height of a row of a table: a row does not leave its page.
const maxCellLines = 12

func (w *layout) table(b report.Block) []core.Row {
	rows := []core.Row{w.tableRow(b.Header, b.Widths, style{w.bold, 8.5, muted})}
	for _, cells := range b.Rows {
		rows = append(rows, w.tableRow(cells, b.Widths, style{w.plain, 8.5, ink}))
	}
	return append(rows, space(4))
}

func (w *layout) tableRow(cells []string, widths []float64, s style) core.Row {
	const pad = 1.0
	columns := make([][]line, len(cells))
	most := 1
	for i, cell := range cells {
		columns[i] = s.fonts.lines(fact.Clip(cell, 1500), s.size, widths[i]*textWidth-2*pad)
		if len(columns[i]) > maxCellLines {
			columns[i] = append(columns[i][:maxCellLines-1], w.one(s.fonts, "[…]", s.size, 20))
		}
		most = max(most, len(columns[i]))
	}
	height := s.size * mmPerPoint * leading
	total := float64(most)*height + 2
	return drawn(total, nil, func(p pen) {
		x := 0.0
		for i, lines := range columns {
			for n, l := range lines {
				p.write(l, x+pad, 0.8+float64(n)*height, s.size, s.color)
			}
			x += widths[i] * textWidth
		}
		p.box(0, total-0.2, textWidth, 0.2, hairline)
	})
}

// facts is a table of names and values, without empty values.
func (w *layout) facts(pairs [][2]string, size float64) (rows []core.Row) {
	const left = 36.0
	height := size * mmPerPoint * leading
	for _, pair := range pairs {
		if pair[1] == "" {
			continue
		}
		name := w.one(w.bold, pair[0], size, left)
		for i, l := range w.plain.lines(pair[1], size, textWidth-left) {
			rows = append(rows, drawn(height, nil, func(p pen) {
				if i == 0 {
					p.write(name, 0, 0, size, muted)
				}
				p.write(l, left, 0, size, ink)
			}))
		}
		rows = append(rows, space(0.8))
	}
	return rows
}

// code is evidence as it was seen, in a frame, with what proves something on a background of its own.
func (w *layout) code(e fact.Excerpt) []core.Row {
	const inset, size = 3.0, 7.5
	edge := func() core.Row { return drawn(1.5, paper, func(pen) {}) }
	rows := []core.Row{edge()}
	for _, l := range w.mono.marked(strings.TrimRight(e.Text, "\r\n \t"), e.Marked, size, textWidth-2*inset) {
		rows = append(rows, drawn(size*mmPerPoint*leading, paper, func(p pen) {
			for _, m := range l.marked {
				p.box(inset+m[0], -0.2, m[1]-m[0], size*mmPerPoint*leading, highlight)
			}
			p.write(l, inset, 0, size, ink)
		}))
	}
	return append(rows, edge())
}

func (w *layout) footer() core.Row {
	name := w.one(
		w.plain,
		cmp.Or(w.document.Company, "Vedette")+" · "+fact.Clip(w.document.Subtitle, 90),
		8,
		textWidth-40,
	)
	return drawn(7, nil, func(p pen) {
		p.box(0, 3, textWidth, 0.2, hairline)
		p.write(name, 0, 7, 8, muted)
	})
}
