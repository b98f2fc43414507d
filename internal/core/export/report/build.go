package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // a logo
	_ "image/png"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The limits of a logo.
const (
	maxLogo   = 512 << 10 // bytes
	maxPixels = 4000      // in width and height
)

// Check refuses a style that cannot be drawn; the error names the field below prefix, such as "report.".
func (s Style) Check(prefix string) error {
	if len(s.Logo) == 0 {
		return nil
	}
	if len(s.Logo) > maxLogo {
		return errs.Field(prefix+"logo", "%slogo has %d bytes; %d are allowed.", prefix, len(s.Logo), maxLogo)
	}
	if p := pictureOf(s.Logo); p.Format == "" {
		return errs.Field(
			prefix+"logo",
			"%slogo must be a PNG or JPEG of at most %d pixels wide and high.",
			prefix,
			maxPixels,
		)
	}
	if _, _, err := image.Decode(bytes.NewReader(s.Logo)); err != nil {
		return errs.Field(prefix+"logo", "%slogo cannot be read as a picture.", prefix)
	}
	return nil
}

func pictureOf(logo []byte) Picture {
	c, format, err := image.DecodeConfig(bytes.NewReader(logo))
	if err != nil || format != "png" && format != "jpeg" || c.Width < 1 || c.Height < 1 || c.Width > maxPixels ||
		c.Height > maxPixels {
		return Picture{}
	}
	return Picture{Format: format, Width: c.Width, Height: c.Height}
}

// has reports whether a section is wanted.
func (s Style) has(section Section) bool {
	if len(s.Sections) > 0 {
		return slices.Contains(s.Sections, section)
	}
	return s.Audience != Executive || section != Proof && section != Appendix
}

const confidential = "Confidential. This report describes weaknesses of the systems that it names. Share it only with those " +
	"who need it to mend them."

// builder makes the blocks.
type builder struct {
	Input

	causes []Cause
	number map[string]int // of a cause, by the id of each of its findings
	out    []Block
}

// Build makes the document of an input.
func Build(in Input) Document {
	b := builder{Input: in, causes: causes(in.Findings), number: map[string]int{}}
	for i, c := range b.causes {
		for _, place := range c.Places {
			b.number[place.ID] = i + 1
		}
	}
	d := Document{
		Title: cmp.Or(in.Style.Title, "Security findings"), Subtitle: in.Name, Company: in.Style.Company, At: in.At,
		Notice: cmp.Or(in.Style.Notice, confidential),
		Cover: [][2]string{{"Client", in.Style.Client}, {"Written by", cmp.Or(in.Style.Author, in.Style.Company)},
			{"Contact", in.Style.Contact}, {"Team", in.Team}, {"Date", when(in.At)}, {"Findings", Thousands(in.Totals.All)},
			{"Hosts", atLeast(len(in.Totals.byHost))}, {"Worst severity", Title(in.Totals.worst())}},
	}
	if p := pictureOf(in.Style.Logo); p.Format != "" {
		d.Logo, d.CoverPicture = in.Style.Logo, p
	}
	if in.Totals.All > 0 {
		for _, severity := range finding.Severities {
			d.Tiles = append(d.Tiles, Bar{Title(severity), in.Totals.BySeverity[severity], severity})
		}
	}
	for _, part := range []struct {
		section Section
		write   func()
	}{{Summary, b.summary}, {Scope, b.scope}, {Gaps, b.gaps}, {Findings, b.findings}, {Status, b.status},
		{Appendix, b.appendix}} {
		if in.Style.has(part.section) {
			part.write()
		}
	}
	d.Blocks = b.out
	return d
}

func (b *builder) add(blocks ...Block) { b.out = append(b.out, blocks...) }

func (b *builder) heading(text string) {
	b.add(Block{Kind: Heading, Level: 1, Text: text, Break: true})
}

func (b *builder) subheading(text string) { b.add(Block{Kind: Heading, Level: 2, Text: text}) }

func (b *builder) paragraphf(format string, args ...any) {
	b.add(Block{Kind: Paragraph, Text: fmt.Sprintf(format, args...)})
}

func (b *builder) facts(pairs ...[2]string) {
	pairs = slices.DeleteFunc(pairs, func(p [2]string) bool { return strings.TrimSpace(p[1]) == "" })
	if len(pairs) > 0 {
		b.add(Block{Kind: Facts, Facts: pairs})
	}
}

// summary is one page in words.
func (b *builder) summary() {
	b.heading("Summary")
	b.add(Block{Kind: Paragraph, Text: b.tested()}, Block{Kind: Paragraph, Text: b.found()})
	if text := b.untested(); text != "" {
		b.add(Block{Kind: Paragraph, Text: text})
	}
	if b.Totals.All == 0 {
		return
	}
	var first []string
	for i, c := range b.causes {
		if len(first) == 5 || closed(c.Status) == 1 || rank(c.Severity) > rank("medium") {
			break
		}
		first = append(first, b.advice(i, c))
	}
	if len(first) > 0 {
		b.subheading("What to do first")
		b.add(Block{Kind: List, Items: first})
	}
	b.subheading("Findings by severity")
	bars := make([]Bar, 0, len(finding.Severities))
	for _, severity := range finding.Severities {
		bars = append(bars, Bar{Title(severity), b.Totals.BySeverity[severity], severity})
	}
	b.add(Block{Kind: Bars, Bars: bars})
}

