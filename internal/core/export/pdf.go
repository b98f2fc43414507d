package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

const (
	maxSections = 2000 // findings that a report describes; its summary counts all
	maxProse    = 3000 // bytes of a description, an impact …
	maxEvidence = 2500 // bytes of a request or a response
	maxListed   = 20   // extracted results, references

	pageWidth, sideMargin, topMargin, footMargin = 210.0, 20.0, 18.0, 18.0
	textWidth                                    = pageWidth - 2*sideMargin
)

type section struct {
	id, name, severity, status, target, at, template, host string
	cvss, vector, cve, cwe, labels                         string
	description, impact, remediation                       string
	references, extracted                                  []string
	request, response                                      string
	requestSize, responseSize                              int
	regression                                             bool
	seen                                                   time.Time
}

func sectionOf(d *finding.Document) section {
	s := section{
		id: d.ID, name: cmp.Or(clip(d.Info("name").Text, 300), d.TemplateID), severity: d.Severity, status: string(d.Status),
		target: clip(d.Target.Text, 500), at: clip(d.Event("matched-at").Text, 500), template: clip(d.TemplateID, 200),
		host: d.Host,
		cvss: classification(d, "cvss-score"), vector: clip(classification(d, "cvss-metrics"), 200),
		cve: clip(classification(d, "cve-id"), 300), cwe: clip(classification(d, "cwe-id"), 300),
		labels: clip(strings.ReplaceAll(d.Labels, ",", ", "), 300), regression: d.IsRegression, seen: d.CreatedAt,
		description: clip(d.Info("description").Text, maxProse), impact: clip(d.Info("impact").Text, maxProse),
		remediation: clip(d.Info("remediation").Text, maxProse),
		references:  listed(d.Info("reference").Texts()), extracted: listed(d.Event("extracted-results").Texts()),
	}
	s.request, s.requestSize = evidence(d.Request.Text)
	s.response, s.responseSize = evidence(d.Response.Text)
	return s
}

func evidence(text string) (shown string, size int) {
	return strings.ToValidUTF8(text[:min(len(text), maxEvidence)], ""), len(text)
}

func listed(texts []string) (out []string) {
	for _, text := range texts[:min(len(texts), maxListed)] {
		out = append(out, clip(text, 500))
	}
	return out
}

type report struct {
	name     string
	at       time.Time
	totals   totals
	sections []section // the worst first
}

// writePDF writes a report. All findings are counted, then the worst are read again and described.
func (f *File) writePDF(ctx context.Context, out *output) error {
	r := report{name: f.Name, at: f.at}
	worst, err := r.totals.count(ctx, f.selected)
	if err != nil {
		return err
	}
	if len(worst) > 0 {
		described, err := f.es.from.Findings.Select(ctx, finding.Filter{IDs: worst})
		if err != nil {
			return err
		}
		if err := described.Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
			r.sections = append(r.sections, sectionOf(d))
			return dst, nil
		}, nil); err != nil {
			return err
		}
	}
	slices.SortFunc(r.sections, func(a, b section) int {
		bySeverity := slices.Index(finding.Severities, a.severity) - slices.Index(finding.Severities, b.severity)
		return cmp.Or(bySeverity, b.seen.Compare(a.seen), strings.Compare(a.id, b.id))
	})
	file, err := r.render(ctx)
	if err != nil {
		return err
	}
	return out.part(file, f.Total)
}

func (r *report) render(ctx context.Context) ([]byte, error) {
	t, err := newTypesetter()
	if err != nil {
		return nil, err
	}
	w := &layout{typesetter: t, report: r}
	cover, summary := w.cover(), w.summary()
	var blocks [][]core.Row
	for i, s := range r.sections {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		blocks = append(blocks, w.section(i+1, s))
	}
	last := w.end()
	footer := w.footer()

	m := maroto.New(w.config())
	if err := m.RegisterFooter(footer); err != nil {
		return nil, err
	}
	m.AddRows(cover...)
	m.AddPages(page.New().Add(summary...))
	for i, block := range blocks {
		if i == 0 || !m.FitlnCurrentPage(keepTogether) {
			m.AddPages(page.New())
		}
		m.AddRows(block...)
	}
	m.AddRows(last...)
	document, err := m.Generate()
	if err != nil {
		return nil, fmt.Errorf("making a PDF: %w", err)
	}
	return document.GetBytes(), nil
}

// keepTogether is how many mm of a section must fit on a page for it to begin there.
const keepTogether = 70

func (w *layout) config() *entity.Config {
	var fonts []*entity.CustomFont
	for _, f := range w.faces {
		if f.used {
			fonts = append(fonts, &entity.CustomFont{Family: f.family, Style: f.style, Bytes: f.bytes})
		}
	}
	return config.NewBuilder().
		WithLeftMargin(sideMargin).WithRightMargin(sideMargin).WithTopMargin(topMargin).WithBottomMargin(footMargin).
		WithCustomFonts(fonts).WithDefaultFont(&props.Font{Family: "sans", Size: 10}).WithCompression(true).
		WithTitle(w.bold.printable(w.report.name), true).WithCreator("Vedette", true).WithCreationDate(w.report.at).
		WithPageNumber(props.PageNumber{
			Pattern: "Page {current} of {total}", Place: props.RightBottom, Family: "sans", Size: 8, Color: muted,
		}).Build()
}
