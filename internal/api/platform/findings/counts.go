package findings

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/due"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"golang.org/x/sync/errgroup"
)

// ResultCounts says how many findings each value of a filter would select.
type ResultCounts struct {
	Message  string         `json:"message"`
	Severity map[string]int `json:"severity" doc:"By severity, of those that the other filters select."`
	Status   map[string]int `json:"vuln_status" doc:"By status, of those that the other filters select."`
	Due      map[string]int `json:"due" doc:"By how late they are (due, soon, overdue), of those that the other filters select."`
	Estimate bool           `json:"is_estimate" doc:"One of them at least is counted up to a bound only."`
}

// countResults counts by each facet without the facet's own filter, so that a person sees what choosing another value
// would show.
func (s area) countResults(ctx context.Context, in *FilterQuery) (*ResultCounts, error) {
	filter, err := in.filter(time.Now())
	if err != nil {
		return nil, err
	}
	out := ResultCounts{Message: "Counts of findings.", Severity: map[string]int{}, Status: map[string]int{},
		Due: map[string]int{}}
	// Each value costs a count, which is long on a large team: two at a time leave room for others.
	var mu sync.Mutex
	todo, all := errgroup.WithContext(ctx)
	todo.SetLimit(2)
	count := func(into map[string]int, value string, f finding.Filter) {
		todo.Go(func() error {
			p, err := s.Findings.FindPage(all, f, nil, page.Window{Limit: 1})
			mu.Lock()
			defer mu.Unlock()
			into[value] = p.Total
			out.Estimate = out.Estimate || p.TotalIsEstimate
			return err
		})
	}
	for _, severity := range finding.Severities {
		f := filter
		f.Severities = []string{severity}
		count(out.Severity, severity, f)
	}
	for _, status := range finding.Statuses {
		f := filter
		f.Statuses = []finding.Status{status}
		count(out.Status, string(status), f)
	}
	for _, state := range due.States {
		f := filter
		f.Due = []string{string(state)}
		count(out.Due, string(state), f)
	}
	return &out, todo.Wait()
}
