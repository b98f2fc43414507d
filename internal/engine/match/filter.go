package match

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/itchyny/gojq"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Limits of a jq filter; filter_bounds.go has those of its single steps.
const (
	maxFilter = 16 << 10 // bytes of the source
	jsonTime  = time.Second
	jsonHeap  = 192 << 20 // bytes that the process may grow by while a filter runs
)

// filter is a jq program, compiled when it first runs.
type filter struct{ code func() *gojq.Code }

func compileFilter(source string) (filter, error) {
	if len(source) > maxFilter {
		return filter{}, fmt.Errorf("%.40q: %w", source, functions.ErrTooLarge)
	}
	parsed, err := gojq.Parse(source)
	if err != nil {
		return filter{}, fmt.Errorf("%q: %w", source, err)
	}
	if err := boundFilter(parsed); err != nil {
		return filter{}, fmt.Errorf("%.200q: %w", source, err)
	}
	return filter{sync.OnceValue(func() *gojq.Code {
		code, err := gojq.Compile(parsed, gojq.WithFunction(fitName, 1, 4, fit))
		if err != nil {
			return nil // it names something that does not exist: it finds nothing
		}
		return code
	})}, nil
}

// run adds the outputs of a filter as text, up to its first error.
func (f *filter) run(r *Response, v *view, add func(string) bool) {
	value, ok := v.decode()
	code := f.code()
	if !ok || code == nil {
		return
	}
	ctx, cancel := cputime.Limit(r.context(), jsonTime, functions.ErrTooLong)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer membudget.WatchHeap(jsonHeap, func() { stop(functions.ErrTooLarge) })()
	outputs := code.RunWithContext(ctx, value)
	for {
		out, ok := outputs.Next()
		if !ok {
			return
		}
		err, _ := out.(error)
		if err == nil {
			err = measure(out, maxFit)
		}
		switch {
		case ctx.Err() != nil:
			r.note(context.Cause(ctx))
			return
		case err != nil:
			r.note(err)
			return
		case !add(jsonText(out)):
			return
		}
	}
}

// jsonText is the text of an output: scalars as they are, null as "", all else as JSON.
func jsonText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return strings.Clone(value)
	case bool, float64:
		return functions.String(value)
	}
	text, err := json.Marshal(value)
	if err != nil { // a number that JSON has not
		text, _ = gojq.Marshal(value)
	}
	return string(text)
}

var errNotOffered = errors.New("is not offered")
