package domflow

import (
	"net/url"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// evaluation is that of the scripts of a page with one address.
type evaluation struct {
	page   *Page
	at     *url.URL
	mark   string // in lower case
	global *scope

	steps, depth int
	asked        int  // answers of the server
	unsure       int  // conditions around what is evaluated that are not known
	halted       bool // nothing that follows can be told
	writes       []Write
}

// signal is how a statement ended; its zero value is that it went on.
type signal struct {
	kind  signalKind
	value value
}

type signalKind int

const (
	goesOn signalKind = iota
	returns
	breaks
	continues
	throws
)

// step counts a node; it reports whether evaluation goes on.
func (e *evaluation) step() bool {
	e.steps++
	if e.steps > maxSteps {
		e.halted = true
	}
	return !e.halted
}

func (e *evaluation) write(w Write) {
	if len(e.writes) < maxWrites {
		w.Sure = e.unsure == 0
		e.writes = append(e.writes, w)
	}
}

// hoist makes the functions of a block known before it begins.
func (e *evaluation) hoist(list []ast.Statement, in *scope) {
	for _, s := range list {
		if f, ok := s.(*ast.FunctionDeclaration); ok && f.Function.Name != nil {
			in.names[f.Function.Name.Name.String()] = functionOf(f.Function, in)
		}
	}
}

func functionOf(f *ast.FunctionLiteral, in *scope) *function {
	return &function{params: f.ParameterList, body: f.Body, within: in}
}

func (e *evaluation) block(list []ast.Statement, in *scope) signal {
	for _, s := range list {
		if end := e.statement(s, in); end.kind != goesOn || e.halted {
			return end
		}
	}
	return signal{}
}

func (e *evaluation) statement(s ast.Statement, in *scope) signal {
	if s == nil || !e.step() {
		return signal{}
	}
	switch s := s.(type) {
	case *ast.ExpressionStatement:
		return e.thrown(e.expression(s.Expression, in))
	case *ast.VariableStatement:
		return e.bindAll(s.List, in)
	case *ast.LexicalDeclaration:
		return e.bindAll(s.List, in)
	case *ast.BlockStatement:
		e.hoist(s.List, in)
		return e.block(s.List, in)
	case *ast.ReturnStatement:
		v := value(nothing{})
		if s.Argument != nil {
			v = e.expression(s.Argument, in)
		}
		return signal{returns, v}
	case *ast.ThrowStatement:
		return signal{kind: throws}
	case *ast.BranchStatement:
		if s.Token == token.BREAK {
			return signal{kind: breaks}
		}
		return signal{kind: continues}
	case *ast.LabelledStatement:
		return e.statement(s.Statement, in)
	case *ast.IfStatement:
		return e.choose(e.expression(s.Test, in), func() signal { return e.statement(s.Consequent, in) },
			func() signal { return e.statement(s.Alternate, in) })
	case *ast.TryStatement:
		end := e.statement(s.Body, in)
		if end.kind == throws && s.Catch != nil {
			if s.Catch.Parameter != nil {
				e.bind(s.Catch.Parameter, unknown{}, in)
			}
			end = e.statement(s.Catch.Body, in)
		}
		if s.Finally != nil {
			if last := e.statement(s.Finally, in); last.kind != goesOn {
				return last
			}
		}
		return end
	case *ast.SwitchStatement:
		return e.cases(s, in)
	}
	return e.loop(s, in)
}

// failed is the value of an expression that throws.
type failed struct{}

// thrown is the end of a statement that is an expression.
func (e *evaluation) thrown(v value) signal {
	if _, ok := v.(failed); ok {
		return signal{kind: throws}
	}
	return signal{}
}

// choose takes the branch of a condition; where it is not known, both, and how they end is not known either.
func (e *evaluation) choose(test value, yes, no func() signal) signal {
	if _, ok := test.(failed); ok {
		return signal{kind: throws}
	}
	is, known := truth(test)
	switch {
	case known && is:
		return yes()
	case known:
		return no()
	case e.marked(test):
		e.halted = true // what may check the text decides
		return signal{}
	}
	e.unsure++
	first := yes()
	second := no()
	e.unsure--
	if first.kind != goesOn && first.kind == second.kind {
		if first.kind == returns {
			first.value = e.without(first.value, second.value)
		}
		return first
	}
	if first.kind != goesOn || second.kind != goesOn {
		// What follows is reached in one of the two cases alone.
		e.unsure++
	}
	return signal{}
}

func (e *evaluation) cases(s *ast.SwitchStatement, in *scope) signal {
	of := e.expression(s.Discriminant, in)
	from := s.Default
	for i, c := range s.Body {
		if c.Test == nil {
			continue
		}
		is, known := equal(of, e.expression(c.Test, in))
		if !known {
			if e.marked(of) {
				e.halted = true
			}
			from = -1 // whatever it is, nothing is told of it
			break
		}
		if is {
			from = i
			break
		}
	}
	if from < 0 {
		return signal{}
	}
	for _, c := range s.Body[from:] {
		end := e.block(c.Consequent, in)
		if end.kind == breaks {
			return signal{}
		}
		if end.kind != goesOn || e.halted {
			return end
		}
	}
	return signal{}
}

func (e *evaluation) loop(s ast.Statement, in *scope) signal {
	switch s := s.(type) {
	case *ast.ForStatement:
		switch first := s.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			e.expression(first.Expression, in)
		case *ast.ForLoopInitializerVarDeclList:
			e.bindAll(first.List, in)
		case *ast.ForLoopInitializerLexicalDecl:
			e.bindAll(first.LexicalDeclaration.List, in)
		}
		return e.while(s.Test, s.Update, s.Body, false, in)
	case *ast.WhileStatement:
		return e.while(s.Test, nil, s.Body, false, in)
	case *ast.DoWhileStatement:
		return e.while(s.Test, nil, s.Body, true, in)
	case *ast.ForOfStatement:
		from := e.expression(s.Source, in)
		if l, ok := from.(*list); ok {
			for _, one := range l.all[:min(len(l.all), maxLoop)] {
				e.into(s.Into, one, in)
				if end := e.statement(s.Body, in); end.kind == breaks || end.kind == returns || end.kind == throws {
					return ended(end)
				}
			}
			return signal{}
		}
		return e.once(s.Into, e.without(from), s.Body, in)
	case *ast.ForInStatement:
		return e.once(s.Into, e.without(e.expression(s.Source, in)), s.Body, in)
	}
	return signal{}
}

