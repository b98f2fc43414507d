package flow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/flow"
)

// world is a host that remembers what a flow did.
type world struct {
	flow.Host

	matches map[string]bool // the calls that match
	values  map[string]any
	gives   map[string]map[string]any // values that a call leaves behind
	trace   []string
}

func newWorld(matches ...string) *world {
	w := &world{matches: map[string]bool{}, values: map[string]any{}, gives: map[string]map[string]any{}}
	for _, m := range matches {
		w.matches[m] = true
	}
	w.Call = func(_ context.Context, c flow.Call) (bool, error) {
		name := fmt.Sprintf("%s(%s)", c.Protocol, strings.Join(c.IDs, ","))
		w.trace = append(w.trace, name)
		maps.Copy(w.values, w.gives[name])
		return w.matches[name], nil
	}
	w.Values = func() map[string]any { return maps.Clone(w.values) }
	w.Field = func(name string) (any, bool) {
		if name == "http_1_body" && len(w.trace) > 0 {
			return []byte(w.trace[len(w.trace)-1]), true
		}
		return nil, false
	}
	w.Set = func(name string, value any) {
		w.trace = append(w.trace, fmt.Sprintf("%s=%v", name, value))
		w.values[name] = value
	}
	return w
}

func compile(t testing.TB, source string) *flow.Program {
	t.Helper()
	p, err := flow.Compile(source, []string{"http", "dns", "javascript"})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		source  string
		matches string // blank between
		native  bool
		trace   string
	}{
		{"http(1) && http(2)", "", true, "http(1)"},
		{"http(1) && http(2)", "http(1)", true, "http(1) http(2)"},
		{"http(1) || http(2) && http(3)", "http(1)", true, "http(1)"},
		{"http(1) || http(2) && http(3)", "http(2)", true, "http(1) http(2) http(3)"},
		{"(http(1) || http(2)) && http(3)", "http(1)", true, "http(1) http(3)"},
		{"(http(1) && http(2)) || (http(3) && http(4))", "http(1)", true, "http(1) http(2) http(3)"},
		{"!http(1) && http(2)", "", true, "http(1) http(2)"},
		{"!(http(1) || !http(2)) && http(3)", "http(2)", true, "http(1) http(2) http(3)"},
		{"!!http(1) && http(2)", "", true, "http(1)"},
		{"  http()\n\tjavascript()\n", "", true, "http() javascript()"},
		{"http(1);\njavascript();;\nhttp(2)", "", true, "http(1) javascript() http(2)"},
		{"http(1)\n&& http(2)", "http(1)", true, "http(1) http(2)"},
		{"http(1)\n!http(2)", "", true, "http(1) http(2)"},
		{`http("a-b", 'c', 3,)`, "", true, "http(a-b,c,3)"},
		{"// first\nhttp(1) /* then\n */ http(2) // last", "", true, "http(1) http(2)"},
		{"dns() && http()", "dns()", true, "dns() http()"},

		{"if(http(1))\n{\nset('name',template.names[0])\nhttp(2)\n}", "http(1)", false, "http(1) name=x http(2)"},
		{"for (let v of iterate(template.names, null, template.none, 'z')) { set('n', v); http(2) }", "", false,
			"n=x http(2) n=y http(2) n=z http(2)"},
		{"let ok = function() { return http(1) && http(2) }; ok() || http(3)", "http(1)", false, "http(1) http(2) http(3)"},
		{"set('a', 1); set('b', 1.5); set('c', [1,'x']); set('d', null); set('e', {k: true}); set('f', () => 1)", "", false,
			"a=1 b=1.5 c=[1 x] d=<nil> e=map[k:true] f=<nil>"},
		{"const d = new Dedupe(); d.Add('b', ['a', 'b'], null); d.Add('a'); set('v', d.Values())", "", false, "v=[b a]"},
		{"set('n', template.names.length + ':' + template.names.join('/') + template.hasOwnProperty('none') + Array.isArray(template.names))", "", false, "n=2:x/yfalsetrue"},
		{"let a = template.http_1_body; http(1); set('b', a + template.http_1_body + template['http_1_body'].length + template.http_2_body)", "", false, "http(1) b=undefinedhttp(1)7undefined"},
		{"http(1); delete template.http_1_body; template.own = ['o']; template.own.push('p'); set('b', template.own.length + '' + ('http_1_body' in template) + Object.keys(template))", "", false, "http(1) b=2falsebytes,names,own,status"},
		{"set('text', template.bytes + template.status)", "", false, "text=raw200"},
		{"set('x', 1); set('before', template.x + ''); http(9); set('after', template.x)", "", false,
			"x=1 before=undefined http(9) after=1"},
		{"http(1) ? http(2) : http(3)", "", false, "http(1) http(3)"},
		{"http('a\\u0062')", "", false, "http(ab)"},
		{"http(1); return; // Export\nhttp(2)", "", false, "http(1)"},
		{"let q = log(JSON.parse('{\"a\":[1]}')).a[0]; set('q', q)", "", false, "q=1"},
		{"try { nothing() } catch (e) { http(1) }", "", false, "http(1)"},
	} {
		w := newWorld(strings.Fields(c.matches)...)
		w.values = map[string]any{"names": []string{"x", "y"}, "bytes": []byte("raw"), "status": 200}
		p := compile(t, c.source)
		if err := p.Run(t.Context(), &w.Host); err != nil {
			t.Errorf("%s: %v", c.source, err)
		}
		if got := strings.Join(w.trace, " "); got != c.trace || p.Native() != c.native {
			t.Errorf("%s\n got %s, native %v\nwant %s, native %v", c.source, got, p.Native(), c.trace, c.native)
		}
	}
}

