// Package functions has the functions of the template language: texts, numbers, encodings, hashes, cryptography,
// time, random numbers and the network.
//
// All is the table of them. A function gets its arguments and an Env, through which it reaches network, clock and
// random numbers. Sizes of results, numbers of items and waits are bounded.
package functions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Function is one function of the language.
type Function struct {
	Name     string
	Min, Max int // number of arguments; Max -1 means any number
	Run      func(env *Env, args []any) (any, error)

	Impure    bool   // the value depends on more than the arguments
	Expensive bool   // never computed at compile time
	Waits     bool   // for the network or the clock
	Refused   string // if set, why expressions with it are not compiled
}

func function(name string, least, most int, run func(*Env, []any) (any, error)) Function {
	return Function{Name: name, Min: least, Max: most, Run: run}
}

// Env is the environment of functions. It belongs to one goroutine. Keep one for all evaluations of a response: it
// caches the last long text in lower case.
type Env struct {
	Ctx  context.Context // bounds functions that wait; nil is context.Background
	Host *Host           // nil: functions that need the network fail

	Budget Budget // of the current evaluation

	text, lowered string // the last long text in lower case
}

func (e *Env) context() context.Context {
	if e.Ctx == nil {
		return context.Background()
	}
	return e.Ctx
}

// lower is a text in lower case. Templates ask for the same body again and again.
func (e *Env) lower(s string) string {
	const long = 256
	if len(s) < long {
		return strings.ToLower(s)
	}
	if s != e.text {
		e.text, e.lowered = s, strings.ToLower(s)
	}
	return e.lowered
}

// Call checks the number of arguments, runs the function and bounds its result.
func (f *Function) Call(env *Env, args []any) (any, error) {
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		return nil, fmt.Errorf("%s does not take %d arguments", f.Name, len(args))
	}
	size := 0
	for _, a := range args {
		size += Size(a)
	}
	err := env.Budget.Spend(env.Ctx, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	var v any
	if f.Waits {
		begin := time.Now()
		v, err = f.Run(env, args)
		env.Budget.waited += time.Since(begin)
	} else {
		v, err = f.Run(env, args)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	size, limit := Size(v), MaxResult
	if _, list := v.([]string); list {
		limit += 16 * maxItems
	}
	if size > limit {
		return nil, fmt.Errorf("%s: %w", f.Name, ErrTooLarge)
	}
	return v, env.Budget.Spend(env.Ctx, size)
}

// All are the functions by their documented name, with and without underscores (template language 6.6).
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

// shortNames are the names that contain no other function's name.
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

// Mentioned reports whether a text contains the name of a function.
func Mentioned(s string) bool {
	for _, name := range shortNames() {
		if strings.Contains(s, name) {
			return true
		}
	}
	return false
}

// refusedFunctions are functions of the language that are not offered.
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

// CompileRegexp compiles a regular expression that is not constant.
func CompileRegexp(source string) (*textsearch.Pattern, error) {
	if len(source) > maxPattern {
		return nil, ErrTooLarge
	}
	return textsearch.Compile(source)
}
