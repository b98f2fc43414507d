package program_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func compileWith(t testing.TB, o program.Options, rest string) *program.Bound {
	t.Helper()
	template, err := syntax.Parse("t.yaml", []byte("id: a\ninfo: {name: n, author: a, severity: low}\n"+rest))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Compile(template)
	if err != nil {
		t.Fatal(err)
	}
	return p.Bind(program.Vars{})
}

// What a scan says of redirects, against what a template says.
func TestRedirectOptions(t *testing.T) {
	all := program.Follow{Mode: web.AllRedirects, Max: 10}
	own := program.Follow{Mode: web.HostRedirects, Max: 10}
	with := func(f program.Follow, hops int) program.Follow { f.Max = hops; return f }
	for _, c := range []struct {
		options          program.Options
		none, host, most program.Follow // of a template that follows none, on the host, and all 3
	}{
		{program.Options{}, program.Follow{}, own, with(all, 3)},
		{program.Options{FollowRedirects: true}, all, all, with(all, 3)},
		{program.Options{FollowHostRedirects: true}, own, own, with(own, 3)},
		{program.Options{FollowHostRedirects: true, FollowRedirects: true}, own, own, with(own, 3)},
		{program.Options{FollowRedirects: true, MaxRedirects: 5}, with(all, 5), with(all, 5), with(all, 5)},
		{program.Options{MaxRedirects: 5}, program.Follow{}, with(own, 5), with(all, 3)},
		{program.Options{NoRedirects: true, FollowRedirects: true}, program.Follow{}, program.Follow{}, program.Follow{}},
	} {
		for rest, want := range map[string]program.Follow{"": c.none, "host-redirects: true": c.host,
			"redirects: true, max-redirects: 3": c.most} {
			b := compileWith(t, c.options, "http: [{path: ['{{BaseURL}}'], "+rest+"}]")
			if got := b.Follow(0, 0); got != want {
				t.Errorf("%+v over %q: %+v, not %+v", c.options, rest, got, want)
			}
		}
	}
}

// The size that a scan reads wins over the template's; matchers may be left out; payloads
// are combined as the scan says.
func TestOtherOptions(t *testing.T) {
	for size, want := range map[int]int64{0: 7, 5: 5, 9: 9} {
		b := compileWith(t, program.Options{MaxSize: size}, "http: [{path: ['{{BaseURL}}'], max-size: 7}]")
		address, err := rawurl.Parse("http://h.test/")
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Request(0, 0, program.Input{Ctx: t.Context(), Target: address})
		if err != nil || r.MaxBody != want {
			t.Errorf("with %d: %d %v", size, r.MaxBody, err)
		}
	}
	for excluded, want := range map[string]string{
		"": "x y", "a:x": "y", "*:x": "y", "*:y b:x": "x", "a": "", "a:*": "", "b:x b x": "x y", "*:*": "x y", "*": "x y",
	} {
		o := program.Options{ExcludedMatchers: strings.Fields(excluded)}
		b := compileWith(t, o, "http: [{path: ['{{BaseURL}}'], matchers: [{type: status, name: x, status: [200]}, {type: status, name: y, status: [200]}]}]")
		out := b.Blocks[0].Operators.Eval(&match.Response{
			Status: 200, Ctx: t.Context(), Head: func() []byte { return []byte("HTTP/1.1 200 OK\r\n\r\n") },
		}, nil)
		var names []string
		for _, f := range out.Findings {
			names = append(names, f.Matcher)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("without %q: %q, want %q", excluded, got, want)
		}
	}
	for attack, want := range map[string]int{"": 2, "clusterbomb": 6} {
		b := compileWith(t, program.Options{Attack: attack},
			"http: [{path: ['{{BaseURL}}/{{a}}{{b}}'], attack: pitchfork, payloads: {a: [1, 2], b: [3, 4, 5]}}]")
		if got := b.Blocks[0].Tuples(); got != want {
			t.Errorf("%q: %d tuples", attack, got)
		}
	}
}
