package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

type layout struct {
	*typesetter
	report *report
}

// one is a text on one line, shortened if it is too long.
func (w *layout) one(fonts *fontset, what string, size, width float64) line {
	lines := fonts.lines(what, size, width)
	if len(lines) == 1 {
		return lines[0]
	}
	return fonts.lines(strings.TrimSpace(what[:min(len(what), 40)])+" …", size, 10*width)[0]
}

func (w *layout) cover() []core.Row {
	brand := w.one(w.bold, "V E D E T T E", 11, textWidth)
	t := w.report.totals
	tiles := []core.Row{space(14)}
	if t.all > 0 {
		tiles = append(tiles, w.tiles())
	}
	return slices.Concat(
		[]core.Row{drawn(14, accent, func(p pen) { p.write(brand, 6, 4.6, 11, white) }), space(52)},
		text(style{w.bold, 30, ink}, "Security findings"),
		[]core.Row{space(4)},
		text(style{w.plain, 16, muted}, clip(w.report.name, 300)),
		[]core.Row{space(8), drawn(1.6, nil, func(p pen) { p.box(0, 0, 38, 1.2, accent) }), space(10)},
		w.facts([][2]string{
			{"Date", w.report.at.Format("2 January 2006, 15:04 UTC")},
			{"Findings", thousands(t.all)},
			{"Hosts", atLeast(len(t.byHost))},
			{"Worst severity", title(w.worst())},
		}, 11),
		append(tiles, space(14)),
		text(style{w.plain, 8.5, muted},
			"Confidential. This report describes weaknesses of the systems that it names. Share it only with those who need it to mend them."))
}

func (w *layout) worst() string {
	for _, severity := range finding.Severities {
		if w.report.totals.bySeverity[severity] > 0 {
			return severity
		}
	}
	return "none"
}

func (w *layout) tiles() core.Row {
	const gap = 2.5
	n := float64(len(finding.Severities))
	wide := (textWidth - (n-1)*gap) / n
	var numbers, names []line
	for _, severity := range finding.Severities {
		numbers = append(numbers, w.one(w.bold, thousands(w.report.totals.bySeverity[severity]), 15, wide*2))
		names = append(names, w.one(w.plain, title(severity), 8.5, wide*2))
	}
	return drawn(22, nil, func(p pen) {
		for i, severity := range finding.Severities {
			x := float64(i) * (wide + gap)
			p.box(x, 0, wide, 22, colorOf(severity))
			p.write(numbers[i], x+(wide-numbers[i].width)/2, 4.5, 15, white)
			p.write(names[i], x+(wide-names[i].width)/2, 13.5, 8.5, white)
		}
	})
}

func (w *layout) heading(what string) []core.Row {
	return append(text(style{w.bold, 18, accent}, what), space(1.5), rule(), space(4))
}

func (w *layout) subheading(what string) []core.Row {
	return append(text(style{w.bold, 11, ink}, what), space(1.5))
}

func (w *layout) summary() []core.Row {
	t := w.report.totals
	rows := append(w.heading("Summary"), text(style{w.plain, 10, ink}, w.abstract())...)
	if t.all == 0 {
		return rows
	}
	unit, buckets := t.trend()
	return slices.Concat(
		rows, []core.Row{space(6)}, w.subheading("Findings by severity"), w.severityChart(), []core.Row{space(7)},
		w.subheading("Findings by the "+unit+" in which they were first seen (UTC)"),
		[]core.Row{w.trendChart(buckets), space(7)},
		w.subheading("Where most was found"), w.ranking(t.byHost), []core.Row{space(5)},
		w.subheading("What was found most"), w.ranking(t.byTemplate))
}

// abstract is the numbers in words.
func (w *layout) abstract() string {
	t := w.report.totals
	if t.all == 0 {
		return "There are no findings. Either nothing was found, or nothing of what was found passes the filter of this report."
	}
	text := fmt.Sprintf("This report covers %s at %s.", count(t.all, "finding"), hosts(len(t.byHost)))
	if urgent := t.bySeverity["critical"] + t.bySeverity["high"]; urgent > 0 {
		text += fmt.Sprintf(" %s of them %s critical or high and should be looked at first.", thousands(urgent), are(urgent))
	}
	if fixed := t.byStatus[finding.Fixed]; fixed > 0 {
		text += fmt.Sprintf(" %s %s marked as fixed.", thousands(fixed), are(fixed))
	}
	if t.regressions > 0 {
		text += fmt.Sprintf(" %s had been fixed and came back.", thousands(t.regressions))
	}
	if described := len(w.report.sections); described < t.all {
		text += fmt.Sprintf(" Only the %s worst are described on the pages that follow; %s are left out here."+
			" The numbers of this page count all of them, and an export as JSON or CSV holds all of them.",
			thousands(described), thousands(t.all-described))
	}
	return text
}

func (w *layout) severityChart() (rows []core.Row) {
	const left, right, height = 24.0, 22.0, 6.2
	most := 1
	for _, n := range w.report.totals.bySeverity {
		most = max(most, n)
	}
	for _, severity := range finding.Severities {
		n := w.report.totals.bySeverity[severity]
		name, number := w.one(w.plain, title(severity), 9, left*2), w.one(w.bold, thousands(n), 9, right*2)
		long := (textWidth - left - right) * float64(n) / float64(most)
		if n > 0 {
			long = max(long, 0.6)
		}
		rows = append(rows, drawn(height, nil, func(p pen) {
			p.write(name, 0, 0.9, 9, ink)
			p.box(left, 0.6, textWidth-left-right, height-1.6, paper)
			p.box(left, 0.6, long, height-1.6, colorOf(severity))
			p.write(number, textWidth-right+3, 0.9, 9, ink)
		}))
	}
	return rows
}