func TestValuesAreReadAnewAfterEachCall(t *testing.T) {
	w := newWorld()
	w.gives["http(1)"] = map[string]any{"links": []any{"/a", "/b"}}
	p := compile(t, "let none = template.links; http(1); for (let l of iterate(none, template.links)) { set('l', l); http(2) }")
	if err := p.Run(t.Context(), &w.Host); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.trace, " "); got != "http(1) l=/a http(2) l=/b http(2)" {
		t.Error(got)
	}
}

func TestRunsDoNotSeeEachOther(t *testing.T) {
	p := compile(t, "set('seen', typeof left); left = 1; Array.prototype.odd = 1; set('odd', typeof [].odd)")
	for range 2 {
		w := newWorld()
		if err := p.Run(t.Context(), &w.Host); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.trace, " "); got != "seen=undefined odd=number" {
			t.Error(got)
		}
	}
}

func TestFirst(t *testing.T) {
	for source, want := range map[string]string{
		"http(1) && http(2)":               "http[1]",
		"!(http('x', 2) || http(3))":       "http[x 2]",
		"if (!http(1)) http(2)":            "http[1]",
		"// words\nhttp();\nset('a', 1)":   "http[]",
		"let a = http(1)":                  "",
		"http('a' + 1)":                    "",
		"for (let i of iterate()) http(1)": "",
		"set('a', 1)":                      "",
		"ssl(1)":                           "",
	} {
		got := ""
		if call, ok := compile(t, source).First(); ok {
			got = fmt.Sprint(call.Protocol, call.IDs)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for source, want := range map[string]string{
		"http(1);\nhttp(2) &&":                         "flow: line 2: Unexpected end of input",
		"http(1)\nlet a = 1\nlet a = 2":                "flow: line 3: Identifier 'a' has already been declared",
		"return 1":                                     "flow: line 1: Illegal return statement",
		strings.Repeat("[", 300):                       "flow: brackets nested more than 256 deep",
		strings.Repeat("http(1);", 9000):               "flow: 72000 bytes are more than 65536",
		"http(1)\nssl()":                               "flow: line 2: ReferenceError: ssl is not defined",
		"http(1)\n\nfunction f() {\n  null.x\n}\nf()":  "flow: line 4: TypeError: Cannot read property 'x' of undefined",
		"\nthrow 'words'":                              "flow: line 2: words",
		"function f() { f() }\nf()":                    "flow: line 1: calls nested more than 512 deep",
		"eval('1')":                                    "flow: line 1: TypeError: Value is not an object: undefined",
		"set('a', 'x'.repeat(5e6))":                    "flow: line 1: TypeError: set: the value is too large or too deep",
		"let a = []; a[0] = a; set('a', a)":            "flow: line 1: TypeError: set: the value is too large or too deep",
		"for (;;) set('a' , 'x'.repeat(4e6))":          "flow: line 1: TypeError: set: the value is too large or too deep",
		"JSON.parse('['.repeat(2e7))":                  "flow: line 1: TypeError: JSON.parse: brackets nested too deep",
		"try { for (;;) http(1) } catch (e) {http(2)}": "flow: line 1: more than 10000 protocol calls",
	} {
		p, err := flow.Compile(source, []string{"http"})
		if err == nil {
			w := newWorld()
			w.Compute = time.Minute // none of these ends by it
			err = p.Run(t.Context(), &w.Host)
			if slices.Contains(w.trace, "http(2)") {
				t.Errorf("%.40s: went on", source)
			}
		}
		var typed *flow.Error
		if !errors.As(err, &typed) || err.Error() != want {
			t.Errorf("%.40s\n got %v\nwant %s", source, err, want)
		}
	}
}

// A script that computes without end is stopped, by its bound or with its scan, and
// leaves no goroutine behind.
func TestEndlessScriptsAreStopped(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, source := range []string{
		"while (true);",
		"try { while (true); } catch (e) { while (true); } finally { while (true); }",
		"Promise.resolve().then(() => { while (true); })",
		"[2, 1].sort(() => { while (true); })",
		"set('a', {get b() { while (true); }})",
	} {
		p := compile(t, source)
		w := newWorld()
		w.Compute = 30 * time.Millisecond
		var typed *flow.Error
		if err := p.Run(t.Context(), &w.Host); !errors.As(err, &typed) ||
			typed.Message != "stopped after computing for 30ms" {
			t.Errorf("%s: %v", source, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		w = newWorld()
		w.Values = func() map[string]any { cancel(nil); return nil }
		p = compile(t, source+"; template")
		if err := p.Run(ctx, &w.Host); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", source, err)
		}
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestTimeInsideCallsDoesNotCount(t *testing.T) {
	w := newWorld()
	t.Parallel()
	w.Compute = time.Second // of which the calls take more than all
	call := w.Call
	w.Call = func(ctx context.Context, c flow.Call) (bool, error) {
		select {
		case <-time.After(w.Compute * 2 / 3):
		case <-ctx.Done():
		}
		return call(ctx, c)
	}
	if err := compile(t, "let a = http(1); http(2)").Run(t.Context(), &w.Host); err != nil || len(w.trace) != 2 {
		t.Error(w.trace, err)
	}
}

func TestHostErrorsEndTheFlow(t *testing.T) {
	broken := errors.New("the budget is spent")
	for _, source := range []string{"http(1) || http(2)",
		"try { http(1) } catch (e) { http(2) } finally { http(3) }; http(4)"} {
		w := newWorld()
		call := w.Call
		w.Call = func(ctx context.Context, c flow.Call) (bool, error) { _, _ = call(ctx, c); return false, broken }
		if err := compile(t, source).Run(t.Context(), &w.Host); !errors.Is(err, broken) || len(w.trace) != 1 {
			t.Errorf("%s: %v, %v", source, w.trace, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w = newWorld()
		if err := compile(t, source).Run(ctx, &w.Host); !errors.Is(err, context.Canceled) || len(w.trace) != 0 {
			t.Errorf("%s, cancelled: %v, %v", source, w.trace, err)
		}
	}
}
