package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
)

const (
	maxPlaces    = 200 // of a cause that are listed
	maxExchanges = 2   // places of a cause whose proof is shown
)

// scope says who tested what, when, how and within which limits.
func (b *builder) scope() {
	if len(b.Works) == 0 {
		return
	}
	b.heading("Scope and method")
	for _, w := range b.Works {
		b.subheading(Title(w.Kind) + ": " + cmp.Or(w.Name, w.ID))
		b.facts([2]string{"Asked for by", w.By}, [2]string{"Instruction", w.Instruction}, [2]string{"Began", when(w.Began)},
			[2]string{"Ended", when(w.Ended)}, [2]string{"State", words(w.Status)}, [2]string{"Method", w.Method},
			[2]string{"In scope", listed(w.Scope, w.MoreScope)}, [2]string{"Out of scope", listed(w.Excluded, 0)},
			[2]string{"Id", w.ID})
		b.facts(append(w.Done, w.Limits...)...)
		if w.Summary != "" {
			b.paragraphf("%s", w.Summary)
		}
	}
	if b.MoreWork > 0 {
		b.paragraphf(
			"%s more of which findings are in this report %s not described here.",
			count(b.MoreWork, "scan or task"),
			are(b.MoreWork),
		)
	}
}

// listed is names, one a line.
func listed(all []string, more int) string {
	text := strings.Join(all, "\n")
	if more > 0 {
		text += fmt.Sprintf("\nand %s more", Thousands(more))
	}
	return text
}

// gaps says what was not tested and why.
func (b *builder) gaps() {
	if len(b.Works) == 0 {
		return
	}
	b.heading("Not tested")
	empty := true
	for _, w := range b.Works {
		if len(w.NotTested) == 0 {
			continue
		}
		empty = false
		if len(b.Works) > 1 {
			b.subheading(Title(w.Kind) + ": " + cmp.Or(w.Name, w.ID))
		}
		rows := make([][]string, 0, len(w.NotTested))
		for _, g := range w.NotTested {
			n := ""
			if g.N > 0 {
				n = Thousands(g.N)
			}
			rows = append(rows, []string{g.What, g.Why, n})
		}
		b.add(Block{Kind: Table, Header: []string{"What", "Why", "Tests"}, Rows: rows, Widths: []float64{.34, .54, .12}})
	}
	if empty {
		b.paragraphf("Everything that was planned was tested.")
	}
}

// findings describes each cause, the worst first.
func (b *builder) findings() {
	if len(b.causes) == 0 {
		return
	}
	b.heading("Findings")
	rows := make([][]string, 0, len(b.causes))
	for i, c := range b.causes {
		rows = append(
			rows,
			[]string{strconv.Itoa(i + 1), Title(c.Severity), c.Name, Thousands(len(c.Places)), words(statusOf(c))},
		)
	}
	b.add(Block{Kind: Table, Header: []string{"No.", "Severity", "Finding", "Places", "State"}, Rows: rows,
		Widths: []float64{.07, .12, .51, .1, .2}})
	for i, c := range b.causes {
		b.cause(i, c)
	}
	if left := b.Totals.All - len(b.Findings); left > 0 {
		b.paragraphf("%s more findings are not described here: a report describes at most %s. Narrow the filter, or export "+
			"them as JSON or CSV.", Thousands(left), Thousands(len(b.Findings)))
	}
}

// statusOf is the state of a cause: that of its places, or how many are still open.
func statusOf(c Cause) string {
	open := 0
	for _, p := range c.Places {
		if closed(p.Status) == 0 {
			open++
		}
	}
	if len(c.Places) == 1 || open == len(c.Places) && same(c) || open == 0 && same(c) {
		return string(c.Status)
	}
	return fmt.Sprintf("%d of %d open", open, len(c.Places))
}

// dueBy is when a cause is to be fixed; empty: it has no date.
func dueBy(c Cause) string {
	if c.DueAt.IsZero() {
		return ""
	}
	return when(c.DueAt) + map[string]string{"overdue": " (overdue)", "soon": " (soon)"}[c.DueState]
}

