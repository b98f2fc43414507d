package coverage

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
)

// Timing is what a template cost on all targets. A shared request counts for each of its templates.
type Timing struct {
	Template string  `json:"template"`
	Requests int     `json:"requests"`
	Waited   float64 `json:"waited_seconds"` // for responses
	Events   int     `json:"events"`
}

// Cost is a Timing while it grows; any number of goroutines may add to it.
type Cost struct{ requests, waited, events atomic.Int64 }

// Request counts a request that waited for its response.
func (c *Cost) Request(waited time.Duration) {
	c.requests.Add(1)
	c.waited.Add(int64(waited))
}

// Events counts findings.
func (c *Cost) Events(n int) { c.events.Add(int64(n)) }

// Timings are the costs of the templates that sent requests; those that waited longest come first.
func Timings(templates []string, costs []Cost) []Timing {
	all := []Timing{}
	for i := range costs {
		if n := int(costs[i].requests.Load()); n > 0 {
			waited := time.Duration(costs[i].waited.Load()).Seconds()
			all = append(all, Timing{templates[i], n, waited, int(costs[i].events.Load())})
		}
	}
	slices.SortStableFunc(all, func(a, b Timing) int { return cmp.Compare(b.Waited, a.Waited) })
	return all
}
