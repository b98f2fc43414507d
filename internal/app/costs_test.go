package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// large are values of a field of about n bytes on which a careless reader does more work than they have bytes.
func (a *attacker) large(s *schema, name string, n int) map[string]any {
	s = a.doc.deref(s)
	out := map[string]any{}
	if s.is("string") || s.Type == nil {
		for _, piece := range []string{"a", "(", "10.0.0.0/8,"} {
			out[fmt.Sprintf("%q over and over", piece)] = strings.Repeat(piece, n/len(piece))
		}
	}
	if s.is("array") {
		item := a.example(s.Items, name)
		same, different := []any{}, []any{}
		for size := 0; size < n; size += 40 {
			same = append(same, item)
			if items := a.doc.deref(s.Items); items.is("string") {
				different = append(different, fmt.Sprintf("%s-%d.example", ids.Random(20), size))
			} else if items.is("object") {
				one := maps.Clone(item.(map[string]any))
				for field, value := range one {
					if _, is := value.(string); is {
						one[field] = fmt.Sprintf("%s-%d", ids.Random(20), size)
					}
				}
				different = append(different, one)
			}
		}
		out["the same item"] = same
		if len(different) > 0 {
			out["many items"] = different
		}
	}
	if s.is("object") {
		keys := map[string]any{}
		for size := 0; size < n; size += 30 {
			keys[fmt.Sprintf("%s-%d", ids.Random(20), size)] = "x"
		}
		out["many keys"] = keys
	}
	return out
}

// bodies are bodies of an operation with one large field each, by what is large.
func (a *attacker) bodies(t testing.TB, op *operation, n int) map[string][]byte {
	out := map[string][]byte{}
	root := bodySchema(op)
	if root == nil {
		return nil
	}
	var walk func(s *schema, path string, depth int, put func(value any) any)
	walk = func(s *schema, path string, depth int, put func(value any) any) {
		s = a.doc.deref(s)
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			with := func(value any) any {
				inner, _ := a.example(s, "").(map[string]any)
				if depth == 0 {
					inner = a.body(op)
				}
				inner[field] = value
				if field == "message" {
					delete(inner, "task")
				}
				return put(inner)
			}
			property := a.doc.deref(s.Properties[field])
			for what, value := range a.large(property, field, n) {
				out[path+field+": "+what] = encode(t, with(value))
			}
			if property.is("object") && depth < 3 {
				walk(property, path+field+".", depth+1, with)
			}
			if items := property.Items; items != nil && a.doc.deref(items).is("object") && depth < 3 {
				walk(items, path+field+"[].", depth+1, func(item any) any { return with([]any{item}) })
			}
		}
	}
	walk(root, "", 0, func(doc any) any { return doc })
	return out
}

// queries are queries of an operation with one long parameter each.
func queries(op *operation, n int) map[string]string {
	out := map[string]string{}
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		for _, piece := range []string{"(", "10.0.0.1,"} {
			out[fmt.Sprintf("%s: %q over and over", p.Name, piece)] =
				url.Values{p.Name: {strings.Repeat(piece, n/len(piece))}}.Encode()
		}
		out[p.Name+": repeated"] = strings.Repeat(url.QueryEscape(p.Name)+"=a&", n/(len(p.Name)+3))
	}
	return out
}

// processorTime is what this process has used.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestWorkGrowsWithTheRequest: a request eight times as large costs at most some twenty times the processor's time,
// whatever is large in it. Work that grows with the square of a field's length would be 64 times as much.
func TestWorkGrowsWithTheRequest(t *testing.T) {
	const small, times, growth = 20_000, 8, 24
	const noise = 60 * time.Millisecond // of collections and of what the server does besides
	seen := 0
	for _, a := range attackers(t, "sqlite") {
		cost := func(op *operation, path string, body []byte) time.Duration {
			r := a.request(op.method, path, &a.admin, string(body))
			before := processorTime(t)
			got := a.do(r)
			if got.status >= http.StatusInternalServerError {
				t.Errorf("%s %s answers %d: %s\n%s", op.method, path[:min(len(path), 200)], got.status, got.body,
					a.logs.line(got.header.Get("X-Request-Id")))
			}
			return processorTime(t) - before
		}
		check := func(what string, op *operation, few, many func() (path string, body []byte)) {
			seen++
			var was, is time.Duration
			for range 3 { // the least of a few, because collections fall where they fall
				path, body := few()
				was = cost(op, path, body)
				path, body = many()
				is = cost(op, path, body)
				if is <= growth*was+noise {
					return
				}
			}
			t.Errorf("%s %s: %s: %v, and %v for %d times as much", op.method, op.path, what, was, is, times)
		}
		for _, op := range a.doc.operations() {
			more := a.bodies(t, op, times*small)
			for what, body := range a.bodies(t, op, small) {
				check(what, op, func() (string, []byte) { return a.path(op), body },
					func() (string, []byte) { return a.path(op), more[what] })
			}
			long := queries(op, times*small/4)
			for what, query := range queries(op, small/4) {
				base, _, _ := strings.Cut(a.path(op), "?")
				body := []byte(nil)
				if bodySchema(op) != nil {
					body = encode(t, a.body(op))
				}
				check(what, op, func() (string, []byte) { return base + "?" + query, body },
					func() (string, []byte) { return base + "?" + long[what], body })
			}
		}
	}
	if seen < 300 {
		t.Errorf("%d shapes only", seen)
	}
	t.Logf("%d shapes", seen)
}
