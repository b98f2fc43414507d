// Package pdf draws a report as a PDF. Of the library (maroto) it uses pages, text, lines and pictures; lines of text
// are broken by its own typesetter, which knows the width of each character in each font.
package pdf

import (
	"context"
	"fmt"
	"io"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/image"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

const (
	pageWidth, sideMargin, topMargin, footMargin = 210.0, 20.0, 18.0, 18.0
	textWidth                                    = pageWidth - 2*sideMargin
)

// keepTogether is how many mm must be left on a page for a cause to begin there.
const keepTogether = 70

// group is rows that begin on a new page, or where there is room.
type group struct {
	rows   []core.Row
	breaks bool
	room   float64 // mm that must be left on a page for it to begin there; 0: any
}

// Write draws a document.
func Write(ctx context.Context, w io.Writer, d report.Document) error {
	t, err := newTypesetter()
	if err != nil {
		return err
	}
	l := &layout{typesetter: t, document: d}
	cover := l.cover()
	var groups []group
	for i, b := range d.Blocks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g := group{rows: l.block(b), room: l.room(i)}
		// The first cause begins a page, others only where little of the present one is left.
		g.breaks = b.Break && b.Kind == report.Heading
		groups = append(groups, g)
	}
	footer := l.footer()

	m := maroto.New(l.config())
	if err := m.RegisterFooter(footer); err != nil {
		return err
	}
	if len(d.Logo) > 0 {
		m.AddRows(logo(d))
	}
	m.AddRows(cover...)
	for _, g := range groups {
		if g.breaks || g.room > 0 && !m.FitlnCurrentPage(g.room) {
			m.AddPages(page.New())
		}
		m.AddRows(g.rows...)
	}
	document, err := m.Generate()
	if err != nil {
		return fmt.Errorf("making a PDF: %w", err)
	}
	_, err = w.Write(document.GetBytes())
	return err
}

// room is how much of a page a block needs to begin there: a heading does not stand alone at its end.
func (l *layout) room(i int) float64 {
	switch b := l.document.Blocks[i]; {
	case b.Kind == report.FindingTag:
		return keepTogether
	case b.Kind == report.Heading && b.Level == 2 && i+1 < len(l.document.Blocks) &&
		(l.document.Blocks[i+1].Kind == report.Bars || l.document.Blocks[i+1].Kind == report.Columns):
		return 60
	case b.Kind == report.Heading:
		return 22
	case b.Kind == report.Evidence:
		return 24
	}
	return 0
}

// logo is a row with the picture, at most 25 mm high.
func logo(d report.Document) core.Row {
	kind := extension.Png
	if d.CoverPicture.Format == "jpeg" {
		kind = extension.Jpg
	}
	return row.New(25).Add(image.NewFromBytesCol(5, d.Logo, kind, props.Rect{Percent: 90}))
}

func (l *layout) config() *entity.Config {
	var fonts []*entity.CustomFont
	for _, f := range l.faces {
		if f.used {
			fonts = append(fonts, &entity.CustomFont{Family: f.family, Style: f.style, Bytes: f.bytes})
		}
	}
	return config.NewBuilder().
		WithLeftMargin(sideMargin).WithRightMargin(sideMargin).WithTopMargin(topMargin).WithBottomMargin(footMargin).
		WithCustomFonts(fonts).WithDefaultFont(&props.Font{Family: "sans", Size: 10}).WithCompression(true).
		WithTitle(l.bold.printable(l.document.Title+": "+l.document.Subtitle), true).WithCreator("Vedette", true).
		WithCreationDate(l.document.At).
		WithPageNumber(props.PageNumber{
			Pattern: "Page {current} of {total}", Place: props.RightBottom, Family: "sans", Size: 8, Color: muted,
		}).Build()
}
