package templates_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// opened is a template with all its operators read.
func opened(t *syntax.Template) syntax.Template {
	whole := *t
	whole.HTTP = slices.Clone(t.HTTP)
	for i := range whole.HTTP {
		b := &whole.HTTP[i]
		b.Operators, b.Sealed = *b.Opened(), nil
	}
	return whole
}

// same compares templates but for their random markers, which are new in every load.
func same(t *testing.T, a, b *templates.Result) {
	t.Helper()
	if len(a.Templates) != len(b.Templates) || !reflect.DeepEqual(a.Refused, b.Refused) ||
		!reflect.DeepEqual(a.Skipped, b.Skipped) {
		t.Fatalf("%d and %d templates, %v and %v refused", len(a.Templates), len(b.Templates), a.Refused, b.Refused)
	}
	for i := range a.Templates {
		random := false
		for _, c := range a.Templates[i].Constants {
			random = random || strings.HasPrefix(c.Name, "{{")
		}
		if !random && !reflect.DeepEqual(opened(a.Templates[i]), opened(b.Templates[i])) {
			t.Errorf("%s is not what it was", a.Templates[i].Path)
		}
	}
}

func TestIndexRandomMarkers(t *testing.T) {
	root := tree(t, map[string]string{"a.yaml": template("a", "",
		"http: [{path: ['/{{randstr}}', '/{{randstr_1}}'], body: '{{randstr}}'}]\n")})
	o := templates.Options{Paths: []string{root}, Index: filepath.Join(t.TempDir(), "index")}
	seen := map[string]bool{}
	for i := range 3 {
		got := loaded(t, o)
		if (i > 0) != (got.Indexed == 1) {
			t.Fatalf("load %d: %d came from the index", i, got.Indexed)
		}
		one := got.Templates[0]
		a, b := one.Constants[0].Value, one.Constants[1].Value
		if block := one.HTTP[0]; block.Path[0] != "/"+a || block.Path[1] != "/"+b || block.Body != a || len(a) != 27 ||
			a != one.Constants[0].Data {
			t.Errorf("%+v %+v", one.Constants, block)
		}
		if seen[a] || seen[b] {
			t.Error("a random value came twice")
		}
		seen[a], seen[b] = true, true
	}
}