func (w *layout) trendChart(buckets []bucket) core.Row {
	const left, top, high, below = 14.0, 2.0, 40.0, 6.0
	most := 1
	for _, b := range buckets {
		most = max(most, b.n)
	}
	step := scale(most)
	roof := (most + step - 1) / step * step
	var marks []line
	for n := 0; n <= roof; n += step {
		marks = append(marks, w.one(w.plain, thousands(n), 7.5, left*3))
	}
	each := min((textWidth-left)/float64(max(len(buckets), 1)), 24)
	every := int(14/each) + 1 // labels are up to 14 mm wide
	labels := map[int]line{}
	for i := 0; i < len(buckets); i += every {
		labels[i] = w.one(w.plain, buckets[i].label, 7.5, 60)
	}
	return drawn(top+high+below, nil, func(p pen) {
		for i, mark := range marks {
			y := top + high - high*float64(i*step)/float64(roof)
			p.box(left, y-0.1, textWidth-left, 0.2, hairline)
			p.write(mark, left-2.5-mark.width, y-1.6, 7.5, muted)
		}
		for i, b := range buckets {
			tall := high * float64(b.n) / float64(roof)
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

func (w *layout) ranking(t tally) (rows []core.Row) {
	for _, name := range t.most(5) {
		number := w.one(w.bold, thousands(t[name]), 9, 30)
		what := w.one(w.plain, cmp.Or(name, "(no host)"), 9, textWidth-24)
		rows = append(rows, drawn(5.2, nil, func(p pen) {
			p.write(number, 16-number.width, 0.6, 9, ink)
			p.write(what, 21, 0.6, 9, ink)
			p.box(0, 4.9, textWidth, 0.15, hairline)
		}))
	}
	return rows
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

func (w *layout) section(n int, s section) (rows []core.Row) {
	badge := w.one(w.bold, strings.ToUpper(s.severity), 8, 60)
	score := s.cvss
	if s.vector != "" {
		score = strings.TrimSpace(score + " (" + s.vector + ")")
	}
	status := strings.ReplaceAll(s.status, "_", " ")
	if s.regression {
		status += " (it was fixed, and came back)"
	}
	rows = slices.Concat(
		[]core.Row{space(3), drawn(6.4, nil, func(p pen) {
			p.box(0, 0, badge.width+7, 5.6, colorOf(s.severity))
			p.write(badge, 3.5, 1.2, 8, white)
		})},
		text(style{w.bold, 13, ink}, strconv.Itoa(n)+". "+s.name),
		[]core.Row{space(1), rule(), space(1.5)},
		w.facts([][2]string{
			{"Found at", cmp.Or(s.at, s.target, s.host)}, {"Target", s.target}, {"Status", status}, {"CVSS", score},
			{"CVE", s.cve},
			{"CWE", s.cwe}, {"Template", s.template}, {"Labels", s.labels},
			{"First seen", s.seen.Format("2 January 2006, 15:04 UTC")},
			{"Id", s.id},
		}, 9))
	for _, part := range [][2]string{
		{"Description", s.description}, {"Impact", s.impact}, {"Remediation", s.remediation},
		{"References", strings.Join(s.references, "\n")},
	} {
		if strings.TrimSpace(part[1]) != "" {
			rows = slices.Concat(rows, []core.Row{space(2)}, w.subheading(part[0]), text(style{w.plain, 9.5, ink}, part[1]))
		}
	}
	return slices.Concat(
		rows, w.evidence("Extracted", strings.Join(s.extracted, "\n"), 0), w.evidence("Request", s.request, s.requestSize),
		w.evidence("Response", s.response, s.responseSize), []core.Row{space(8)})
}

// evidence is what was sent or seen. size is how many bytes of it there are in all.
func (w *layout) evidence(name, what string, size int) []core.Row {
	if strings.TrimSpace(what) == "" {
		return nil
	}
	rows := slices.Concat([]core.Row{space(2.5)}, w.subheading(name), code(style{w.mono, 7.5, ink}, what))
	if size > len(what) {
		rows = append(rows, text(style{w.plain, 8, muted}, fmt.Sprintf(
			"The first %s of %s bytes are shown. An export as JSON holds all of them.", thousands(len(what)),
			thousands(size)))...)
	}
	return rows
}

// end says how many findings are not described.
func (w *layout) end() []core.Row {
	described, all := len(w.report.sections), w.report.totals.all
	if described == all {
		return nil
	}
	return text(style{w.bold, 10, ink}, fmt.Sprintf(
		"%s more findings are not described here: a report describes at most %s. Narrow the filter, or export them as JSON or CSV.",
		thousands(all-described), thousands(maxSections)))
}

func (w *layout) footer() core.Row {
	name := w.one(w.plain, "Vedette · "+clip(w.report.name, 90), 8, textWidth-40)
	return drawn(7, nil, func(p pen) {
		p.box(0, 3, textWidth, 0.2, hairline)
		p.write(name, 0, 7, 8, muted)
	})
}
