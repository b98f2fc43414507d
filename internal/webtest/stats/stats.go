// Package stats decides whether answers take longer because they were asked to.
//
// Five twins, requests with the same words and no delay, give the median m and the spread s of answers. One screening
// request with the delay d must take most of d longer. Then three requests each of no delay, d and 2d are sent in
// random order: the levels must be wholly separated, and a line through them (Theil and Sen's, which outliers do not
// move) must rise by 0.9 seconds a second or more, pass near m at no delay, and be near all points. A last twin must be
// quick again. By luck nine equal answers are so ordered once in 1,680 times, before sizes count.
//
// Where a target cannot wait it is asked for work instead, whose time depends on what else it does: the levels must be
// separated as well, the line must rise by half a second a second to two and a half, and be nearer to each point than
// half the distance of two levels.
package stats

import (
	"math"
	"slices"
	"time"
)

// Base is how long answers take without a delay.
type Base struct {
	Median, Spread time.Duration
	Delay          time.Duration // to be asked for; 0: too unsteady to be tested by time
	Work           bool          // what is asked for is work that takes about that long
}

// Limits of a delay: the shortest that is asked for, and the longest.
const minDelay, maxDelay = time.Second, 10 * time.Second

// Learn is the Base of the times of twins, five or more.
func Learn(took []time.Duration) Base {
	sorted := slices.Sorted(slices.Values(took))
	m := median(sorted)
	deviations := make([]time.Duration, len(sorted))
	for i, t := range sorted {
		deviations[i] = (t - m).Abs()
	}
	slices.Sort(deviations)
	b := Base{Median: m, Spread: max(time.Duration(1.48*float64(median(deviations))), 30*time.Millisecond)}
	high := sorted[min(len(sorted)-1, len(sorted)*95/100)]
	b.Delay = max(minDelay, 8*b.Spread, high-m)
	if whole := b.Delay.Truncate(time.Second); whole < b.Delay { // databases sleep for whole seconds
		b.Delay = whole + time.Second
	}
	if b.Delay > maxDelay {
		b.Delay = 0
	}
	return b
}

// Limits of the time that work takes.
const minWork, maxWork = 500 * time.Millisecond, time.Second

func median(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// WorkDelay is how long work must take that is asked for: several times as long as answers differ by themselves; 0
// where that is too long.
func (b Base) WorkDelay() time.Duration {
	if d := max(minWork, 8*b.Spread); d <= maxWork {
		return d
	}
	return 0
}

// Late is what a series must show at least of a delay that is asked for, answer by answer.
func (b Base) Late(asked time.Duration) time.Duration {
	if b.Work {
		return asked * 4 / 10
	}
	return asked * 8 / 10
}

// Screened says whether an answer to a request with the delay took so long that a series is worth it.
func (b Base) Screened(took time.Duration) bool {
	return b.Delay > 0 && took-b.Median >= b.Delay*9/10
}

// Quick says whether an answer came as quickly as the twins.
func (b Base) Quick(took time.Duration) bool { return took-b.Median < b.Delay/2 }

// Sample is one request of a series: what it asked for and what it took.
type Sample struct{ Asked, Took time.Duration }

// Fit is the line through a series.
type Fit struct {
	Slope     float64       // seconds of answer for a second of delay; 2 if a payload runs twice
	Intercept time.Duration // without a delay
	Worst     time.Duration // the distance of the point that is farthest
	Separated bool          // every answer to a longer delay took longer than each to a shorter one
}

// Line fits a line to a series.
func Line(series []Sample) Fit {
	var slopes []float64
	separated := len(series) > 0
	for i, a := range series {
		for _, b := range series[i+1:] {
			if a.Asked == b.Asked {
				continue
			}
			slopes = append(slopes, float64(b.Took-a.Took)/float64(b.Asked-a.Asked))
			separated = separated && (a.Asked < b.Asked) == (a.Took < b.Took)
		}
	}
	if len(slopes) == 0 {
		return Fit{}
	}
	slices.Sort(slopes)
	f := Fit{Slope: slopes[len(slopes)/2], Separated: separated}
	rest := make([]time.Duration, len(series))
	for i, s := range series {
		rest[i] = s.Took - time.Duration(f.Slope*float64(s.Asked))
	}
	slices.Sort(rest)
	f.Intercept = median(rest)
	for _, r := range rest {
		f.Worst = max(f.Worst, (r - f.Intercept).Abs())
	}
	return f
}

// Delayed says whether a series shows that the target waits as long as it is asked to.
func (b Base) Delayed(series []Sample) bool {
	f := Line(series)
	if b.Work {
		step := time.Duration(f.Slope * float64(b.Delay))
		return f.Separated && f.Slope >= 0.5 && f.Slope <= 2.5 && f.Worst <= step/2 &&
			(f.Intercept-b.Median).Abs() <= step/2
	}
	if !f.Separated || f.Slope < 0.9 || math.IsInf(f.Slope, 0) {
		return false
	}
	allowed := time.Duration(0.15*f.Slope*float64(b.Delay)) + 3*b.Spread
	return f.Worst <= allowed && (f.Intercept-b.Median).Abs() <= allowed
}
