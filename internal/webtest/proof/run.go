package proof

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/domflow"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/stats"
)

// Runner runs programs.
type Runner struct {
	Send  func(ctx context.Context, r *message.Request, o client.Options) (*message.Response, error)
	Users func(name string) *client.User // nil: there is none of that name

	// Browse opens a request in the browser and says whether its page called a function; nil: there is no browser.
	Browse func(ctx context.Context, r *message.Request, as *client.User, function string) (bool, error)
	// Callback makes an address that waits; Called says whether it was called. nil: there is no out-of-band server.
	Callback func() (id, address string)
	Called   func(ctx context.Context, id string) (bool, error)
}

// Outcome is what a run has seen.
type Outcome struct {
	Holds   bool
	Failed  string // the expectation that did not hold
	Answers []*message.Response
}

// run is one run of a program.
type run struct {
	*Runner
	vars      map[string]string
	callbacks map[string]string // ids of variables
	pages     map[string]*diff.Page
	compared  map[string]bool       // steps that others are compared with
	noise     map[string]diff.Noise // of those: what changes by itself
	outcome   Outcome
}

// Run runs a program with new variables. The error says why it could not be run, and is none of the target.
func (r *Runner) Run(ctx context.Context, p *Program) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Outcome{}, err
	}
	one := &run{Runner: r, vars: map[string]string{}, callbacks: map[string]string{}, pages: map[string]*diff.Page{},
		compared: map[string]bool{}, noise: map[string]diff.Noise{}}
	for _, s := range p.Steps {
		for _, e := range s.Expect {
			one.compared[e.Of] = e.What == Same || one.compared[e.Of]
		}
	}
	if err := one.make(p.Vars); err != nil {
		return Outcome{}, err
	}
	for i := range p.Steps {
		failed, err := one.step(ctx, &p.Steps[i])
		if err != nil {
			return one.outcome, fmt.Errorf("step %s: %w", p.Steps[i].ID, err)
		}
		if failed != "" {
			one.outcome.Failed = "step " + p.Steps[i].ID + ": " + failed
			return one.outcome, nil
		}
	}
	one.outcome.Holds = true
	return one.outcome, nil
}

func (r *run) make(vars []Var) error {
	for _, v := range vars {
		switch v.Kind {
		case Word:
			r.vars[v.Name] = "w" + strings.ToLower(rand.Text()[:7])
		case Number:
			n, err := rand.Int(rand.Reader, big.NewInt(36_300))
			if err != nil {
				return err
			}
			r.vars[v.Name] = strconv.FormatInt(10_001+n.Int64(), 10)
		case Product, Sum:
			a, _ := strconv.Atoi(r.vars[v.Of[0]])
			b, _ := strconv.Atoi(r.vars[v.Of[1]])
			if a == 0 || b == 0 {
				return fmt.Errorf("variable %s: %v are no numbers", v.Name, v.Of)
			}
			r.vars[v.Name] = strconv.Itoa(a * b)
			if v.Kind == Sum {
				r.vars[v.Name] = strconv.Itoa(a + b)
			}
		case Callback:
			if r.Callback == nil {
				return fmt.Errorf("variable %s needs an out-of-band server", v.Name)
			}
			r.callbacks[v.Name], r.vars[v.Name] = r.Callback()
		}
	}
	return nil
}

// fill puts variables into a text, also into parts of it that are Base64 of a text that names some.
func (r *run) fill(text string) string {
	if strings.Contains(text, "VAR_") {
		for name, value := range r.vars {
			text = strings.ReplaceAll(text, Marker(name), value)
		}
	}
	return encoded.ReplaceAllStringFunc(text, r.fillEncoded)
}

// encoded is what may be Base64 of a text that names a variable, as it stands in addresses and bodies.
var encoded = regexp.MustCompile(`(?:[A-Za-z0-9+/]|%2[BFbf]){10,}(?:=|%3[Dd]){0,2}`)

// fillEncoded is fill of Base64; what is none, or names no variable, stays as it is.
func (r *run) fillEncoded(text string) string {
	plain, isEscaped := text, strings.Contains(text, "%")
	if isEscaped {
		plain = strings.NewReplacer("%2B", "+", "%2b", "+", "%2F", "/", "%2f", "/", "%3D", "=", "%3d", "=").Replace(text)
	}
	inner, err := base64.StdEncoding.DecodeString(plain)
	if err != nil || !bytes.Contains(inner, []byte("VAR_")) {
		return text
	}
	filled := string(inner)
	for name, value := range r.vars {
		filled = strings.ReplaceAll(filled, Marker(name), value)
	}
	again := base64.StdEncoding.EncodeToString([]byte(filled))
	if isEscaped || strings.ContainsAny(again, "+") && !strings.ContainsAny(plain, "+") {
		again = strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(again)
	}
	return again
}

// request is a copy of a request with its variables.
func (r *run) request(from *message.Request) *message.Request {
	out := from.Clone()
	out.URL.Path, out.URL.RawPath = r.fill(out.URL.Path), r.fill(out.URL.RawPath)
	out.URL.RawQuery, out.URL.Host = r.fill(out.URL.RawQuery), r.fill(out.URL.Host)
	out.URL.Fragment, out.URL.RawFragment = r.fill(out.URL.Fragment), r.fill(out.URL.RawFragment)
	for _, lines := range out.Header {
		for i := range lines {
			lines[i] = r.fill(lines[i])
		}
	}
	out.Body = []byte(r.fill(string(out.Body)))
	if out.After != nil {
		out.After = r.request(out.After)
	}
	return out
}

