package pdf

import (
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/vedette-sec/vedette/internal/core/export/report"
)

func (w *layout) bars(bars []report.Bar) (rows []core.Row) {
	const left, right, height = 46.0, 22.0, 6.2
	most := 1
	for _, b := range bars {
		most = max(most, b.N)
	}
	for _, b := range bars {
		name, number := w.one(w.plain, b.Name, 9, left-2), w.one(w.bold, report.Thousands(b.N), 9, right*2)
		long := (textWidth - left - right) * float64(b.N) / float64(most)
		if b.N > 0 {
			long = max(long, 0.6)
		}
		colour := accent
		if b.Severity != "" {
			colour = colorOf(b.Severity)
		}
		rows = append(rows, drawn(height, nil, func(p pen) {
			p.write(name, 0, 0.9, 9, ink)
			p.box(left, 0.6, textWidth-left-right, height-1.6, paper)
			p.box(left, 0.6, long, height-1.6, colour)
			p.write(number, textWidth-right+3, 0.9, 9, ink)
		}))
	}
	return rows
}

func (w *layout) columns(bars []report.Bar) core.Row {
	const left, top, high, below = 14.0, 2.0, 40.0, 6.0
	most := 1
	for _, b := range bars {
		most = max(most, b.N)
	}
	step := scale(most)
	roof := (most + step - 1) / step * step
	var marks []line
	for n := 0; n <= roof; n += step {
		marks = append(marks, w.one(w.plain, report.Thousands(n), 7.5, left*3))
	}
	each := min((textWidth-left)/float64(max(len(bars), 1)), 24)
	every := int(14/each) + 1 // labels are up to 14 mm wide
	labels := map[int]line{}
	for i := 0; i < len(bars); i += every {
		labels[i] = w.one(w.plain, bars[i].Name, 7.5, 60)
	}
	return drawn(top+high+below, nil, func(p pen) {
		for i, mark := range marks {
			y := top + high - high*float64(i*step)/float64(roof)
			p.box(left, y-0.1, textWidth-left, 0.2, hairline)
			p.write(mark, left-2.5-mark.width, y-1.6, 7.5, muted)
		}
		for i, b := range bars {
			tall := high * float64(b.N) / float64(roof)
			x := left + float64(i)*each
			p.box(x+each*0.15, top+high-tall, each*0.7, tall, accent)
			if label, ok := labels[i]; ok {
				p.write(label, x+(each-label.width)/2, top+high+1.2, 7.5, muted)
			}
		}
	})
}

// scale is the step of an axis up to a number: 1, 2 or 5 times a power of ten, so that at most five steps are needed.
func scale(most int) int {
	for ten := 1; ; ten *= 10 {
		for _, step := range []int{ten, 2 * ten, 5 * ten} {
			if most <= 5*step {
				return step
			}
		}
	}
}