func same(c Cause) bool {
	for _, p := range c.Places {
		if p.Status != c.Places[0].Status {
			return false
		}
	}
	return true
}

func (b *builder) cause(i int, c Cause) {
	b.add(Block{Kind: FindingTag, Severity: c.Severity, Text: strconv.Itoa(i+1) + ". " + c.Name,
		Break: rank(c.Severity) <= rank("medium")})
	status := words(statusOf(c))
	if c.Regression {
		status += " (it was fixed, and came back)"
	}
	pairs := [][2]string{
		{"State", status},
		{"CVSS", c.CVSS.Text()},
		{"CVE", strings.Join(c.CVEs, ", ")},
		{"CWE", cwes(c.CWEs)},
		{"Known exploited", map[bool]string{true: "yes, by the catalogue of known exploited vulnerabilities"}[c.IsKEV]},
		{"To be fixed by", dueBy(c)},
		{"Template", c.TemplateID},
		{"Confirmed", c.Verified},
	}
	if len(c.Places) == 1 {
		pairs = append(
			[][2]string{{"Found at", c.Place}, {"Host", c.Host}, {"Port", port(c.Port)}, {"Parameter", parameter(c.Finding)}},
			append(pairs, [2]string{"First seen", when(c.CreatedAt)}, [2]string{"Last change", when(c.UpdatedAt)},
				[2]string{"Retest", c.Retest}, [2]string{"Found by", c.From}, [2]string{"Id", c.ID})...)
	}
	b.facts(pairs...)
	for _, part := range [][2]string{{"Description", c.Description}, {"Impact", c.Impact},
		{"Remediation", c.Remediation}} {
		if strings.TrimSpace(part[1]) != "" {
			b.add(Block{Kind: Heading, Level: 3, Text: part[0]}, Block{Kind: Paragraph, Text: part[1]})
		}
	}
	if len(c.Places) > 1 {
		b.places(c)
	}
	if b.Style.has(Proof) {
		b.proof(c)
	}
	if len(c.References) > 0 {
		b.add(Block{Kind: Heading, Level: 3, Text: "References"}, Block{Kind: List, Items: c.References})
	}
}

func (b *builder) places(c Cause) {
	b.add(Block{Kind: Heading, Level: 3, Text: "Places"})
	rows := make([][]string, 0, min(len(c.Places), maxPlaces))
	for _, p := range c.Places[:min(len(c.Places), maxPlaces)] {
		rows = append(
			rows,
			[]string{p.Place, port(p.Port), parameter(p), Title(p.Severity), words(string(p.Status)), day(p.CreatedAt)},
		)
	}
	b.add(
		Block{Kind: Table, Header: []string{"Place", "Port", "Parameter", "Severity", "State", "First seen"}, Rows: rows,
			Widths: []float64{.36, .08, .14, .13, .13, .16}},
	)
	if more := len(c.Places) - maxPlaces; more > 0 {
		b.add(Block{Kind: Note, Text: Thousands(more) + " more places are in an export as JSON or CSV."})
	}
}

// proof shows the requests and the parts of the answers that prove a cause, at its worst places.
func (b *builder) proof(c Cause) {
	for n, p := range c.Places {
		if n == maxExchanges {
			b.add(
				Block{
					Kind: Note,
					Text: "The proof of " + count(len(c.Places)-n, "more place") + " is in an export as JSON.",
				},
			)
			return
		}
		at := ""
		if len(c.Places) > 1 {
			at = " at " + fact.Clip(p.Place, 150)
		}
		for _, x := range p.Exchanges {
			title := strings.TrimSpace(x.Title)
			if title != "" {
				title += ": "
			}
			b.evidence(title+"request"+at, x.Request)
			b.evidence(title+"answer"+at, x.Response)
		}
		if len(p.Extracted) > 0 {
			text := fact.Clip(strings.Join(p.Extracted, "\n"), 3000)
			b.evidence("Extracted"+at, fact.Excerpt{Text: text})
		}
	}
}

