package match

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// The library looks at its context between the steps of a filter, and a step takes what its values need: a text times
// a number, a list with a large index, a join of many parts. So before a filter is compiled, boundFilter puts a call
// of fit before each step that may take much, with the name of the step and the values that it will get.

// Limits of one step.
const (
	maxFit     = 16 << 20  // bytes of a value as a tree, and of what a step makes
	maxPieces  = 256 << 10 // bytes of a text that is taken apart: each piece takes many times its length
	maxParsed  = 1 << 20   // bytes of a text that is read as JSON
	maxNumber  = 4 << 10   // digits
	maxIndex   = 300_000   // of a list that is written to
	maxDeep    = 10_000    // values inside each other
	maxPairs   = 10 << 20  // comparisons of each value with each other one
	maxPattern = 1 << 30   // instructions of a regular expression times bytes of text
	nodeBytes  = 16        // of a value, besides its text
)

// fitName is the function that stands before a step; templates cannot call what begins with an underscore.
const fitName = "_fit"

// guarded are the functions whose arguments are values, by name and number of arguments, and how many of the arguments
// come first: those behind them are filters.
var guarded = map[string]int{
	"tojson/0": 0, "tostring/0": 0, "ascii_downcase/0": 0, "ascii_upcase/0": 0, "implode/0": 0, "explode/0": 0,
	"sort/0": 0, "unique/0": 0, "min/0": 0, "max/0": 0, "flatten/0": 0, "flatten/1": 1, "bsearch/1": 1,
	"contains/1": 1, "inside/1": 1, "index/1": 1, "rindex/1": 1, "indices/1": 1, "split/1": 1, "split/2": 2,
	"splits/1": 1, "splits/2": 2, "match/1": 1, "match/2": 2, "capture/1": 1, "capture/2": 2, "scan/1": 1, "scan/2": 2,
	"sub/2": 1, "sub/3": 1, "gsub/2": 1, "gsub/3": 1, "test/1": 1, "test/2": 2, "join/1": 1, "add/0": 0,
	"transpose/0": 0, "tonumber/0": 0, "fromjson/0": 0, "strftime/1": 1, "strflocaltime/1": 1, "strptime/1": 1,
	"format/1": 1, "setpath/2": 2, "del/1": 0, "delpaths/1": 1, "IN/1": 0, "combinations/0": 0, "reverse/0": 0,
}

// collecting are the functions that first make a list of what their filter makes of each value, and then compare.
var collecting = []string{"sort_by", "group_by", "unique_by", "min_by", "max_by"}

// boundFilter puts calls of fit into a filter. The error names what is not offered.
func boundFilter(q *gojq.Query) error {
	b := bounder{}
	b.visit(reflect.ValueOf(q))
	return b.err
}

type bounder struct{ err error }

// visit bounds what is inside a value first.
func (b *bounder) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		b.visit(v.Elem())
		switch x := v.Interface().(type) {
		case *gojq.FuncDef:
			b.refuse(x.Name, len(x.Args))
		case *gojq.Query:
			b.query(x)
		case *gojq.Term:
			b.term(x)
		case *gojq.Index:
			if x.Start != nil && !x.IsSlice && !small(x.Start) {
				x.Start = pipe(x.Start, call("index"))
			}
		case *gojq.String:
			for i, q := range x.Queries {
				if q.Term == nil || q.Term.Type != gojq.TermTypeString {
					x.Queries[i] = &gojq.Query{}
					enclose(x.Queries[i], pipe(q, call("text")))
				}
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			b.visit(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			b.visit(v.Index(i))
		}
	}
}

// refuse refuses a definition that would hide a function with bounds.
func (b *bounder) refuse(name string, arguments int) {
	_, known := guarded[fmt.Sprint(name, "/", arguments)]
	if known || strings.HasPrefix(name, "_") || slices.Contains(collecting, name) {
		b.err = fmt.Errorf("another meaning of %s %w", name, errNotOffered)
	}
}

var updates = map[gojq.Operator]gojq.Operator{
	gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateDiv: gojq.OpDiv, gojq.OpUpdateMod: gojq.OpMod,
}

func (b *bounder) query(q *gojq.Query) {
	switch q.Op {
	case gojq.OpSub, gojq.OpDiv, gojq.OpMod, gojq.OpMul,
		gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		if q.Op != gojq.OpMul && q.Op != gojq.OpDiv && (small(q.Left) || small(q.Right)) {
			return
		}
		enclose(q, bind(q.Right, "$__2", bind(q.Left, "$__1", operation(q.Op))))
	case gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod:
		update := bind(identity(), "$__1", operation(updates[q.Op]))
		enclose(q, bind(q.Right, "$__2", &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: update}))
	}
}

