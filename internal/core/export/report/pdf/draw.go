package pdf

import (
	"math"
	"strings"

	"github.com/johnfercher/go-tree/node"
	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/consts/orientation"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
)

// The colours of a report.
var (
	ink      = color(0x1f2937)
	muted    = color(0x6b7280)
	accent   = color(0x12324f)
	hairline = color(0xd1d5db)
	paper    = color(0xf3f4f6)
	white    = color(0xffffff)

	highlight = color(0xffe08a) // behind what proves a finding
)

func color(rgb int) *props.Color {
	return &props.Color{Red: rgb >> 16, Green: rgb >> 8 & 0xff, Blue: rgb & 0xff}
}

func colorOf(severity string) *props.Color {
	return color(map[string]int{
		"critical": 0x8f1d2c, "high": 0xc2410c, "medium": 0x946200, "low": 0x1d67bd, "info": 0x4f6173, "unknown": 0x6b7280,
	}[severity])
}

// drawing is a component that draws itself. Of the library only paging, text and lines are used: its own text component
// breaks lines at blanks only, so that a long word of a target would leave the page.
type drawing struct {
	draw func(p pen)
}

// Render implements core.Component.
func (d drawing) Render(p core.Provider, cell *entity.Cell) { d.draw(pen{p, *cell}) }

// GetHeight implements core.Component: rows say how high they are.
func (drawing) GetHeight(core.Provider, *entity.Cell) float64 { return 0 }

// SetConfig implements core.Component.
func (drawing) SetConfig(*entity.Config) {}

// GetStructure implements core.Component.
func (drawing) GetStructure() *node.Node[core.Structure] {
	return node.New(core.Structure{Type: "drawing"})
}

// drawn is a row of a height in mm, on a background unless it is nil.
func drawn(height float64, background *props.Color, draw func(p pen)) core.Row {
	// Sums of such heights are exact: where one exceeds a page by a rounding error, the library begins another page.
	height = math.Ceil(height*64) / 64
	return row.New(height).Add(col.New().Add(drawing{func(p pen) {
		if background != nil { // the library's own backgrounds follow another cursor
			p.box(0, 0, textWidth, height+0.05, background)
		}
		draw(p)
	}}))
}

func space(height float64) core.Row { return drawn(height, nil, func(pen) {}) }

// pen draws into a cell, in mm from its upper left corner.
type pen struct {
	core.Provider
	cell entity.Cell
}

// write writes a line in a size in points, its top at y.
func (p pen) write(l line, x, y, size float64, c *props.Color) {
	for _, r := range l.runs {
		// The cell is so wide that the line is not broken again.
		at := entity.Cell{X: p.cell.X + x + r.x, Y: p.cell.Y + y, Width: 10_000, Height: p.cell.Height + size}
		p.AddText(r.text, &at, &props.Text{Family: r.face.family, Style: r.face.style, Size: size, Align: align.Left,
			Color: c})
	}
}

// box fills a rectangle: a line as thick as it is wide.
func (p pen) box(x, y, width, height float64, c *props.Color) {
	if width <= 0 || height <= 0 {
		return
	}
	at := entity.Cell{X: p.cell.X + x, Y: p.cell.Y + y, Width: width, Height: height}
	p.AddLine(&at, &props.Line{
		Color: c, Style: linestyle.Solid, Thickness: width, Orientation: orientation.Vertical, OffsetPercent: 50,
		SizePercent: 100,
	})
}

type style struct {
	fonts *fontset
	size  float64 // points
	color *props.Color
}

// leading is the height of a line as a multiple of its size.
const leading = 1.32

// text is a row for each line of a text.
func text(s style, what string) []core.Row { return textRows(s, strings.TrimSpace(what)) }

func textRows(s style, what string) (rows []core.Row) {
	for _, l := range s.fonts.lines(what, s.size, textWidth) {
		rows = append(rows, drawn(s.size*mmPerPoint*leading, nil, func(p pen) { p.write(l, 0, 0, s.size, s.color) }))
	}
	return rows
}

func rule() core.Row {
	return drawn(1, nil, func(p pen) { p.box(0, 0.4, textWidth, 0.25, hairline) })
}
