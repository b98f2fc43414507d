package match

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unsafe"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// work is the state of the operators that are evaluated on a response at the moment. It is kept
// in the response so that thousands of operators share its memory.
type work struct {
	operators *rules
	vars      dsl.Lookup

	// done and taken are the extractors' values so far; each works at most once, and only
	// when someone asks. Those before limit can be asked: all of them by matchers.
	done  []bool
	taken [][]string
	limit int
	views map[string]*view

	needles site   // of the first needle of the expression at work
	group   *Group // nil for operators on their own
	member  int    // of the group
}

// begin sets a response up for other operators.
func (r *Response) begin(o *rules, vars dsl.Lookup) {
	w := &r.work
	n := len(o.extractors)
	w.operators, w.vars, w.limit, w.needles = o, vars, n, noSite
	if len(w.views) > 0 {
		clear(w.views)
	}
	if n == 0 {
		return
	}
	if cap(w.done) < n {
		w.done, w.taken = make([]bool, n), make([][]string, n)
		return
	}
	w.done, w.taken = w.done[:n], w.taken[:n]
	clear(w.done)
	clear(w.taken)
}

// values are what an extractor took out. While it works it sees only those before it.
func (w *work) values(r *Response, i int) []string {
	if !w.done[i] {
		limit := w.limit
		w.done[i], w.limit = true, i
		w.taken[i] = w.operators.extractors[i].values(r)
		w.limit = limit
	}
	return w.taken[i]
}

// extracted is the value that extractors gave a name. The last extractor of a name
// counts; of internal ones, matchers see the values of all together, and each of several
// under the name with its number, from 0, at the end.
func (w *work) extracted(r *Response, name string) (any, bool) {
	if w.operators == nil || len(w.operators.extractors) == 0 || name == "" {
		return nil, false
	}
	if w.limit == len(w.operators.extractors) {
		if all := w.internal(r, name); len(all) > 0 {
			return flat(all), true
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
			return flat(found), true
		}
	}
	return nil, false
}

// internal is what the internal extractors of a name found together.
func (w *work) internal(r *Response, name string) []string {
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

// flat is a single value, or the list of several.
func flat(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

func (w *work) variable(name string) (any, bool) {
	if w.vars == nil {
		return nil, false
	}
	return w.vars(name)
}

// view is a value of the operators' own as a part. What an extractor sees may change
// until matchers see it.
func (w *work) view(name string, value any) *view {
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

// context bounds what takes long.
func (r *Response) context() context.Context {
	if r.Ctx != nil {
		return r.Ctx
	}
	return context.Background()
}

// environments are what texts see, and what expressions see, which know needles, too.
type environments struct{ text, expr dsl.Env }

func (r *Response) environments() *environments {
	if r.envs == nil {
		env := dsl.Env{Ctx: r.context(), Vars: r.value, Host: r.Host}
		r.envs = &environments{text: env, expr: env}
		r.envs.expr.Needle = r.needle
	}
	return r.envs
}

// needle answers the tests of an expression that the group's pass has answered already.
func (r *Response) needle(i int) (hit, known bool) {
	w := &r.work
	if w.group == nil || w.needles == noSite {
		return false, false
	}
	at := w.needles.plus(i)
	s := w.operators.sites[at]
	if s.view == viewNamed || r.Head == nil {
		return false, false
	}
	v, ok := r.part(partRef{index: s.view})
	if !ok || s.literal.Fold && v.text.Odd() {
		return false, false
	}
	return r.has(v, at, s.literal), true
}

// has looks for a literal in a view, or knows already.
func (r *Response) has(v *view, at site, l textsearch.Literal) bool {
	if g := r.work.group; g != nil && at != noSite {
		if hit, known := g.hit(v, r.work.member, at); known {
			return hit
		}
	}
	return v.text.Contains(l)
}

func missing(err error) bool {
	var m *dsl.Missing
	return errors.As(err, &m)
}

// alias is bytes as a string without a copy: they are not changed.
func alias(data []byte) string {
	return unsafe.String(unsafe.SliceData(data), len(data)) //nolint:gosec // see above
}

func contains(data []byte, text string) bool { return strings.Contains(alias(data), text) }