// A template whose text changed is read again, even when its time and size did not.
func TestIndexIsNeverStale(t *testing.T) {
	root := tree(t, map[string]string{"a.yaml": template("before", "", "")})
	at, index := filepath.Join(root, "a.yaml"), filepath.Join(t.TempDir(), "index")
	o := templates.Options{Paths: []string{root}, Index: index}
	loaded(t, o)
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(template("beyond", "", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, o); ids(got.Templates) != "beyond" || got.Indexed != 0 {
		t.Errorf("%s, %d from the index", ids(got.Templates), got.Indexed)
	}
	// The old text again: it is still known.
	if err := os.WriteFile(at, []byte(template("before", "", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, o); ids(got.Templates) != "before" || got.Indexed != 1 {
		t.Errorf("%s, %d from the index", ids(got.Templates), got.Indexed)
	}
	// How a text is read is part of what it is.
	if got := loaded(t, templates.Options{Paths: []string{root}, Index: index, Lenient: true}); got.Indexed != 0 {
		t.Error("a lenient reading came from a strict one")
	}
	// Files that a template takes in are not of its text.
	tree := tree(t, map[string]string{"a.yaml": template("a", "", "http:\n  # !include:b.txt\n"),
		"b.txt": "- path: [one]"})
	o = templates.Options{Paths: []string{tree}, Index: index, Lenient: true}
	for _, path := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(tree, "b.txt"), []byte("- path: ["+path+"]"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := loaded(t, o); len(got.Refused) > 0 || got.Templates[0].HTTP[0].Path[0] != path {
			t.Errorf("%s: %v %+v", path, got.Refused, got.Templates)
		}
	}
}

// Whatever happens to the file of the index, what is loaded is the same.
func TestDamagedIndex(t *testing.T) {
	files := map[string]string{}
	for i := range 2 {
		files[fmt.Sprint(i, ".yaml")] = template(fmt.Sprint("t", i), "  metadata: {a: [1, x, {b: true}], f: 1.5}\n", "")
	}
	root, index := tree(t, files), filepath.Join(t.TempDir(), "index")
	o := templates.Options{Paths: []string{root}, Index: index}
	want := loaded(t, o)
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(index, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got := loaded(t, o)
		same(t, want, got)
		if got.IndexErr != nil {
			t.Errorf("%s: %v", what, got.IndexErr)
		}
		if got.Indexed < 2 {
			got = loaded(t, o)
		}
		if got.Indexed != 2 {
			t.Errorf("%s: the index was not mended: %d", what, got.Indexed)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1 << (i % 8)
		check(fmt.Sprint("bit ", i), bad)
	}
	for size := 0; size < len(good); size += 7 {
		check(fmt.Sprint("cut at ", size), good[:size])
	}
	check("foreign", []byte("#!/bin/sh\nexit 1\n"))
	check("older", append([]byte("vedette index 0\n"), good[16:]...))
	check("doubled", append(append([]byte(nil), good...), good...))

	// An index that cannot be read or kept is no reason to load nothing.
	o.Index = root
	if got := loaded(t, o); got.IndexErr == nil || len(got.Templates) != 2 {
		t.Error(got.IndexErr)
	}
}

// Several loads may keep the same index at once.
func TestIndexWriters(t *testing.T) {
	index := filepath.Join(t.TempDir(), "index")
	var roots []string
	for i := range 4 {
		files := map[string]string{}
		for j := range 20 {
			files[fmt.Sprint(j, ".yaml")] = template(fmt.Sprintf("t-%d-%d", i, j), "", "")
		}
		roots = append(roots, tree(t, files))
	}
	var wait sync.WaitGroup
	for _, root := range roots {
		for range 3 {
			wait.Go(func() {
				got := loaded(t, templates.Options{Paths: []string{root}, Index: index})
				if len(got.Templates) != 20 || got.IndexErr != nil {
					t.Errorf("%d templates: %v", len(got.Templates), got.IndexErr)
				}
			})
		}
	}
	wait.Wait()
	if left, err := filepath.Glob(index + ".*"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	for _, root := range roots {
		loaded(t, templates.Options{Paths: []string{root}, Index: index})
		if got := loaded(t, templates.Options{Paths: []string{root}, Index: index}); got.Indexed != 20 {
			t.Errorf("%d came from the index", got.Indexed)
		}
	}
}

var idLine = regexp.MustCompile(`(?m)^id:.*$`)

// many copies the HTTP templates of the corpus below a new folder until there are n of
// them, each with an id of its own.
func many(b *testing.B, n int) string {
	root := b.TempDir()
	from := loaded(b, templates.Options{Paths: []string{filepath.Join(corpus(b), "http")}, Roots: []string{corpus(b)},
		IncludeIgnored: true, Allow: templates.Allow{SelfContained: true}})
	for i := range n {
		one := from.Templates[i%len(from.Templates)]
		text, err := os.ReadFile(one.Path)
		if err != nil {
			b.Fatal(err)
		}
		at := filepath.Join(root, fmt.Sprint("http/", i/200), fmt.Sprint(i, ".yaml"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			b.Fatal(err)
		}
		changed := idLine.ReplaceAllLiteralString(string(text), fmt.Sprintf("id: %s-%d", one.ID, i))
		if err := os.WriteFile(at, []byte(changed), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// BenchmarkLoad loads 10,000 templates: cold as on the first start, and from the index.
// On a busy machine they take 2.4 and 0.3 seconds of a processor, to be shared by all that
// there are, and allocate 550 and 77 MB.
func BenchmarkLoad(b *testing.B) {
	root := many(b, 10_000)
	index := filepath.Join(b.TempDir(), "index")
	o := templates.Options{Paths: []string{root}, Roots: []string{corpus(b)}, Index: index, IncludeIgnored: true,
		Allow: templates.Allow{SelfContained: true}}
	loaded(b, o)
	for name, warm := range map[string]bool{"cold": false, "index": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			used := cpu(b)
			for b.Loop() {
				if !warm {
					_ = os.Remove(index)
				}
				got := loaded(b, o)
				if len(got.Templates) != 10_000 || (got.Indexed > 0) != warm {
					b.Fatalf("%d templates, %d from the index, %d refused", len(got.Templates), got.Indexed, len(got.Refused))
				}
			}
			b.ReportMetric((cpu(b)-used).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// cpu is the processor time that this process took.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
