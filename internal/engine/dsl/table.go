package dsl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// fn is a function of the language.
type fn struct {
	name     string
	min, max int // how many arguments; max -1 is any number
	run      func(env *Env, args []any) (any, error)

	worldly bool   // the value depends on more than the arguments
	dear    bool   // not worked out before it is needed
	waits   bool   // for the network or the clock
	refused string // why an expression with it is not compiled
}

// maxResult bounds what one function, or one text, may give.
const maxResult = 16 << 20

var errTooLarge = errors.New("the value is too large")

func (f *fn) call(env *Env, args []any) (any, error) {
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		return nil, fmt.Errorf("%s does not take %d arguments", f.name, len(args))
	}
	v, err := f.run(env, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if s, ok := v.(string); ok && len(s) > maxResult {
		return nil, fmt.Errorf("%s: %w", f.name, errTooLarge)
	}
	return v, nil
}

// functions are all functions, under the name of the documentation and under that
// without underscores (template language 6.6).
var functions = func() map[string]*fn {
	all := map[string]*fn{}
	for _, family := range [][]fn{
		stringFunctions(), testFunctions(), encodingFunctions(), numberFunctions(), packFunctions(),
		hashFunctions(), cryptoFunctions(), randomFunctions(), timeFunctions(), networkFunctions(), refusedFunctions(),
	} {
		for _, f := range family {
			all[f.name] = &f
			all[strings.ReplaceAll(f.name, "_", "")] = &f
		}
	}
	return all
}()

// functionNames are the names, each once and none that contains another.
var functionNames = sync.OnceValue(func() (short []string) {
	for name := range functions {
		contained := false
		for other := range functions {
			contained = contained || other != name && strings.Contains(name, other)
		}
		if !contained {
			short = append(short, name)
		}
	}
	return short
})

// namesFunction says whether a function's name occurs anywhere in a text.
func namesFunction(s string) bool {
	for _, name := range functionNames() {
		if strings.Contains(s, name) {
			return true
		}
	}
	return false
}

// refusedFunctions are those that the language has and Vedette has not.
func refusedFunctions() []fn {
	const gadget = "serialised objects that run commands are not generated"
	return []fn{
		{name: "generate_java_gadget", min: 3, max: 3, refused: gadget},
		{name: "generate_dotnet_gadget", min: 4, max: 4, refused: gadget},
		{name: "llm_prompt", min: 1, max: 2, worldly: true, run: func(*Env, []any) (any, error) {
			return nil, errors.New("no language model is asked here")
		}},
	}
}
