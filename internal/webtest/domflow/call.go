package domflow

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
)

// matcher is a regular expression of a script.
type matcher struct {
	re  *regexp.Regexp
	all bool
}

// member is a member of a value.
func (e *evaluation) member(of, key value) value {
	t, ok := textOf(key)
	if !ok || t.partial {
		return e.without(of, key)
	}
	name := t.s
	switch o := of.(type) {
	case nothing, failed:
		return failed{}
	case text:
		if name == "length" {
			if o.partial {
				return e.without(o)
			}
			return float64(len(o.s))
		}
		if i, err := strconv.Atoi(name); err == nil {
			return charAt(o, i)
		}
	case *list:
		if name == "length" {
			return float64(len(o.all))
		}
		if i, err := strconv.Atoi(name); err == nil {
			if i >= 0 && i < len(o.all) {
				return o.all[i]
			}
			return nothing{}
		}
	case *object:
		return e.memberOf(o, name)
	case *function, *matcher, float64, bool:
	case doubt:
		return doubt{}
	default:
		return unknown{}
	}
	return &function{name: name, of: of}
}

// memberOf is a member of an object.
func (e *evaluation) memberOf(o *object, name string) value {
	switch o.kind {
	case "":
		if v, ok := o.members[name]; ok {
			return v
		}
		return nothing{}
	case kindLocation, kindAddress:
		if v, ok := e.partOf(name); ok {
			return v
		}
	case kindWindow:
		return e.named(name, e.global)
	case kindDocument:
		switch name {
		case "URL", "documentURI", "baseURI":
			return text{s: e.href()}
		case "location":
			return &object{kind: kindLocation}
		case "body", "head", "documentElement", "currentScript":
			return &object{kind: kindElement}
		}
	case kindElement:
		return unknown{}
	case kindReply:
		switch name {
		case "ok":
			return true
		case "status":
			return float64(http.StatusOK)
		}
	}
	return &function{name: name, of: o}
}

func charAt(t text, i int) value {
	switch {
	case t.partial:
		return unknown{}
	case i < 0 || i >= len(t.s):
		return nothing{}
	}
	return text{s: t.s[i : i+1]}
}

func (e *evaluation) arguments(all []ast.Expression, in *scope) (out []value) {
	for _, x := range all {
		if spread, ok := x.(*ast.SpreadElement); ok {
			x = spread.Expression
		}
		out = append(out, e.expression(x, in))
	}
	return out
}

// call is the value of a call; what it writes is noted.
func (e *evaluation) call(x *ast.CallExpression, in *scope) value {
	var of value
	name := ""
	var callee value
	switch c := unwrap(x.Callee).(type) {
	case *ast.DotExpression:
		of, name = e.expression(c.Left, in), c.Identifier.Name.String()
		callee = e.member(of, text{s: name})
	case *ast.BracketExpression:
		of = e.expression(c.Left, in)
		key := e.expression(c.Member, in)
		if t, ok := textOf(key); ok {
			name = t.s
		}
		callee = e.member(of, key)
	default:
		callee = e.expression(x.Callee, in)
	}
	if _, ok := callee.(failed); ok {
		return failed{}
	}
	args := e.arguments(x.ArgumentList, in)
	if name == "getJSON" {
		if v, ok := e.getJSON(args); ok {
			return v
		}
	}
	if of != nil {
		if kind, written := calledSink(of, name, args); kind != "" {
			if t, ok := written.(text); ok {
				e.write(Write{Sink: name, Kind: kind, Text: t.s})
			}
			return unknown{}
		}
	}
	return e.apply(callee, of, name, args)
}

// unwrap is an expression without what says that it may have no value.
func unwrap(x ast.Expression) ast.Expression {
	for {
		switch o := x.(type) {
		case *ast.OptionalChain:
			x = o.Expression
		case *ast.Optional:
			x = o.Expression
		default:
			return x
		}
	}
}

// apply calls a function. One that is not known calls the functions that it is handed, unless for an event that
// somebody has to cause.
func (e *evaluation) apply(callee, this value, name string, args []value) value {
	f, ok := callee.(*function)
	switch {
	case ok && f.name != "":
		return e.ofBrowser(f, args)
	case ok:
		return e.enter(f, this, args)
	}
	if !listens(name, args) {
		for _, a := range args {
			if inner, ok := a.(*function); ok && inner.name == "" {
				e.enter(inner, unknown{}, []value{e.without(this), e.without(this)})
			}
		}
	}
	return e.without(append([]value{this, callee}, args...)...)
}