// operation is an operation on the values $__1 and $__2.
func operation(op gojq.Operator) *gojq.Query {
	return pipe(call(op.String(), variable("$__1"), variable("$__2")),
		&gojq.Query{Left: variable("$__1"), Op: op, Right: variable("$__2")})
}

func (b *bounder) term(t *gojq.Term) {
	switch t.Type {
	case gojq.TermTypeFormat:
		if t.Str == nil {
			b.replace(t, func(same *gojq.Query) *gojq.Query { return pipe(call("text"), same) })
		}
	case gojq.TermTypeFunc:
		b.function(t, t.Func)
	}
}

// replace makes a term of its kind without suffixes, and puts what is made of it in its place.
func (b *bounder) replace(t *gojq.Term, by func(same *gojq.Query) *gojq.Query) {
	same := *t
	same.SuffixList = nil
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: by(&gojq.Query{Term: &same}), SuffixList: t.SuffixList}
}

func (b *bounder) function(t *gojq.Term, f *gojq.Func) {
	values, ok := guarded[fmt.Sprint(f.Name, "/", len(f.Args))]
	switch {
	case ok:
		b.replace(t, func(same *gojq.Query) *gojq.Query { return guard(same, f, values) })
	case len(f.Args) == 1 && slices.Contains(collecting, f.Name):
		each := function("map", &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: f.Args[0]}}})
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList, Query: bind(each, "$__1",
			pipe(call("keys", variable("$__1")), function("_"+f.Name, variable("$__1"))))}
	case f.Name == "add" && len(f.Args) == 1:
		list := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: f.Args[0]}}}
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList,
			Query: pipe(pipe(list, call("add")), function("add"))}
	case f.Name == "fromstream" && len(f.Args) == 1:
		f.Args[0] = pipe(f.Args[0], call("event"))
	case strings.HasPrefix(f.Name, "_"):
		b.err = fmt.Errorf("%s %w", f.Name, errNotOffered)
	}
}

// guard is a call of a function after a look at its input and the first of its arguments. The last of them varies
// slowest, as in the function itself.
func guard(same *gojq.Query, f *gojq.Func, values int) *gojq.Query {
	args := make([]*gojq.Query, values)
	for i := range args {
		args[i] = variable(fmt.Sprint("$__", i+1))
	}
	whole := pipe(call(f.Name, args...), same)
	for i := range args {
		whole = bind(f.Args[i], fmt.Sprint("$__", i+1), whole)
		f.Args[i] = args[i]
	}
	return whole
}

// small reports whether a query is a constant to which any value is compared in one step.
func small(q *gojq.Query) bool {
	if q.Term == nil || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch q.Term.Type {
	case gojq.TermTypeNumber:
		return len(q.Term.Number) < 6
	case gojq.TermTypeString:
		return q.Term.Str != nil && len(q.Term.Str.Queries) == 0
	}
	return q.Term.Type == gojq.TermTypeNull || q.Term.Type == gojq.TermTypeTrue || q.Term.Type == gojq.TermTypeFalse
}

func identity() *gojq.Query { return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}} }

func function(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func variable(name string) *gojq.Query { return function(name) }

func pipe(a, b *gojq.Query) *gojq.Query { return &gojq.Query{Left: a, Op: gojq.OpPipe, Right: b} }

func bind(value *gojq.Query, name string, body *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: value, Patterns: []*gojq.Pattern{{Name: name}}, Op: gojq.OpPipe, Right: body}
}

// call is a call of fit.
func call(step string, args ...*gojq.Query) *gojq.Query {
	name := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: step}}}
	return function(fitName, append([]*gojq.Query{name}, args...)...)
}

// enclose puts another query in the place of an operation.
func enclose(q, by *gojq.Query) {
	q.Left, q.Right, q.Op = nil, nil, 0
	q.Term = &gojq.Term{Type: gojq.TermTypeQuery, Query: by}
}

// fit gives back its input, or an error if a step with this input and these values would take too much.
func fit(input any, args []any) any {
	step, _ := args[0].(string)
	if err := fits(step, input, args[1:]); err != nil {
		return err
	}
	return input
}

