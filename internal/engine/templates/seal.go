package templates

import (
	"reflect"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Most templates request a page that does not exist. The index therefore keeps their operators as bytes, which are
// decoded and compiled when a response needs them (docs/adr/0017-operators-are-compiled-when-needed.md).

// operators is the coder of operators.
var operators = coders{}.of(reflect.TypeFor[syntax.Operators]())

// seal seals a template's operators if they are correct, are evaluated only on responses to the block's own requests,
// and nothing else needs their content.
func seal(t *syntax.Template) *syntax.Template {
	if len(t.HTTP) != 1 || len(t.Protocols) != 1 || t.Flow != "" {
		return t
	}
	b := t.HTTP[0]
	if len(b.Fuzzing) > 0 || b.GlobalMatchers {
		return t
	}
	o, err := match.Compile(t.Path, match.SpecOf(b.Operators))
	if err != nil {
		return t // compiling it will report the fault
	}
	if o.Requires(web.IsTLSPart) {
		return t
	}
	sealed := o.Seal()
	for _, set := range b.Payloads {
		if b.Mentions(set.Name) {
			sealed.Payloads = append(sealed.Payloads, set.Name)
		}
	}
	sealed.Text = string(operators.write(nil, reflect.ValueOf(b.Operators)))
	b.Operators, b.Sealed = syntax.Operators{}, sealed
	bare := *t
	bare.HTTP = []syntax.HTTP{b}
	return &bare
}

// unseal makes sealed operators readable.
func unseal(t *syntax.Template) {
	for i := range t.HTTP {
		if s := t.HTTP[i].Sealed; s != nil {
			s.Open = func() (o syntax.Operators) {
				d := decoder{data: []byte(s.Text)}
				operators.read(&d, reflect.ValueOf(&o).Elem())
				return o
			}
		}
	}
}