//nolint:gocognit // one step after another, as the program has them
func (r *run) step(ctx context.Context, s *Step) (failed string, err error) {
	var user *client.User
	if s.As != "" {
		if r.Users != nil {
			user = r.Users(s.As)
		}
		if user == nil {
			return "", fmt.Errorf("there is no user %q", s.As)
		}
	}
	delayed := false
	answer := &message.Response{Header: http.Header{}}
	executed := false
	switch {
	case len(s.Series) > 0:
		for _, alone := range (stats.Base{Work: s.works()}).Tries() {
			if delayed, err = r.series(ctx, s, user, alone); delayed || err != nil {
				break
			}
		}
	case s.Calls != "":
		if r.Browse == nil {
			return "", errors.New("needs a browser")
		}
		executed, err = r.Browse(ctx, r.request(s.Send), user, r.fill(s.Calls))
	default:
		answer, err = r.Send(ctx, r.request(s.Send), client.Options{As: user, From: Origins[s.From], Writes: s.Writes})
	}
	if err != nil {
		return "", err
	}
	if answer.Request != nil {
		r.outcome.Answers = append(r.outcome.Answers, answer)
		echoes := make([]string, 0, len(r.vars)+len(s.Cut))
		for _, text := range s.Cut {
			echoes = append(echoes, r.fill(text))
		}
		for _, value := range r.vars {
			echoes = append(echoes, value)
		}
		r.pages[s.ID] = diff.New(answer, echoes...)
		if r.compared[s.ID] && !s.Writes { // asked for again, to know what changes by itself
			again, err := r.Send(ctx, r.request(s.Send), client.Options{As: user, From: Origins[s.From]})
			if err != nil {
				return "", err
			}
			r.noise[s.ID] = diff.Learn(r.pages[s.ID], diff.New(again, echoes...))
		}
	}
	for _, x := range s.Extract {
		value, err := x.from(answer)
		if err != nil {
			return "", err
		}
		if value == "" {
			return "the answer has no " + x.Name, nil
		}
		r.vars[x.Name] = value
	}
	for _, e := range s.Expect {
		holds, err := r.holds(ctx, s, e, answer, delayed, executed)
		if err != nil {
			return "", err
		}
		if holds == e.Not {
			return e.String(), nil
		}
	}
	return "", nil
}

func (x Extract) from(answer *message.Response) (string, error) {
	pattern, err := regexp.Compile(x.Pattern)
	if err != nil {
		return "", fmt.Errorf("extract %s: %w", x.Name, err)
	}
	text := string(answer.Body)
	if x.Header != "" {
		text = strings.Join(answer.Header.Values(x.Header), "\n")
	}
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return "", nil
	}
	return m[len(m)-1], nil
}

func (r *run) holds(ctx context.Context, s *Step, e Expect, answer *message.Response, delayed, executed bool) (
	bool, error,
) {
	value, name := r.fill(e.Value), r.fill(e.Name)
	shown := message.Shown(answer.Body) // what a page shows of another text is often escaped in it
	switch e.What {
	case Status:
		return strconv.Itoa(answer.Status) == value, nil
	case Contains:
		return strings.Contains(shown, value), nil
	case Matches:
		pattern, err := regexp.Compile(value)
		if err != nil {
			return false, err
		}
		return pattern.Match(answer.Body) || pattern.MatchString(shown), nil
	case Header:
		return strings.Contains(strings.Join(answer.Header.Values(name), "\n"), value), nil
	case Runs:
		if answer.IsXML() {
			return markup.RunsXML(string(answer.Body), value), nil
		}
		_, ok := markup.Runs(string(answer.Body), value)
		if !ok && s.Send != nil {
			ok = domflow.Runs(string(answer.Body), r.request(s.Send).URL, value)
		}
		return ok && answer.IsHTML(), nil
	case Executes:
		return executed, nil
	case Delays, Works:
		return delayed, nil
	case Same:
		a, b := r.pages[s.ID], r.pages[e.Of]
		return a != nil && b != nil && diff.Same(a, b, r.noise[e.Of]), nil
	case Called:
		if r.Called == nil {
			return false, errors.New("needs an out-of-band server")
		}
		return r.Called(ctx, r.callbacks[e.Value])
	}
	return false, nil
}

// works reports whether a series is of work.
func (s *Step) works() bool {
	return slices.ContainsFunc(s.Expect, func(e Expect) bool { return e.What == Works })
}

// series runs a series of delays, in the order of the program.
func (r *run) series(ctx context.Context, s *Step, user *client.User, alone bool) (bool, error) {
	var twins []time.Duration
	var samples []stats.Sample
	for _, d := range s.Series {
		answer, err := r.Send(ctx, r.request(d.Send), client.Options{As: user, Alone: alone, Slow: true})
		if err != nil {
			return false, err
		}
		if d.Asked == 0 {
			twins = append(twins, answer.Took)
		}
		samples = append(samples, stats.Sample{Asked: d.Asked, Took: answer.Took})
	}
	if len(twins) == 0 {
		return false, errors.New("a series needs requests without a delay")
	}
	base := stats.Learn(twins)
	base.Work = s.works()
	for _, d := range s.Series {
		base.Delay = max(base.Delay, d.Asked/2)
	}
	return base.Delayed(samples), nil
}

// String is the expectation for people.
func (e Expect) String() string {
	not := ""
	if e.Not {
		not = "not "
	}
	return strings.TrimSpace(fmt.Sprintf("expected %s%s %s %s", not, e.What, e.Name, e.Value+e.Of))
}
