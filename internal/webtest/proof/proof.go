// Package proof has proofs of several steps: small programs of requests that show a weakness again.
//
// A program names its variables, users and steps. Variables are made anew at each run: random words and numbers,
// products of them, addresses that wait for a call. A step sends one request, or a series of requests with delays, or
// opens a page in the browser; it takes values out of the answer and says what must hold. Texts of a request name a
// variable as VAR_name_VAR, which stands in addresses, headers and bodies without being escaped. A program holds when
// all that it expects holds; the first that does not is its error.
package proof

import (
	"errors"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Limits of a program, since one may come from others.
const (
	maxSteps   = 40
	maxVars    = 40
	maxExpects = 20
	maxSeries  = 12
	maxDelay   = 30 * time.Second
)

// Program is a proof.
type Program struct {
	About string   `json:"about,omitempty"` // one sentence for people
	Users []string `json:"users,omitempty"` // that it needs, besides nobody
	Vars  []Var    `json:"vars,omitempty"`
	Steps []Step   `json:"steps"`
}

// Var is a variable that is made at each run.
type Var struct {
	Name string   `json:"name"`
	Kind VarKind  `json:"kind"`
	Of   []string `json:"of,omitempty"` // Product, Sum: the two numbers
}

// VarKind is how a variable is made.
type VarKind string

// Kinds of variables.
const (
	Word     VarKind = "word"     // 8 random letters
	Number   VarKind = "number"   // 5 digits
	Product  VarKind = "product"  // of two numbers
	Sum      VarKind = "sum"      // of two numbers
	Callback VarKind = "callback" // an address of the out-of-band server
)

// Step is one thing that is done.
type Step struct {
	ID      string           `json:"id"`
	As      string           `json:"as,omitempty"` // a user; "": nobody
	Send    *message.Request `json:"send,omitempty"`
	From    string           `json:"from,omitempty"`   // whose page sends it, one of Origins; "": the application's own
	Writes  bool             `json:"writes,omitempty"` // it may change data
	Series  []Delayed        `json:"series,omitempty"` // of delays, instead of Send
	Cut     []string         `json:"cut,omitempty"`    // texts that were sent and do not count when answers are compared
	Calls   string           `json:"calls,omitempty"`  // a function that the page of Send calls in a browser
	Extract []Extract        `json:"extract,omitempty"`
	Expect  []Expect         `json:"expect,omitempty"`
}

// Origins are the names of what makes a browser send a request. With it go the cookies that a browser sends then.
var Origins = map[string]client.Origin{"": client.OwnPage, "link": client.ByLink, "other-site": client.Elsewhere,
	"other-site-in-all-browsers": client.AllBrowsers}

// Delayed is a request of a series and the delay that it asks for; without one it is a twin.
type Delayed struct {
	Send  *message.Request `json:"send"`
	Asked time.Duration    `json:"asked"`
}

// Extract takes a variable out of an answer.
type Extract struct {
	Name    string `json:"name"`
	Header  string `json:"header,omitempty"` // of this line; otherwise of the body
	Pattern string `json:"pattern"`          // a regular expression; its first group, or all of it
}

// Expect is what must hold of a step's answer. Texts may name variables.
type Expect struct {
	What  What   `json:"what"`
	Name  string `json:"name,omitempty"`  // Header: the line
	Value string `json:"value,omitempty"` // what is looked for
	Of    string `json:"of,omitempty"`    // Same: the step that is compared with
	Not   bool   `json:"not,omitempty"`   // it must not hold
}

// What is a kind of expectation.
type What string

// Kinds of expectations.
const (
	Status   What = "status"   // Value is the status
	Contains What = "contains" // the body has Value
	Matches  What = "matches"  // the body matches the regular expression Value
	Header   What = "header"   // the line Name has Value
	Runs     What = "runs"     // the document, or what its scripts write into it, runs the function Value, as it is parsed
	Executes What = "executes" // the browser has called the function of Step.Calls
	Same     What = "same"     // the answer says the same as that of step Of
	Delays   What = "delays"   // the series shows that the target waits
	Works    What = "works"    // the series shows that the target computes what it is asked to, which takes about that long
	Called   What = "called"   // the callback Value was called
)

// Check refuses a program that cannot be run. The error names the part.
func (p *Program) Check() error {
	switch {
	case p == nil || len(p.Steps) == 0:
		return errors.New("a proof needs steps")
	case len(p.Steps) > maxSteps:
		return fmt.Errorf("steps: at most %d", maxSteps)
	case len(p.Vars) > maxVars:
		return fmt.Errorf("vars: at most %d", maxVars)
	}
	for i, v := range p.Vars {
		if (v.Kind == Product || v.Kind == Sum) && len(v.Of) != 2 {
			return fmt.Errorf("vars[%d].of: it is of two numbers", i)
		}
		switch v.Kind {
		case Word, Number, Product, Sum, Callback:
		default:
			return fmt.Errorf("vars[%d].kind: %q is no kind of variable", i, v.Kind)
		}
	}
	expects := 0
	seen := map[string]bool{}
	for i, s := range p.Steps {
		if err := s.check(seen); err != nil {
			return fmt.Errorf("steps[%d].%w", i, err)
		}
		seen[s.ID] = true
		expects += len(s.Expect)
	}
	if expects == 0 {
		return errors.New("a proof that expects nothing shows nothing")
	}
	return nil
}

func (s *Step) check(seen map[string]bool) error {
	switch {
	case s.ID == "" || seen[s.ID]:
		return fmt.Errorf("id: %q is empty or there twice", s.ID)
	case (s.Send == nil) == (len(s.Series) == 0):
		return errors.New("send: a step has either a request or a series")
	case len(s.Series) > maxSeries:
		return fmt.Errorf("series: at most %d", maxSeries)
	case len(s.Expect) > maxExpects:
		return fmt.Errorf("expect: at most %d", maxExpects)
	}
	if _, ok := Origins[s.From]; !ok {
		return fmt.Errorf("from: %q is no origin of a request", s.From)
	}
	for i, d := range s.Series {
		if d.Send == nil || d.Asked < 0 || d.Asked > maxDelay {
			return fmt.Errorf("series[%d]: needs a request and a delay of at most %s", i, maxDelay)
		}
	}
	for i, e := range s.Expect {
		switch e.What {
		case Status, Contains, Matches, Header, Runs, Executes, Called:
		case Delays, Works:
			if len(s.Series) == 0 {
				return fmt.Errorf("expect[%d]: %s needs a series", i, e.What)
			}
		case Same:
			if !seen[e.Of] {
				return fmt.Errorf("expect[%d].of: no step %q before", i, e.Of)
			}
		default:
			return fmt.Errorf("expect[%d].what: %q is no expectation", i, e.What)
		}
	}
	return nil
}

// Marker is how texts of requests name a variable.
func Marker(name string) string { return "VAR_" + name + "_VAR" }
