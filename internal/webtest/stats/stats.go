// Package stats decides whether answers take longer because they were asked to.
//
// Five twins, requests with the same words and no delay, give the median m and the spread s of answers. One screening
// request with the delay d must take most of d longer. Then three requests each of no delay, d and 2d are sent in
// random order: the levels must be wholly separated, and a line through them (Theil and Sen's, which outliers do not
// move) must rise by 0.9 seconds a second or more, pass near m at no delay, and be near all points. A last twin must be
// quick again. By luck nine equal answers are so ordered once in 1,680 times, before sizes count.
//
// Where a target cannot wait it is asked for work instead, whose time is some times as long on a machine that is busy:
// the levels are 0, d and 4d. Of the 27 pairs of answers of two levels one may be in the wrong order (by luck that is
// so once in 560 times), and the line must rise by a quarter of a second a second to six.
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
const minWork, maxWork = 400 * time.Millisecond, 500 * time.Millisecond

func median(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// Levels are what the requests of a series ask for.
func (b Base) Levels() (all []time.Duration) {
	longest := 2 * b.Delay
	if b.Work {
		longest = 4 * b.Delay
	}
	for range 3 {
		all = append(all, 0, b.Delay, longest)
	}
	return all
}

// Tries are how often a series is sent that shows nothing, and whether alone: a machine that is busy has hiccups, and
// a delay is seen again.
func (b Base) Tries() []bool {
	if b.Work {
		return []bool{false, true, true}
	}
	return []bool{false, true}
}

// Hopeless says whether a series of work is so far from its order that another one is not worth its requests: of
// answers that differ by themselves, half of the 27 pairs are in the wrong order.
func (b Base) Hopeless(series []Sample) bool {
	return b.Work && len(series) > 0 && Line(series).Inverted > 5
}

// WorkDelay is how long the lesser work must take that is asked for: several times as long as answers differ by
// themselves; 0 where that is too long.
func (b Base) WorkDelay() time.Duration {
	if d := max(minWork, 4*b.Spread); d <= maxWork {
		return d
	}
	return 0
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
	Inverted  int           // pairs of answers of which the one to a longer delay took no longer; -1 if there is no line
}

// Line fits a line to a series.
func Line(series []Sample) Fit {
	var slopes []float64
	inverted := 0
	for i, a := range series {
		for _, b := range series[i+1:] {
			if a.Asked == b.Asked {
				continue
			}
			slopes = append(slopes, float64(b.Took-a.Took)/float64(b.Asked-a.Asked))
			if a.Took == b.Took || (a.Asked < b.Asked) != (a.Took < b.Took) {
				inverted++
			}
		}
	}
	if len(slopes) == 0 {
		return Fit{Inverted: -1}
	}
	slices.Sort(slopes)
	f := Fit{Slope: slopes[len(slopes)/2], Inverted: inverted}
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
		return f.Inverted <= 1 && f.Slope >= 0.25 && f.Slope <= 6
	}
	if f.Inverted > 0 || f.Slope < 0.9 || math.IsInf(f.Slope, 0) {
		return false
	}
	allowed := time.Duration(0.15*f.Slope*float64(b.Delay)) + 3*b.Spread
	return f.Worst <= allowed && (f.Intercept-b.Median).Abs() <= allowed
}
