package e2e

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/vedette-sec/vedette/lab/apps"
)

// labResult is the result of one task on one application of the lab.
type labResult struct {
	App      string         `json:"app"`
	Status   string         `json:"status"` // of the task
	Found    []string       `json:"found"`  // ids of weaknesses
	Missed   []string       `json:"missed"`
	Findings int            `json:"findings"` // reported, right or wrong; several may be about one weakness
	False    []apps.Finding `json:"false"`    // not about any weakness
	Requests int64          `json:"requests"` // received by the application
	Seconds  float64        `json:"seconds"`
	Cost     float64        `json:"cost"` // of the language model, in US dollars
	Summary  string         `json:"summary,omitempty"`

	Templates map[string]int `json:"templates"` // findings by what can reproduce them
}

// labRun is all applications, once.
type labRun []labResult

// labReport is what `make lab` writes.
type labReport struct {
	Planner   string   `json:"planner"` // builtin, or the model
	Runs      []labRun `json:"runs"`
	Recall    spread   `json:"recall"`    // weaknesses found of all there are
	Precision spread   `json:"precision"` // findings that are about a weakness of all that were reported
	Requests  spread   `json:"requests"`
	Seconds   spread   `json:"seconds"`
	Cost      spread   `json:"cost"`
}

// spread is a figure over all runs.
type spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

func spreadOf[T any](runs []T, figure func(T) float64) (s spread) {
	for i, run := range runs {
		x := figure(run)
		if s.Mean += x / float64(len(runs)); i == 0 || x < s.Min {
			s.Min = x
		}
		s.Max = max(s.Max, x)
	}
	return s
}

// score compares findings with the weaknesses of an application.
func score(a apps.App, findings []apps.Finding) labResult {
	r := labResult{App: a.Name, Found: []string{}, Missed: []string{}, Findings: len(findings), False: []apps.Finding{}}
	about := map[string]bool{}
	for _, f := range findings {
		right := false
		for _, w := range a.Weaknesses {
			if w.Is(f) {
				about[w.ID], right = true, true
			}
		}
		if !right {
			r.False = append(r.False, f)
		}
	}
	for _, w := range a.Weaknesses {
		if about[w.ID] {
			r.Found = append(r.Found, w.ID)
		} else {
			r.Missed = append(r.Missed, w.ID)
		}
	}
	return r
}

// sum adds a figure up over the applications of a run.
func (run labRun) sum(figure func(labResult) float64) (total float64) {
	for _, r := range run {
		total += figure(r)
	}
	return total
}

func (r labResult) found() float64    { return float64(len(r.Found)) }
func (r labResult) missed() float64   { return float64(len(r.Missed)) }
func (r labResult) wrong() float64    { return float64(len(r.False)) }
func (r labResult) reported() float64 { return float64(r.Findings) }
func (r labResult) requests() float64 { return float64(r.Requests) }
func (r labResult) seconds() float64  { return r.Seconds }
func (r labResult) cost() float64     { return r.Cost }

// share is part/whole; 1 when whole is 0.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 1
	}
	return part / whole
}

func newReport(planner string, runs []labRun) labReport {
	total := func(figure func(labResult) float64) spread {
		return spreadOf(runs, func(run labRun) float64 { return run.sum(figure) })
	}
	return labReport{
		Planner: planner, Runs: runs, Requests: total(labResult.requests), Seconds: total(labResult.seconds),
		Cost: total(labResult.cost),
		Recall: spreadOf(runs, func(run labRun) float64 {
			return share(run.sum(labResult.found), run.sum(labResult.found)+run.sum(labResult.missed))
		}),
		Precision: spreadOf(runs, func(run labRun) float64 {
			return share(run.sum(labResult.reported)-run.sum(labResult.wrong), run.sum(labResult.reported))
		}),
	}
}

// print writes the report as a table. With several runs, the figures of an application are means,
// and the totals have minimum and maximum.
func (l labReport) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := []func(labResult) float64{
		func(r labResult) float64 { return r.found() + r.missed() },
		labResult.found, labResult.missed, labResult.wrong, labResult.requests, labResult.seconds, labResult.cost,
	}
	row := func(name string, figures func(column func(labResult) float64) float64) {
		fmt.Fprintf(w, "%-10s\t", name)
		for i, column := range columns {
			format := []string{"%.4g\t", "%.2f\t", "%.4f\t"}[max(0, i-4)]
			fmt.Fprintf(w, format, figures(column))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "app       \tweaknesses\tfound\tmissed\tfalse\trequests\tseconds\tUS dollars\t")
	for i, first := range l.Runs[0] {
		row(first.App, func(column func(labResult) float64) float64 {
			return spreadOf(l.Runs, func(run labRun) float64 { return column(run[i]) }).Mean
		})
	}
	row("all", func(column func(labResult) float64) float64 {
		return spreadOf(l.Runs, func(run labRun) float64 { return run.sum(column) }).Mean
	})
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(to, "\n%s, %d run(s)\n", l.Planner, len(l.Runs))
	for _, f := range []struct {
		name, format string
		of           spread
		times        float64
	}{
		{"recall", "%.1f %%", l.Recall, 100}, {"precision", "%.1f %%", l.Precision, 100},
		{"requests", "%.0f", l.Requests, 1}, {"seconds", "%.1f", l.Seconds, 1}, {"cost", "%.4f US dollars", l.Cost, 1},
	} {
		fmt.Fprintf(to, "%-9s  "+f.format, f.name, f.of.Mean*f.times)
		if len(l.Runs) > 1 {
			fmt.Fprintf(to, "  (mean; from "+f.format+" to "+f.format+")", f.of.Min*f.times, f.of.Max*f.times)
		}
		fmt.Fprintln(to)
	}
	if err := l.printTemplates(to); err != nil {
		return err
	}
	return l.printNames(to)
}

// printTemplates lists how many findings of the last run became templates, and why the
// others did not.
func (l labReport) printTemplates(to io.Writer) error {
	counts := map[string]int{}
	for _, r := range l.Runs[len(l.Runs)-1] {
		for why, n := range r.Templates {
			counts[why] += n
		}
	}
	fmt.Fprintln(to, "\nfindings that are shown again by a template:")
	for _, why := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] }) {
		if _, err := fmt.Fprintf(to, "%4d  %s\n", counts[why], why); err != nil {
			return err
		}
	}
	return nil
}

// printNames lists what was missed, with how often it was found where that differs, and
// what was false.
func (l labReport) printNames(to io.Writer) error {
	times := map[string]int{}
	var ids, wrong []string
	for _, run := range l.Runs {
		for _, r := range run {
			for _, id := range r.Missed {
				if times[id]++; times[id] == 1 {
					ids = append(ids, id)
				}
			}
			for _, f := range r.False {
				wrong = append(wrong, r.App+": "+cmp.Or(f.Title, "without a title")+" at "+f.URL)
			}
		}
	}
	for i, id := range ids {
		if n := times[id]; n < len(l.Runs) {
			ids[i] = fmt.Sprintf("%s (%d of %d times)", id, n, len(l.Runs))
		}
	}
	slices.Sort(wrong)
	_, err := fmt.Fprintf(to, "\nmissed: %s\nfalse: %s\n", cmp.Or(strings.Join(ids, ", "), "nothing"),
		cmp.Or(strings.Join(wrong, "\n       "), "nothing"))
	return err
}
