package evidence

import (
	"math"
	"slices"
	"strings"
)

// Result is what sending a proof again showed.
type Result string

// The results.
const (
	Same    Result = "same"    // the check shows the weakness, with the same status and values
	Changed Result = "changed" // the check shows the weakness, but the answer has another status or other values
	Gone    Result = "gone"    // the place answered, and the check does not show the weakness
	Failed  Result = "failed"  // it could not be tested, which says nothing about the weakness
)

// Answer is what of an answer is compared.
type Answer struct {
	Response  string
	Extracted []string
}

// Compare is Same or Changed, for two answers in which a check shows a weakness.
func Compare(was, is Answer) Result {
	if statusLine(was.Response) != statusLine(is.Response) ||
		!slices.Equal(slices.Sorted(slices.Values(was.Extracted)), slices.Sorted(slices.Values(is.Extracted))) {
		return Changed
	}
	return Same
}

// statusLine is the status of an HTTP answer without its version and reason; empty for other answers.
func statusLine(response string) string {
	line, _, _ := strings.Cut(response, "\n")
	words := strings.Fields(line)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/") {
		return ""
	}
	return words[1]
}

// Runs counts how often a check showed a weakness.
type Runs struct {
	Shown, Total int
}

// Interval is the 95 % confidence interval of the share of runs that show the weakness, after Wilson; 0 to 1 without
// any run.
func (r Runs) Interval() (low, high float64) {
	if r.Total <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	n, p := float64(r.Total), float64(r.Shown)/float64(r.Total)
	middle, spread := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (middle-spread)/(1+z*z/n)), min(1, (middle+spread)/(1+z*z/n))
}