// enter evaluates a function of the script.
func (e *evaluation) enter(f *function, this value, args []value) value {
	if e.depth > maxNesting*3 || !e.step() {
		e.halted = true
		return doubt{}
	}
	e.depth++
	unsure := e.unsure
	defer func() { e.depth--; e.unsure = unsure }()
	in := &scope{names: map[string]value{}, parent: f.within}
	if this != nil && f.result == nil {
		in.names["this"] = this
	}
	if f.params != nil {
		for i, p := range f.params.List {
			v := value(nothing{})
			if i < len(args) {
				v = args[i]
			}
			if _, empty := v.(nothing); empty && p.Initializer != nil {
				v = e.expression(p.Initializer, in)
			}
			e.bind(p.Target, v, in)
		}
	}
	if f.result != nil {
		return e.expression(f.result, in)
	}
	e.hoist(f.body.List, in)
	end := e.block(f.body.List, in)
	switch end.kind {
	case returns:
		if e.unsure > unsure {
			return e.without(end.value)
		}
		return end.value
	case throws:
		return failed{}
	case goesOn, breaks, continues:
	}
	if e.halted {
		return doubt{}
	}
	if e.unsure > unsure { // it may have returned something before
		return unknown{}
	}
	return nothing{}
}

// ofBrowser calls a function of the browser.
func (e *evaluation) ofBrowser(f *function, args []value) value {
	first := value(nothing{})
	if len(args) > 0 {
		first = args[0]
	}
	t, isText := first.(text)
	switch of := f.of.(type) {
	case text:
		return e.ofText(of, f.name, args)
	case *list:
		return e.ofList(of, f.name, args)
	case *matcher:
		if f.name == "test" && isText && !t.partial {
			return of.re.MatchString(t.s)
		}
		if f.name == "exec" && isText && !t.partial {
			return groups(of.re, t.s)
		}
		return e.without(args...)
	case *object:
		return e.ofObject(of, f.name, args)
	case nil:
	default:
		return e.apply(nil, of, f.name, args)
	}
	switch f.name {
	case "decodeURIComponent", "decodeURI", "unescape":
		if isText {
			return e.decode(t)
		}
	case "String":
		if t, ok := textOf(first); ok {
			return t
		}
	case "URLSearchParams":
		return e.paramsOf(args)
	case "URL":
		if isText && t.s == e.href() {
			return &object{kind: kindAddress}
		}
	case "eval", "Function":
		if last, ok := args[max(0, len(args)-1)].(text); ok {
			e.write(Write{Sink: f.name, Kind: Code, Text: last.s})
		}
	case "setTimeout", "setInterval":
		if isText {
			e.write(Write{Sink: f.name, Kind: Code, Text: t.s})
			return unknown{}
		}
		return e.apply(nil, nil, f.name, args)
	case "fetch":
		return e.fetch(args)
	case "Number", "parseInt":
		return e.without(args...)
	default:
		return e.apply(nil, nil, f.name, args)
	}
	return e.without(args...)
}

// ofObject calls a method of an object of the browser.
func (e *evaluation) ofObject(o *object, name string, args []value) value {
	first := value(nothing{})
	if len(args) > 0 {
		first = args[0]
	}
	if v, ok := e.ofPromise(o, name, args); ok {
		return v
	}
	t, ok := first.(text)
	switch {
	case o.kind == kindParams && ok && !t.partial && name == "get":
		if all := o.params[t.s]; len(all) > 0 {
			return text{s: all[0]}
		}
		return nothing{}
	case o.kind == kindParams && ok && !t.partial && name == "has":
		return o.params.Has(t.s)
	case o.kind == kindParams && name == "toString":
		return text{s: o.params.Encode()}
	case (o.kind == kindLocation || o.kind == kindAddress) && name == "toString":
		return text{s: e.href()}
	case o.kind == kindDocument && name == "createElement":
		return &object{kind: kindElement}
	case o.kind == kindDocument && (name == "getElementById" || name == "querySelector") && ok && !t.partial:
		id, isID := t.s, name == "getElementById"
		if after, cut := strings.CutPrefix(id, "#"); cut && !isID && !strings.ContainsAny(after, " .>[:#,") {
			id, isID = after, true
		}
		if !isID {
			return unknown{}
		}
		e.steps += len(e.page.document) / 256
		switch e.page.has(id) {
		case present:
			return &object{kind: kindElement}
		case made:
			return unknown{}
		case absent:
		}
		return nothing{}
	}
	return e.apply(nil, o, name, args)
}