// ended is how a loop ends by a signal of its body.
func ended(end signal) signal {
	if end.kind == breaks || end.kind == continues {
		return signal{}
	}
	return end
}

// once goes through the body of a loop whose rounds are not known.
func (e *evaluation) once(into ast.ForInto, one value, body ast.Statement, in *scope) signal {
	e.unsure++
	defer func() { e.unsure-- }()
	e.into(into, one, in)
	e.statement(body, in)
	return signal{}
}

func (e *evaluation) into(target ast.ForInto, one value, in *scope) {
	switch t := target.(type) {
	case *ast.ForIntoVar:
		e.bind(t.Binding.Target, one, in)
	case *ast.ForDeclaration:
		e.bind(t.Target, one, in)
	case *ast.ForIntoExpression:
		e.assign(t.Expression, one, in)
	}
}

// while goes through a loop as often as its condition is known to hold, and once more where it is not known.
func (e *evaluation) while(test, update ast.Expression, body ast.Statement, first bool, in *scope) signal {
	for range maxLoop {
		if test != nil && !first {
			is, known := truth(e.expression(test, in))
			if !known {
				e.unsure++
				e.statement(body, in)
				e.unsure--
				return signal{}
			}
			if !is {
				return signal{}
			}
		}
		first = false
		if end := e.statement(body, in); end.kind != goesOn && end.kind != continues {
			return ended(end)
		}
		if update != nil {
			e.expression(update, in)
		}
		if e.halted {
			return signal{}
		}
	}
	e.halted = true // it may go on
	return signal{}
}

func (e *evaluation) bindAll(list []*ast.Binding, in *scope) signal {
	for _, b := range list {
		v := value(nothing{})
		if b.Initializer != nil {
			v = e.expression(b.Initializer, in)
		}
		if _, ok := v.(failed); ok {
			return signal{kind: throws}
		}
		e.bind(b.Target, v, in)
	}
	return signal{}
}

// bind gives names of a declaration their values.
func (e *evaluation) bind(target ast.Expression, v value, in *scope) {
	switch t := target.(type) {
	case *ast.Identifier:
		in.names[t.Name.String()] = v
	case *ast.ArrayPattern:
		for i, one := range t.Elements {
			if one != nil {
				e.bind(one, e.member(v, text{s: itoa(i)}), in)
			}
		}
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				e.bind(&p.Name, e.member(v, text{s: p.Name.Name.String()}), in)
			case *ast.PropertyKeyed:
				if key, ok := e.key(p, in); ok {
					e.bind(p.Value, e.member(v, text{s: key}), in)
				}
			}
		}
	case *ast.AssignExpression: // a value where there is none
		if _, ok := v.(nothing); ok {
			v = e.expression(t.Right, in)
		}
		e.bind(t.Left, v, in)
	}
}