// advice is a cause in one sentence, and what to do about it.
func (b *builder) advice(i int, c Cause) string {
	sentences := []string{fmt.Sprintf("%s: %s at %s (finding %d).", Title(c.Severity), strings.TrimSuffix(c.Name, "."),
		count(len(c.Places), "place"), i+1)}
	for _, more := range []string{c.Impact, c.Remediation} {
		if sentence := firstSentence(more); sentence != "" {
			sentences = append(sentences, sentence)
		}
	}
	return strings.Join(sentences, " ")
}

// firstSentence is the first sentence of a text, at most 240 bytes.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if len(text) > 240 {
		text = strings.ToValidUTF8(text[:240], "") + " …"
	}
	return text
}

// tested says what was done.
func (b *builder) tested() string {
	if len(b.Works) == 0 {
		return "This report is about findings that were picked across scans."
	}
	scans, tasks := 0, 0
	began, ended := b.Works[0].Began, b.Works[0].Ended
	for _, w := range b.Works {
		if w.Kind == "task" {
			tasks++
		} else {
			scans++
		}
		if !w.Began.IsZero() && (began.IsZero() || w.Began.Before(began)) {
			began = w.Began
		}
		if w.Ended.After(ended) {
			ended = w.Ended
		}
	}
	var what []string
	for _, one := range []struct {
		n    int
		noun string
	}{{scans, "scan"}, {tasks, "task"}} {
		if one.n > 0 {
			what = append(what, count(one.n, one.noun))
		}
	}
	text := "This report is about " + and(what)
	if from, to := day(began), day(ended); from != "" && (to == "" || from == to) {
		text += " of " + from
	} else if from != "" {
		text += " from " + from + " to " + to
	}
	if b.Style.Client != "" {
		text += ", for " + b.Style.Client
	}
	if len(b.Works) == 1 && b.Works[0].By != "" {
		text += ", which " + b.Works[0].By + " asked for"
	}
	return text + "."
}

// found is the numbers in words.
func (b *builder) found() string {
	t := b.Totals
	if t.All == 0 {
		return "There are no findings. Either nothing was found, or nothing of what was found passes the filter of this report."
	}
	var parts []string
	for _, severity := range finding.Severities {
		if n := t.BySeverity[severity]; n > 0 {
			parts = append(parts, Thousands(n)+" "+severity)
		}
	}
	text := fmt.Sprintf("It covers %s at %s: %s.", count(t.All, "finding"), hosts(len(t.byHost)), and(parts))
	if urgent := t.BySeverity["critical"] + t.BySeverity["high"]; urgent > 0 {
		text += fmt.Sprintf(" %s %s critical or high and should be looked at first.", Thousands(urgent), are(urgent))
	}
	var decided []string
	for _, one := range []struct {
		status finding.Status
		says   string
	}{{finding.Fixed, "marked as fixed"}, {finding.AcceptedRisk, "accepted as a risk"},
		{finding.FalsePositive, "marked as a false positive"},
		{finding.Duplicate, "marked as a duplicate"}} {
		if n := t.ByStatus[one.status]; n > 0 {
			decided = append(decided, fmt.Sprintf(" %s %s %s.", Thousands(n), are(n), one.says))
		}
	}
	text += strings.Join(decided, "")
	if t.Regressions > 0 {
		text += fmt.Sprintf(" %s had been fixed and came back.", Thousands(t.Regressions))
	}
	if described := len(b.Findings); described < t.All {
		text += fmt.Sprintf(" Only the %s worst are described on the pages that follow; %s are left out here."+
			" The numbers of this page count all of them, and an export as JSON or CSV holds all of them.",
			Thousands(described), Thousands(t.All-described))
	}
	return text
}

// untested says in words how much was not tested.
func (b *builder) untested() string {
	n, other := 0, 0
	for _, w := range b.Works {
		for _, g := range w.NotTested {
			if g.N == 0 {
				other++
			}
			n += g.N
		}
	}
	switch {
	case len(b.Works) == 0:
		return "What was not tested is known for single scans and tasks: a report of one of them says so."
	case n == 0 && other == 0:
		return "Everything that was planned was tested."
	case n == 0:
		return fmt.Sprintf("Not everything was tested: the section \"Not tested\" has %s.", count(other, "reason"))
	}
	text := fmt.Sprintf(
		"Not everything was tested: %s of single targets with single templates %s not made or came to no result",
		count(n, "test"),
		was(n),
	)
	if other > 0 {
		text += fmt.Sprintf(", and there %s %s", are(other), count(other, "other gap"))
	}
	return text + ". The section \"Not tested\" says why."
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
