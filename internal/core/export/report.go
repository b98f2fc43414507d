package export

import (
	"cmp"
	"context"
	"encoding/base64"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/report/docx"
	"github.com/vedette-sec/vedette/internal/core/export/report/html"
	"github.com/vedette-sec/vedette/internal/core/export/report/pdf"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates/starter"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

const (
	maxSections = 2000 // findings that a report describes; its summary counts all
	maxRequest  = 1500 // bytes of a request that are shown
	maxResponse = 2500 // bytes of an answer that are shown, around what proves the finding
	maxRetests  = 200  // findings whose last retest is looked up
)

// seen is a finding that was counted.
type seen struct {
	id, template string
	at           time.Time
	issue        *task.Issue   // of a task; nil: of a scan
	also         []*task.Issue // of tasks that saw the same weakness
}

// writeReport writes a report. All findings are counted, then the worst are read again and described.
func (f *File) writeReport(ctx context.Context, out *output) error {
	in, err := f.input(ctx)
	if err != nil {
		return err
	}
	d := report.Build(in)
	counted := writerFunc(func(p []byte) (int, error) { return out.w.Write(p) })
	switch f.Format {
	case DOCX:
		err = docx.Write(counted, d)
	case HTML:
		err = html.Write(counted, d)
	default:
		err = pdf.Write(ctx, counted, d)
	}
	if err != nil {
		return err
	}
	return out.part(nil, f.Total)
}

// input gathers what a report is made of.
func (f *File) input(ctx context.Context) (in report.Input, err error) {
	in = report.Input{Name: f.Name, At: f.at, Masked: !f.masker.Off()}
	if in.Style, err = f.es.findStyle(ctx, f.caller.TeamID); err != nil {
		return in, err
	}
	in.Style = f.Style.Or(in.Style)
	if in.Team, err = f.es.teamName(ctx, f.caller.TeamID); err != nil {
		return in, err
	}
	c := chosen{bySeverity: map[string][]seen{}, scans: map[string]int{}, tasks: map[string]int{}}
	withIssues := f.es.from.Tasks != nil && ofTasks(f.Filter)
	issues, err := f.issuesOf(ctx, withIssues)
	if err != nil {
		return in, err
	}
	if f.selected != nil {
		err = f.selected.Brief().Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
			switch {
			case d.IsTask && withIssues: // it is counted as an issue, which has its verification
				return dst, nil
			case d.IsTask:
				c.tasks[d.ScanID]++
			default:
				c.scans[d.ScanID]++
			}
			c.add(d, nil, issues.sameAs(d.ID))
			return dst, nil
		}, nil)
	}
	for _, one := range issues.left() {
		c.add(one.d, one.issue, one.also)
	}
	for i := range issues.all {
		c.tasks[issues.all[i].issue.TaskID]++
	}
	if err != nil {
		return in, err
	}
	in.Totals = c.totals
	f.Total = in.Totals.All
	if in.Findings, err = f.described(ctx, c.worst()); err != nil {
		return in, err
	}
	in.Works, in.MoreWork, err = f.works(ctx, &c)
	for i := range in.Works {
		maskWork(f.masker, &in.Works[i])
	}
	return in, err
}

// ofTasks reports whether a filter may pick findings of tasks: it has no condition that only those of scans can meet.
func ofTasks(f finding.Filter) bool {
	return len(f.IDs)+len(f.ScanIDs)+len(f.Categories)+len(f.Labels)+len(f.Assignees)+len(f.Due) == 0 &&
		f.Internal == nil && f.Regression == nil && f.Ticket == nil && f.KEV == nil && f.MinEPSS == 0 && f.Before == 0
}

// picks reports whether a filter picks a finding of a task.
func picks(f finding.Filter, d *finding.Document) bool {
	in := func(all []string, text string) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(one string) bool { return strings.EqualFold(one, text) })
	}
	domain := len(f.Domains) == 0
	for _, one := range f.Domains {
		one = strings.ToLower(strings.Trim(one, ".*"))
		domain = domain || d.Host == one || strings.HasSuffix(d.Host, "."+one)
	}
	tagged := len(f.Tags) == 0
	for tag := range strings.SplitSeq(d.Tags, ",") {
		tagged = tagged || in(f.Tags, tag)
	}
	text := strings.ToLower(d.Host + "\n" + d.TemplateID + "\n" + d.Info("name").Text)
	return domain && tagged && in(f.IDs, d.ID) && in(f.Severities, d.Severity) &&
		in(f.Hosts, d.Host) && in(f.Templates, d.TemplateID) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, d.Status)) &&
		(len(f.Ports) == 0 || slices.Contains(f.Ports, d.Port)) &&
		strings.Contains(text, strings.ToLower(f.Search)) &&
		!d.CreatedAt.Before(f.Since) &&
		(f.Until.IsZero() || d.CreatedAt.Before(f.Until))
}

// chosen counts findings and keeps those that a report describes: the worst, and of one severity the newest.
type chosen struct {
	totals       report.Totals
	bySeverity   map[string][]seen
	scans, tasks map[string]int // findings by id
}

func (c *chosen) add(d *finding.Document, issue *task.Issue, also []*task.Issue) {
	name := fact.Clip(cmp.Or(d.Info("name").Text, d.TemplateID), 300)
	c.totals.Add(name, d.Host, d.Severity, d.Status, d.IsRegression, d.CreatedAt)
	all := c.bySeverity[d.Severity]
	all = append(all, seen{strings.Clone(d.ID), strings.Clone(d.TemplateID), d.CreatedAt, issue, also})
	if len(all) >= 2*maxSections {
		all = newest(all)
	}
	c.bySeverity[d.Severity] = all
}