func fits(step string, input any, args []any) error {
	all := append([]any{input}, args...)
	switch step {
	case "index":
		return checkIndex(input)
	case "*", "-", "/", "%", "==", "!=", "<", ">", "<=", ">=", "keys":
		all = args // the input is not theirs
	}
	if scalars(all) && step != "*" {
		return nil
	}
	for _, v := range all {
		if err := measure(v, maxFit); err != nil {
			return err
		}
	}
	one, two := all[0], any(nil)
	if len(all) > 1 {
		two = all[1]
	}
	text, isText := one.(string)
	list, _ := one.([]any)
	switch step {
	case "*":
		return atMost(max(repeated(one, two), repeated(two, one)), maxFit)
	case "-", "contains", "index", "rindex", "indices":
		if other, ok := two.([]any); ok {
			return atMost(len(list)*len(other), maxPairs)
		}
		return atMost(len(text), maxFit)
	case "inside":
		other, _ := two.([]any)
		return atMost(len(list)*len(other), maxPairs)
	case "/", "split", "explode":
		return atMost(len(text), maxPieces)
	case "match", "capture", "scan", "sub", "gsub", "splits", "test":
		if step != "test" && len(text) > maxPieces {
			return functions.ErrTooLarge
		}
		return checkPattern(two, len(text))
	case "join":
		separator, _ := two.(string)
		return atMost(len(list)*len(separator), maxFit)
	case "transpose":
		return checkTranspose(list)
	case "tonumber":
		return atMost(len(text), maxNumber)
	case "fromjson":
		return atMost(len(text), maxParsed)
	case "strftime", "strflocaltime", "strptime":
		format, _ := two.(string)
		return atMost(len(format)+len(text), maxNumber)
	case "setpath":
		return checkPath(two)
	case "event":
		if len(list) > 0 {
			return checkPath(list[0])
		}
	case "combinations":
		return atMost(len(list), maxDeep)
	case "implode":
		if !isText {
			return atMost(len(list), maxFit/4)
		}
	}
	return nil
}

func atMost(n, limit int) error {
	if n > limit {
		return functions.ErrTooLarge
	}
	return nil
}

// scalars reports whether no value is a text, a list or an object.
func scalars(all []any) bool {
	for _, v := range all {
		switch v.(type) {
		case nil, bool, int, float64:
		default:
			return false
		}
	}
	return true
}

// repeated is the length of a text times a number; 0 if they are something else.
func repeated(text, times any) int {
	s, ok := text.(string)
	n, isNumber := gojq.ToFloat64(times)
	switch {
	case !ok || !isNumber || !(n > 0) || s == "":
		return 0
	case n > maxFit:
		return maxFit + 1
	}
	return int(n+1) * len(s)
}

func checkIndex(v any) error {
	if n, ok := gojq.ToFloat64(v); ok && n > maxIndex {
		return functions.ErrTooLarge
	}
	return nil
}

func checkPath(path any) error {
	list, _ := path.([]any)
	for _, v := range list {
		if err := checkIndex(v); err != nil {
			return err
		}
	}
	return nil
}

func checkTranspose(rows []any) error {
	longest := 0
	for _, row := range rows {
		if list, ok := row.([]any); ok {
			longest = max(longest, len(list))
		}
	}
	return atMost(len(rows)*longest, maxFit/nodeBytes)
}

// checkPattern looks at a regular expression, which may be the first of a list of it and its flags.
func checkPattern(v any, text int) error {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	source, _ := v.(string)
	if len(source) > maxFilter {
		return functions.ErrTooLarge
	}
	p, err := textsearch.Compile(source)
	switch {
	case err == nil:
		return atMost(p.Size()*text, maxPattern)
	case textsearch.TooLarge(err):
		return functions.ErrTooLarge
	}
	return nil // the function itself says what is wrong with it
}

// measure reports whether a value, written out as a tree, has at most limit bytes.
func measure(v any, limit int) error {
	if !measured(v, &limit, maxDeep) {
		return functions.ErrTooLarge
	}
	return nil
}

func measured(v any, left *int, deep int) bool {
	*left -= nodeBytes
	switch v := v.(type) {
	case string:
		*left -= len(v)
	case json.Number:
		if *left -= len(v); len(v) > maxNumber {
			return false
		}
	case *big.Int:
		if *left -= v.BitLen() / 8; v.BitLen() > 4*maxNumber {
			return false
		}
	case []any:
		for i := 0; i < len(v) && *left >= 0; i++ {
			if deep == 0 || !measured(v[i], left, deep-1) {
				return false
			}
		}
	case map[string]any:
		for key, inner := range v {
			*left -= len(key)
			if deep == 0 || *left < 0 || !measured(inner, left, deep-1) {
				return false
			}
		}
	}
	return *left >= 0
}
