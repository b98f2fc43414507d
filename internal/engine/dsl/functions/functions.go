// Package functions holds the functions that expressions of the template language may call:
// texts, numbers, encodings, hashes, cryptography, time, chance and the network.
//
// All is the table of them. A function gets the values of its arguments and an Env, through
// which it reaches the network, the clock and the random generator. Everything that a template
// or a target decides is bounded: the size of results, the number of items, the time to wait.
package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Function is one function of the language.
type Function struct {
	Name     string
	Min, Max int // number of arguments; Max -1 means any number
	Run      func(env *Env, args []any) (any, error)

	Impure    bool   // the value depends on more than the arguments
	Expensive bool   // never computed while an expression is compiled
	Waits     bool   // for the network or the clock
	Refused   string // why an expression that calls it is not compiled
}

// Env is what functions may use besides their arguments. It belongs to one goroutine at a time.
// Keep one for all evaluations that concern the same response: it caches long texts in lower case.
type Env struct {
	Ctx  context.Context // bounds functions that wait; nil is context.Background
	Host *Host           // nil: functions that need the network fail

	lowered [4]struct{ text, lower string }
	next    int // entry of lowered to overwrite next
}

func (e *Env) context() context.Context {
	if e.Ctx == nil {
		return context.Background()
	}
	return e.Ctx
}

// longText is the length from which lower-case forms are cached.
const longText = 256

// lower is a text in lower case. Templates ask for that of the same body again and again.
func (e *Env) lower(s string) string {
	if len(s) < longText {
		return strings.ToLower(s)
	}
	for i := range e.lowered {
		if e.lowered[i].text == s {
			return e.lowered[i].lower
		}
	}
	l := strings.ToLower(s)
	e.lowered[e.next].text, e.lowered[e.next].lower = s, l
	e.next = (e.next + 1) % len(e.lowered)
	return l
}

// MaxResult bounds what one function, or one rendered text, may give, in bytes.
const MaxResult = 16 << 20

// ErrTooLarge says that a value is above MaxResult.
var ErrTooLarge = errors.New("the value is too large")

// Call checks the number of arguments, runs the function and bounds its result.
func (f *Function) Call(env *Env, args []any) (any, error) {
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		return nil, fmt.Errorf("%s does not take %d arguments", f.Name, len(args))
	}
	v, err := f.Run(env, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if s, ok := v.(string); ok && len(s) > MaxResult {
		return nil, fmt.Errorf("%s: %w", f.Name, ErrTooLarge)
	}
	return v, nil
}

// All are the functions, under their documented name and under that name without
// underscores (template language 6.6).
var All = func() map[string]*Function {
	all := map[string]*Function{}
	for _, family := range [][]Function{
		stringFunctions(), testFunctions(), encodingFunctions(), numberFunctions(), binaryFunctions(),
		hashFunctions(), cryptoFunctions(), randomFunctions(), timeFunctions(), networkFunctions(), refusedFunctions(),
	} {
		for _, f := range family {
			all[f.Name] = &f
			all[strings.ReplaceAll(f.Name, "_", "")] = &f
		}
	}
	return all
}()

// shortNames are the names of functions that contain no other function's name.
var shortNames = sync.OnceValue(func() (short []string) {
	for name := range All {
		contained := false
		for other := range All {
			contained = contained || other != name && strings.Contains(name, other)
		}
		if !contained {
			short = append(short, name)
		}
	}
	return short
})

// Mentioned reports whether the name of a function occurs anywhere in a text.
func Mentioned(s string) bool {
	for _, name := range shortNames() {
		if strings.Contains(s, name) {
			return true
		}
	}
	return false
}

// refusedFunctions exist in the language but are not offered here.
func refusedFunctions() []Function {
	const gadget = "serialised objects that run commands are not generated"
	return []Function{
		{Name: "generate_java_gadget", Min: 3, Max: 3, Refused: gadget},
		{Name: "generate_dotnet_gadget", Min: 4, Max: 4, Refused: gadget},
		{Name: "llm_prompt", Min: 1, Max: 2, Impure: true, Run: func(*Env, []any) (any, error) {
			return nil, errors.New("language models are not available to templates")
		}},
	}
}

// maxPattern bounds regular expressions that are compiled at each evaluation, in bytes.
const maxPattern = 16 << 10

// CompileRegexp compiles a regular expression that is only known when it is evaluated.
func CompileRegexp(source string) (*textsearch.Pattern, error) {
	if len(source) > maxPattern {
		return nil, ErrTooLarge
	}
	return textsearch.Compile(source)
}