func (b *builder) evidence(title string, e fact.Excerpt) {
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	b.add(Block{Kind: Evidence, Text: Title(title), Excerpt: e})
	var left []string
	if e.Before > 0 {
		left = append(left, Thousands(e.Before)+" bytes before it")
	}
	if e.After > 0 {
		left = append(left, Thousands(e.After)+" bytes after it")
	}
	if len(left) > 0 {
		b.add(Block{Kind: Note, Text: "Left out: " + and(left) + ". An export as JSON holds everything that was kept."})
	}
}

func port(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func parameter(f Finding) string {
	if f.Parameter == "" {
		return f.ParameterIn
	}
	if f.ParameterIn != "" {
		return f.Parameter + " (" + f.ParameterIn + ")"
	}
	return f.Parameter
}

func cwes(all []int) string {
	var out []string
	for _, n := range all {
		text := "CWE-" + strconv.Itoa(n)
		if w, known := fact.WeaknessOf(n); known {
			text += ": " + w.Name
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

const maxStatusRows = 2000

// status is the state of each finding and its last retest.
func (b *builder) status() {
	if len(b.causes) == 0 {
		return
	}
	b.heading("State and retests")
	var rows [][]string
	for i, c := range b.causes {
		for _, p := range c.Places {
			if len(rows) < maxStatusRows {
				rows = append(
					rows,
					[]string{strconv.Itoa(i + 1), Title(p.Severity), p.Place, words(string(p.Status)), day(p.CreatedAt),
						day(p.UpdatedAt), cmp.Or(p.Retest, "none")},
				)
			}
		}
	}
	b.add(
		Block{
			Kind:   Table,
			Header: []string{"No.", "Severity", "Place", "State", "First seen", "Last change", "Retest"},
			Rows:   rows,
			Widths: []float64{.06, .1, .34, .12, .13, .13, .12},
		},
	)
}

// appendix says how to read the report.
func (b *builder) appendix() {
	b.heading("Appendix")
	if unit, buckets := b.Totals.trend(); len(buckets) > 0 {
		b.subheading("Findings by the " + unit + " in which they were first seen (UTC)")
		b.add(Block{Kind: Columns, Bars: buckets})
		b.subheading("Where most was found")
		b.ranking(b.Totals.byHost)
		b.subheading("What was found most")
		b.ranking(b.Totals.byTemplate)
	}
	b.subheading("How to read this report")
	b.paragraphf(
		"A finding is a weakness at a place. Findings with one cause, such as one template at several places, are " +
			"described once, with their places as a list. The part of an answer that proves a finding is marked.",
	)
	masked := "Secrets are shown as they were seen: whoever made this report asked for that. Treat it like the secrets in it."
	if b.Masked {
		masked = "Passwords, sessions, tokens and keys are masked, as [masked:LENGTH:TAG]; two marks with one tag stand for " +
			"the same value. The evidence that is stored is unchanged."
	}
	b.paragraphf("%s", masked)
	b.facts(
		[2]string{"critical, high", "to be looked at first"},
		[2]string{"medium, low", "to be mended in the ordinary course"},
		[2]string{"info", "good to know"},
		[2]string{"open", "nobody has decided about it yet"},
		[2]string{"triaged", "confirmed by a person"},
		[2]string{"fix in progress", "being fixed"},
		[2]string{
			"fixed",
			"marked as fixed, or no longer found by a retest",
		},
		[2]string{"accepted risk", "it stays, by decision"},
		[2]string{"false positive", "it is none, by decision"},
	)
}

func (b *builder) ranking(t tally) {
	var bars []Bar
	for _, name := range t.most(5) {
		bars = append(bars, Bar{Name: fact.Clip(name, 120), N: t[name]})
	}
	b.add(Block{Kind: Bars, Bars: bars})
}
