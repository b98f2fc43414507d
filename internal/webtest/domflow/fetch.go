package domflow

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// What a script asks its server for is known where the caller can ask, too (Page.Ask): fetch with an address alone, or
// $.getJSON. Its promises are kept at once: what follows in then is entered with the answer. A list of which
// a script would go through more than it is followed has what is marked first.
const (
	kindPromise = "Promise"
	kindReply   = "Response"
)

// maxAsked is how many answers are asked for by the scripts of a page with one address.
const maxAsked = 5

// promised is a value that a script waits for.
func promised(v value) value {
	if o, ok := v.(*object); ok && o.kind == kindPromise {
		return o
	}
	return &object{kind: kindPromise, members: map[string]value{"": v}}
}

// kept is what a promise brings; another value is itself.
func kept(v value) value {
	if o, ok := v.(*object); ok && o.kind == kindPromise {
		return o.members[""]
	}
	return v
}

// fetched is the answer that a script asks for; unknown where that is not a plain request for a known address.
func (e *evaluation) fetched(args []value) (body string, ok bool) {
	if len(args) == 0 || e.page.Ask == nil || e.asked >= maxAsked {
		return "", false
	}
	t, isText := args[0].(text)
	if !isText || t.partial {
		return "", false
	}
	if len(args) > 1 {
		options, isObject := args[1].(*object)
		if !isObject || options.kind != "" {
			return "", false
		}
		if verb, has := options.members["method"]; has {
			if m, isText := verb.(text); !isText || !strings.EqualFold(m.s, http.MethodGet) {
				return "", false
			}
		}
	}
	to, err := e.at.Parse(t.s)
	if err != nil || to.Host != e.at.Host {
		return "", false
	}
	e.asked++
	return e.page.Ask(to)
}

// fetch is a call of fetch.
func (e *evaluation) fetch(args []value) value {
	body, ok := e.fetched(args)
	if !ok {
		return e.apply(nil, nil, "fetch", args)
	}
	return promised(&object{kind: kindReply, members: map[string]value{"": text{s: body}}})
}

// getJSON is a call of $.getJSON; false where the answer is not known.
func (e *evaluation) getJSON(args []value) (value, bool) {
	if len(args) == 0 {
		return nil, false
	}
	body, ok := e.fetched(args[:1])
	if !ok {
		return nil, false
	}
	data := e.parsed(body)
	if f, isFunction := args[len(args)-1].(*function); isFunction {
		e.apply(f, nil, "", []value{data})
	}
	return promised(data), true
}

// ofPromise calls a method of a promise, or of the answer that one has brought; false for another method.
func (e *evaluation) ofPromise(o *object, name string, args []value) (value, bool) {
	inner := o.members[""]
	switch {
	case o.kind == kindReply && name == "json":
		t, _ := inner.(text)
		return promised(e.parsed(t.s)), true
	case o.kind == kindReply && name == "text":
		return promised(inner), true
	case o.kind == kindPromise && (name == "then" || name == "done" || name == "success") && len(args) > 0:
		if _, isFunction := args[0].(*function); !isFunction {
			return e.without(args...), true
		}
		return promised(kept(e.apply(args[0], nil, "", []value{inner}))), true
	case o.kind == kindPromise && (name == "catch" || name == "fail"):
		return o, true
	case o.kind == kindPromise && name == "finally" && len(args) > 0:
		e.apply(args[0], nil, "", nil)
		return o, true
	}
	return nil, false
}

// parsed is JSON as a value; unknown where it is none.
func (e *evaluation) parsed(body string) value {
	var v any
	if len(body) > maxScript || json.Unmarshal([]byte(body), &v) != nil {
		return unknown{}
	}
	return e.valueOf(v, maxNesting)
}

func (e *evaluation) valueOf(v any, depth int) value {
	e.steps++
	if depth == 0 {
		return unknown{}
	}
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			return unknown{}
		}
		return text{s: v}
	case float64:
		return v
	case bool:
		return v
	case map[string]any:
		o := &object{members: map[string]value{}}
		for key, one := range v {
			o.members[key] = e.valueOf(one, depth-1)
		}
		return o
	case []any:
		l := &list{}
		for _, one := range v {
			l.all = append(l.all, e.valueOf(one, depth-1))
		}
		if len(l.all) > maxLoop {
			slices.SortStableFunc(l.all, func(a, b value) int { return rank[e.marked(a)] - rank[e.marked(b)] })
			l.all = l.all[:maxLoop]
		}
		return l
	}
	return nothing{}
}

var rank = map[bool]int{true: 0, false: 1}
