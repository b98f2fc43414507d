package templates_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// sameWhenSealed compares the programs of the index, whose operators are compiled when they
// are needed, with those of the texts: what is known of them before, and what they find.
func sameWhenSealed(t *testing.T, plain, kept *templates.Result) {
	t.Helper()
	sealed, matched, silent := 0, 0, 0
	for i, one := range plain.Templates {
		other := kept.Templates[i]
		if len(other.HTTP) == 0 || other.HTTP[0].Sealed == nil {
			continue
		}
		sealed++
		want, err := program.Compile(one)
		if err != nil {
			t.Fatal(err)
		}
		got, err := program.Compile(other)
		if err != nil {
			t.Fatal(err)
		}
		a, b := want.Bind(program.Vars{}), got.Bind(program.Vars{})
		x, y := &a.Blocks[0], &b.Blocks[0]
		if a.Requests() != b.Requests() || a.PathSpecific() != b.PathSpecific() || a.NeedsTLS() != b.NeedsTLS() ||
			a.Plannable != b.Plannable ||
			x.Chained != y.Chained || x.Numbered != y.Numbered || x.Operators.UsesOAST() != y.Operators.UsesOAST() {
			t.Errorf("%s: what is known of it before is something else", one.Path)
		}
		whole := opened(other) // random markers are its own
		for _, status := range []int{200, 302, 404, 500} {
			left, right := x.Operators.Eval(answer(status, one), nil), y.Operators.Eval(answer(status, &whole), nil)
			if left.Matched != right.Matched || left.FlowMatched != right.FlowMatched || left.Silent != right.Silent ||
				len(left.Findings) != len(right.Findings) || len(left.Internal) != len(right.Internal) ||
				len(left.Named) != len(right.Named) {
				t.Errorf("%s: status %d: %+v, from the index %+v", one.Path, status, left, right)
			}
			if left.Matched {
				matched++
			} else {
				silent++
			}
		}
	}
	t.Logf("%d sealed templates, %d answers matched, %d did not", sealed, matched, silent)
	if sealed < 2000 || matched < 1000 || silent < 1000 {
		t.Error("that is too few")
	}
}

// answer is one with all words that a template looks for.
func answer(status int, t *syntax.Template) *match.Response {
	var words []string
	for _, m := range t.HTTP[0].Matchers {
		words = append(words, m.Words...)
	}
	text := strings.Join(words, "\n")
	return &match.Response{
		Status: status, Body: []byte(text),
		Head:  func() []byte { return []byte("HTTP/1.1 200 OK\r\nServer: " + text + "\r\n\r\n") },
		Named: func(name string) (any, bool) { return text, !web.IsTLSPart(name) },
	}
}
