package fuzz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Analyzer confirms a mutation beyond matchers: time_delay by requests with other delays, xss_context by the place of
// the payload in the page, true_false by requests with a false condition.
type Analyzer struct {
	timing, logic bool

	sleep       int     // seconds that the payload asks for first
	requests    int     // to be sent for confirmation
	correlation float64 // by how much the correlation may miss 1
	slope       float64 // by how much the slope may miss 1
}

// Bounds of the parameters of time_delay, which a target's worker waits for.
const (
	maxSleep    = 60
	maxRequests = 20
)

func newAnalyzer(file string, s *syntax.Analyzer) (*Analyzer, error) {
	a := &Analyzer{timing: s.Name == "time_delay", logic: s.Name == "true_false", sleep: 5, requests: 4, correlation: 0.15,
		slope: 0.30}
	for _, p := range s.Parameters {
		n, err := strconv.ParseFloat(p.Value, 64)
		ok := err == nil && n >= 0
		switch p.Name {
		case "sleep_duration":
			a.sleep, ok = int(n), ok && n >= 1 && n <= maxSleep
		case "requests_limit":
			a.requests, ok = int(n), ok && n >= 2 && n <= maxRequests
		case "time_correlation_error_range":
			a.correlation, ok = n, ok && n <= 1
		case "time_slope_error_range":
			a.slope = n
		default:
			continue // one of another analyzer
		}
		if !ok {
			return nil, syntax.Fault(file, p.Line, 0, "analyzer.parameters."+p.Name, "%q is out of range", p.Value)
		}
	}
	return a, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// tokens replaces the tokens in payloads: [SLEEPTIME], [RANDNUM] (1000 to 9999), [RANDSTR] (four letters) and
// [INFERENCE] (a number that equals itself).
func (a *Analyzer) tokens(sleep int) func(payload string) string {
	word := make([]byte, 4)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	inference := strconv.Itoa(1000 + rand.IntN(9000))
	fill := strings.NewReplacer(
		"[SLEEPTIME]", strconv.Itoa(sleep), "[RANDNUM]", strconv.Itoa(1000+rand.IntN(9000)), "[RANDSTR]", string(word),
		"[INFERENCE]", inference+"="+inference,
	)
	return fill.Replace
}

// Answer is the response to a request.
type Answer struct {
	Status int
	Body   []byte
	Took   time.Duration // from the request sent to the header received
}

// Analyze evaluates the response to a mutation. Matchers see confirmed as analyzer and details as analyzer_details.
// An error of send ends the analysis and is returned.
func (a *Analyzer) Analyze(ctx context.Context, m *Mutation, first Answer,
	send func(context.Context, *web.Request) (Answer, error),
) (confirmed bool, details string, err error) {
	if a.logic {
		return a.compareConditions(ctx, m, first, send)
	}
	if !a.timing {
		contexts := reflections(first.Body, m.sent)
		if plain, err := url.QueryUnescape(m.sent); err == nil && len(contexts) == 0 {
			contexts = reflections(first.Body, plain)
		}
		if len(contexts) == 0 {
			return false, "", nil
		}
		return true, "xss-reflected in " + strings.Join(contexts, ", "), nil
	}
	if first.Took < time.Duration(a.sleep)*time.Second {
		return false, "", nil
	}
	return a.delays(func(seconds int) (time.Duration, error) {
		r := m.with(a.tokens(seconds))
		answer, err := send(ctx, &r)
		return answer.Took, err
	})
}

// delays requests long and short sleeps in turn and gives up when a response is too early, or the delays do not
// follow the sleeps.
func (a *Analyzer) delays(ask func(seconds int) (time.Duration, error)) (confirmed bool, details string, err error) {
	short := min(3, a.sleep-1)
	var line regression
	var report strings.Builder
	for i := range a.requests {
		seconds := a.sleep
		if i%2 == 1 {
			seconds = short
		}
		took, err := ask(seconds)
		if err != nil {
			return false, "", err
		}
		if took.Seconds() < float64(seconds) {
			return false, "", nil
		}
		line.add(float64(seconds), took.Seconds())
		if !line.follows(0.3, 0.5) {
			return false, "", nil
		}
		fmt.Fprintf(&report, "\n - asked for %ds, took %.3fs", seconds, took.Seconds())
	}
	if !line.follows(a.correlation, a.slope) {
		return false, "", nil
	}
	slope, correlation := line.fit()
	return true, fmt.Sprintf("[time_delay] %d requests, slope %.2f, correlation %.2f%s", a.requests, slope, correlation,
		report.String()), nil
}
