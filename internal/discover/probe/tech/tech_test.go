package tech

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	wappalyzer "github.com/projectdiscovery/wappalyzergo"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// compare holds what is named against what the library names.
func compare(t interface{ Errorf(string, ...any) }, f *Fingerprints, library *wappalyzer.Wappalyze,
	fields map[string][]string, body []byte) []string {
	names, details, err := f.Name(fields, body)
	if err != nil {
		t.Errorf("%v", err)
	}
	want := library.FingerprintWithInfo(fields, body)
	if !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		t.Errorf("%q, the library says %q", names, slices.Sorted(maps.Keys(want)))
		return names
	}
	for full, info := range want {
		name, version, _ := strings.Cut(full, ":")
		if _, whole := details[full]; whole {
			name, version = full, ""
		}
		d, ok := details[name]
		if !ok || d.Version != version || d.Description != info.Description || d.Website != info.Website ||
			d.Icon != info.Icon || !slices.Equal(d.Categories, info.Categories) {
			t.Errorf("%s: %+v, the library says %+v", full, d, info)
		}
	}
	return names
}

func TestTheLibraryNamesTheSame(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/pages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	library, err := wappalyzer.New()
	if err != nil {
		t.Fatal(err)
	}
	f := &Fingerprints{}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(file.Data))), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			names := compare(t, f, library, answer.Header, body)
			for least := range strings.SplitSeq(answer.Header.Get("X-Expect"), ", ") {
				if least != "" && !slices.Contains(names, least) {
					t.Errorf("%s is not among %q", least, names)
				}
			}
		})
	}
	t.Run("made of what fingerprints look for", rapid.MakeCheck(func(r *rapid.T) {
		p := drawn{r}
		compare(r, f, library, p.fields(f.set), p.page(f.set))
	}))
}

// drawn are texts that patterns match, for the most part.
type drawn struct{ *rapid.T }

// text is something that a pattern matches, or nearly.
func (d drawn) text(p *pattern) string {
	sample, ok := sampleOf(p.text)
	if !ok {
		return "x"
	}
	text := sample.Draw(d.T, "text")
	if rapid.IntRange(0, 9).Draw(d.T, "spoilt") == 0 {
		text = text[:len(text)/2]
	}
	return text
}

func (d drawn) some(list []*pattern, most int) []*pattern {
	return rapid.SliceOfN(rapid.SampledFrom(list), 0, most).Draw(d.T, "patterns")
}

func (d drawn) fields(s *set) map[string][]string {
	fields := map[string][]string{}
	for key, list := range s.headers {
		if key == "server" || key == "x-powered-by" {
			for _, p := range d.some(list.patterns, 2) {
				fields[key] = append(fields[key], d.text(p))
			}
		}
	}
	for range rapid.IntRange(0, 2).Draw(d.T, "cookies") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(s.cookies))).Draw(d.T, "cookie")
		fields["Set-Cookie"] = append(fields["Set-Cookie"], name+"="+d.text(s.cookies[name].patterns[0])+"; Path=/")
	}
	return fields
}

func (d drawn) page(s *set) []byte {
	var b strings.Builder
	for _, p := range d.some(s.html.patterns, 4) {
		b.WriteString(d.text(p) + "\n")
	}
	for _, p := range d.some(s.scripts.patterns, 3) {
		fmt.Fprintf(&b, "<script src=\"%s\"></script>", html.EscapeString(d.text(p)))
	}
	for _, p := range d.some(s.meta["generator"].patterns, 2) {
		fmt.Fprintf(&b, "<meta name=Generator content=\"%s\">", html.EscapeString(d.text(p)))
	}
	return []byte(b.String())
}

// sampleOf makes texts that an expression matches; ok is false when Go knows no such
// expression.
func sampleOf(text string) (sample *rapid.Generator[string], ok bool) {
	expression, _, _ := strings.Cut(text, `\;`)
	if expression == "" {
		return nil, false
	}
	expression = strings.NewReplacer(`\$`, `\$`, "^", "", "$", "", `\b`, "").Replace(expression)
	if _, err := regexp.Compile(expression); err != nil {
		return nil, false
	}
	return rapid.StringMatching(expression), true
}

// TestNoPatternMatchesWithoutItsLiterals: a pattern that matches a text, however it is written, is among
// its candidates.
func TestNoPatternMatchesWithoutItsLiterals(t *testing.T) {
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	matched := 0
	check := func(g *group, p *pattern) {
		sample, ok := sampleOf(p.text)
		parsed := p.parse()
		if !ok || parsed == nil || len(p.text) > 200 {
			return
		}
		text := sample.Example(1)
		for _, text := range []string{text, strings.ToUpper(text),
			strings.NewReplacer("s", "\u017f", "k", "\u212a").Replace(text)} {
			if hit, _ := parsed.Evaluate(text); !hit {
				continue
			}
			matched++
			if !slices.Contains(g.candidates(text), p) {
				t.Errorf("%s: %q matches %q and is no candidate", p.app, p.text, text)
			}
		}
	}
	groups := []*group{&s.html, &s.scripts}
	for _, k := range []keys{s.headers, s.cookies, s.meta} {
		groups = slices.AppendSeq(groups, maps.Values(k))
	}
	for _, g := range groups {
		for _, p := range g.patterns {
			check(g, p)
		}
	}
	if matched < 10_000 {
		t.Errorf("only %d matches were tried", matched)
	}
	if n := len(s.scripts.rest) + len(s.html.rest); n > 100 {
		t.Errorf("%d patterns are held against everything", n)
	}
}

// BenchmarkName names a small page (2026-11-21, 2 cores: 40 µs; the library takes 4.5 ms).
func BenchmarkName(b *testing.B) {
	page := []byte("<html><head><title>Hello</title><link rel=icon href=/i.png></head><body>" +
		strings.Repeat("<p>some text of a small page</p>", 50) + "</body></html>")
	fields := map[string][]string{"server": {"nginx/1.22.1"}, "content-type": {"text/html"}}
	f := &Fingerprints{}
	if _, _, err := f.Name(nil, nil); err != nil { // it loads
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if names, _, err := f.Name(fields, page); err != nil || len(names) != 1 {
			b.Fatal(names, err)
		}
	}
}
