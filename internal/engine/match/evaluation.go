package match

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unsafe"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// evaluation is the state of the operators that are being evaluated. It is part of the response so that thousands of
// operators share its memory.
type evaluation struct {
	operators *rules
	vars      dsl.Lookup

	// done and taken are the extractors' values so far; each extractor runs at most once, when its values are needed.
	// Values of the extractors before limit are visible: matchers see all.
	done    []bool
	results [][]string
	limit   int
	views   map[string]*view
	limited error // the first evaluation that reached a limit

	started cputime.Moment // the first operator that may take long; zero before
	slow    bool           // operators took too long: no more of them are evaluated

	group *Group // nil for operators on their own
}

// begin prepares for the evaluation of other operators.
func (r *Response) begin(o *rules, vars dsl.Lookup) {
	w := &r.evaluation
	n := len(o.extractors)
	w.operators, w.vars, w.limit, w.limited = o, vars, n, nil
	w.started, w.slow = cputime.Moment{}, false
	if len(w.views) > 0 {
		clear(w.views)
	}
	if n == 0 {
		return
	}
	if cap(w.done) < n {
		w.done, w.results = make([]bool, n), make([][]string, n)
		return
	}
	w.done, w.results = w.done[:n], w.results[:n]
	clear(w.done)
	clear(w.results)
}

// values are the values of an extractor. While it runs it sees only those before it.
func (w *evaluation) values(r *Response, i int) []string {
	if !w.done[i] {
		limit := w.limit
		w.done[i], w.limit = true, i
		w.results[i] = w.operators.extractors[i].values(r)
		w.limit = limit
	}
	return w.results[i]
}

// extracted is the extracted value of a name. The last extractor of a name counts; of internal ones, matchers see the
// values of all, and each of several also as the name followed by its index.
func (w *evaluation) extracted(r *Response, name string) (any, bool) {
	if w.operators == nil || len(w.operators.extractors) == 0 || name == "" {
		return nil, false
	}
	if w.limit == len(w.operators.extractors) {
		if all := w.internal(r, name); len(all) > 0 {
			return oneOrAll(all), true
		}
		for end := len(name) - 1; end > 0 && name[end]-'0' < 10; end-- {
			if n, err := strconv.Atoi(name[end:]); err == nil && strconv.Itoa(n) == name[end:] {
				if all := w.internal(r, name[:end]); len(all) > max(n, 1) {
					return all[n], true
				}
			}
		}
	}
	for i := w.limit - 1; i >= 0; i-- {
		if w.operators.extractors[i].name != name {
			continue
		}
		if found := w.values(r, i); len(found) > 0 {
			return oneOrAll(found), true
		}
	}
	return nil, false
}

// internal has the values of all internal extractors of a name.
func (w *evaluation) internal(r *Response, name string) []string {
	var all valueSet
	for i := range w.operators.extractors {
		if x := &w.operators.extractors[i]; x.internal && x.name == name {
			for _, value := range w.values(r, i) {
				all.add(value)
			}
		}
	}
	return all.list
}

// oneOrAll is a single value, or the list of several.
func oneOrAll(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

func (w *evaluation) variable(name string) (any, bool) {
	if w.vars == nil {
		return nil, false
	}
	return w.vars(name)
}

// view is an extracted value or a variable as a part. It is kept once all extractors have run.
func (w *evaluation) view(name string, value any) *view {
	if v := w.views[name]; v != nil {
		return v
	}
	v := viewOf([]byte(functions.String(value)))
	if w.limit == len(w.operators.extractors) {
		if w.views == nil {
			w.views = map[string]*view{}
		}
		w.views[name] = v
	}
	return v
}

// note keeps an error that says that the current operators reached a limit.
func (r *Response) note(err error) {
	if err == nil || !functions.Limited(err) {
		return
	}
	w := &r.evaluation
	if w.limited == nil {
		w.limited = err
	}
	w.slow = w.slow || !errors.Is(err, functions.ErrTooLarge)
}

// maxEvaluation bounds what all operators of a template together do with one response. One that takes too long alone
// is the last.
const maxEvaluation = 8 * time.Second

// spent reports whether operators that may take long are not evaluated any more.
func (r *Response) spent() bool {
	w := &r.evaluation
	switch {
	case w.slow:
	case w.started.IsZero():
		w.started = cputime.Now()
	case w.started.Over(maxEvaluation):
		r.note(functions.ErrTooLong)
	}
	return w.slow || r.context().Err() != nil
}

func (r *Response) context() context.Context {
	if r.Ctx != nil {
		return r.Ctx
	}
	return context.Background()
}

// environments are for texts and for expressions, which have needles.
type environments struct{ text, expr dsl.Env }

func (r *Response) environments() *environments {
	if r.envs == nil {
		env := dsl.Env{Ctx: r.context(), Vars: r.value, Host: r.Host}
		r.envs = &environments{text: env, expr: env}
		r.envs.expr.Needle = r.needle
	}
	return r.envs
}

// needle answers a test of an expression if the group knows the result.
func (r *Response) needle(n dsl.Needle) (hit, known bool) {
	w := &r.evaluation
	if w.group == nil {
		return false, false
	}
	part := w.operators.names.varOf(n.Var)
	if part.index == viewNamed || r.Head == nil {
		return false, false
	}
	v, ok := r.part(part)
	if !ok || n.Fold && v.text.Odd() {
		return false, false
	}
	return w.group.find(v, textsearch.Literal{Text: n.Text, Fold: n.Fold})
}

// contains reports whether a view contains a literal.
func (r *Response) contains(v *view, l textsearch.Literal) bool {
	if g := r.evaluation.group; g != nil {
		if hit, known := g.find(v, l); known {
			return hit
		}
	}
	return v.text.Contains(l)
}

// asString is bytes as a string without a copy: they are not changed.
func asString(data []byte) string {
	return unsafe.String(unsafe.SliceData(data), len(data)) //nolint:gosec // see above
}