func newest(list []seen) []seen {
	slices.SortFunc(list, func(a, b seen) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.id, b.id)) })
	return list[:min(len(list), maxSections)]
}

func (c *chosen) worst() (out []seen) {
	for _, severity := range finding.Severities {
		for _, s := range newest(c.bySeverity[severity]) {
			if len(out) < maxSections {
				out = append(out, s)
			}
		}
	}
	return out
}

// described reads the findings that a report describes, in their order.
func (f *File) described(ctx context.Context, worst []seen) ([]report.Finding, error) {
	hints, err := f.es.hintsOf(ctx, f.caller.TeamID, worst)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var scanned []string
	out := make([]report.Finding, len(worst))
	for i, s := range worst {
		if s.issue != nil {
			if out[i], err = describeIssue(f.masker, hints, s.issue, s.also); err != nil {
				return nil, err
			}
			continue
		}
		at[s.id] = i
		scanned = append(scanned, s.id)
	}
	if len(scanned) > 0 {
		selected, err := f.es.from.Findings.Select(ctx, finding.Filter{IDs: scanned})
		if err != nil {
			return nil, err
		}
		err = selected.Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
			if i, wanted := at[d.ID]; wanted {
				out[i] = describe(f.masker, hints, d, worst[i].also)
			}
			return dst, nil
		}, nil)
		if err != nil {
			return nil, err
		}
	}
	out = slices.DeleteFunc(out, func(f report.Finding) bool { return f.ID == "" }) // deleted meanwhile
	return out, f.retests(ctx, out)
}

// describe is a finding of a scan, that tasks may have seen as well.
func describe(m *mask.Masker, hints map[string][]byte, d *finding.Document, also []*task.Issue) report.Finding {
	template := hints[d.TemplateID]
	if text, err := base64.StdEncoding.DecodeString(d.Encoded()); err == nil && len(text) > 0 {
		template = text
	}
	matcher := d.Event("matcher-name").Text
	maskDocument(m, d)
	out := report.Finding{Finding: fact.Of(d)}
	complete(&out.Finding, template)
	h := fact.HintsOf(template, matcher).With(out.Extracted...)
	out.From = from(d.ScanID, also)
	if at := d.Event("fuzzing_parameter").Text; at != "" {
		out.Verified = fact.Clip(d.Event("analyzer_details").Text, 500)
	}
	if d.Request.Text != "" || d.Response.Text != "" {
		out.Exchanges = []report.Exchange{
			{Request: cutRequest(d.Request.Text), Response: h.Find(d.Response.Text, maxResponse)},
		}
	}
	for _, c := range compared(d) { // it is masked by now
		out.Exchanges = append(out.Exchanges, report.Exchange{Title: titled("Comparison", c.Note),
			Request: cutRequest(c.Request), Response: h.Find(c.Response, maxResponse)})
	}
	for _, i := range also {
		learn(m, i)
		verification(m, h, i, &out)
	}
	return out
}

func cutRequest(text string) fact.Excerpt { return fact.Hints{}.Find(text, maxRequest) }

// complete adds what the template and the class of the weakness say where a finding says nothing.
func complete(f *fact.Finding, template []byte) {
	if f.Remediation == "" || f.Impact == "" || len(f.CWEs) == 0 {
		if t, err := syntax.Parse("", template); err == nil {
			f.Impact, f.Remediation = cmp.Or(f.Impact, t.Info.Impact), cmp.Or(f.Remediation, t.Info.Remediation)
			f.Description = cmp.Or(f.Description, t.Info.Description)
			f.Classify(t.Info.Classification)
		}
	}
	f.Complete()
}

// hintsOf are the texts of templates, by id: of the starter set, and of the team's catalogue.
func (es *Exports) hintsOf(ctx context.Context, teamID string, all []seen) (map[string][]byte, error) {
	out := map[string][]byte{}
	var others []string
	for _, s := range all {
		if _, known := out[s.template]; known || s.template == "" {
			continue
		}
		out[s.template] = es.starter()[s.template]
		if out[s.template] == nil {
			others = append(others, s.template)
		}
	}
	if es.from.Catalog == nil || len(others) == 0 {
		return out, nil
	}
	texts, err := es.from.Catalog.Texts(ctx, teamID, others)
	for id, t := range texts {
		out[id] = t.Data
	}
	return out, err
}

// starterTexts are the starter templates, by id.
func starterTexts() map[string][]byte {
	out := map[string][]byte{}
	_ = fs.WalkDir(starter.FS(), ".", func(path string, entry fs.DirEntry, err error) error { // it is in the binary
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(starter.FS(), path)
		if err == nil {
			name := path[strings.LastIndexByte(path, '/')+1:]
			out[strings.TrimSuffix(name, ".yaml")] = text
		}
		return err
	})
	return out
}

// retests adds the result of the last retest of the first findings of scans.
func (f *File) retests(ctx context.Context, all []report.Finding) error {
	looked := 0
	for i := range all {
		if all[i].ScanID == "" || looked == maxRetests {
			continue
		}
		looked++
		_, retest, err := f.es.from.Findings.FindRetest(ctx, all[i].ID)
		if err != nil {
			return err
		}
		if retest.State != finding.NoRetest {
			all[i].Retest = retestWords(string(retest.State), retest.EndedAt)
		}
	}
	return nil
}

func retestWords(state string, ended time.Time) string {
	text := strings.ReplaceAll(state, "_", " ")
	if !ended.IsZero() {
		text += ", " + ended.UTC().Format("2 January 2006")
	}
	return text
}
