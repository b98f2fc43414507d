// Package tech names the technologies behind a page by the fingerprints of wappalyzergo, like that library at a
// fiftieth of its cost: an expression runs only where a literal that it needs occurs.
package tech

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	wappalyzer "github.com/projectdiscovery/wappalyzergo"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Fingerprints names technologies. The zero value is ready and safe for use by many goroutines; it reads some
// megabytes at the first call: share one.
type Fingerprints struct {
	once sync.Once
	set  *set
	err  error
}

// set are all fingerprints, by where they look.
type set struct {
	apps    map[string]*app
	html    group // the whole page
	scripts group // the sources of scripts
	headers keys
	cookies keys
	meta    keys // by the name of the element
}

// app is a technology.
type app struct {
	implies []string
	about   discover.Technology // without a version
}

// pattern is one expression of a technology. text has the version and the confidence after the expression; parse
// gives nil where Go cannot compile it.
type pattern struct {
	app, text string
	parse     func() *wappalyzer.ParsedPattern
}

// group are the patterns that are matched against one text.
type group struct {
	patterns []*pattern
	literals *textsearch.Set
	owners   []*pattern // of each literal
	rest     []*pattern // those that need no literal
}

// keys are groups by the header field, cookie or meta element whose value they match.
type keys map[string]*group

func (k keys) add(key, app, text string) {
	if k[key] == nil {
		k[key] = &group{}
	}
	k[key].add(app, text)
}

// document is the part of the library's data that is used here.
type document struct {
	Apps map[string]struct {
		Categories  []int               `json:"cats"`
		Cookies     map[string]string   `json:"cookies"`
		Headers     map[string]string   `json:"headers"`
		HTML        []string            `json:"html"`
		Scripts     []string            `json:"scriptSrc"`
		Meta        map[string][]string `json:"meta"`
		Implies     []string            `json:"implies"`
		Description string              `json:"description"`
		Website     string              `json:"website"`
		Icon        string              `json:"icon"`
	} `json:"apps"`
}

func load() (*set, error) {
	var d document
	if err := json.Unmarshal([]byte(wappalyzer.GetFingerprints()), &d); err != nil {
		return nil, fmt.Errorf("the fingerprints of technologies: %w", err)
	}
	s := &set{apps: map[string]*app{}, headers: keys{}, cookies: keys{}, meta: keys{}}
	categories := wappalyzer.GetCategoriesMapping()
	for _, name := range slices.Sorted(maps.Keys(d.Apps)) {
		f := d.Apps[name]
		about := discover.Technology{Description: f.Description, Website: f.Website, Icon: f.Icon}
		for _, id := range f.Categories {
			if c, ok := categories[id]; ok {
				about.Categories = append(about.Categories, c.Name)
			}
		}
		s.apps[name] = &app{f.Implies, about}
		for _, text := range f.HTML {
			s.html.add(name, text)
		}
		for _, text := range f.Scripts {
			s.scripts.add(name, text)
		}
		for key, text := range f.Headers {
			s.headers.add(key, name, text)
		}
		for key, text := range f.Cookies {
			s.cookies.add(key, name, text)
		}
		for key, texts := range f.Meta {
			for _, text := range texts {
				s.meta.add(key, name, text)
			}
		}
	}
	s.html.index()
	s.scripts.index()
	for _, k := range []keys{s.headers, s.cookies, s.meta} {
		for _, g := range k {
			g.index()
		}
	}
	return s, nil
}

func (g *group) add(app, text string) {
	g.patterns = append(g.patterns, &pattern{app, text, sync.OnceValue(func() *wappalyzer.ParsedPattern {
		parsed, err := wappalyzer.ParsePattern(text)
		if err != nil { // the library leaves it out, too
			return nil
		}
		return parsed
	})})
}

// bounds writes an expression's repetitions as wappalyzergo compiles them.
var bounds = strings.NewReplacer(
	`(\d+(?:\.\d+)+)`, `(\d{1,20}(?:\.\d{1,20}){1,20})`,
	`((?:\d+\.)+\d+)`, `((?:\d{1,20}\.){1,20}\d{1,20})`,
	`\+`, `\+`, `+`, `{1,250}`, `*`, `{0,250}`,
)

// tag is the beginning of expressions that most pages have.
var tag = regexp.MustCompile(`^<\w+`)

func (g *group) index() {
	var literals []textsearch.Literal
	for _, p := range g.patterns {
		expression, _, _ := strings.Cut(p.text, `\;`)
		needs := needed(tag.ReplaceAllString(expression, ""))
		if len(needs) == 0 {
			needs = needed(expression)
		}
		if len(needs) == 0 {
			g.rest = append(g.rest, p)
		}
		for _, l := range needs {
			l, _ = textsearch.Fold(l.Text)
			literals, g.owners = append(literals, l), append(g.owners, p)
		}
	}
	g.literals = textsearch.NewSet(literals)
}

// needed are literals of which each match of an expression contains one; none when that is not known.
func needed(expression string) []textsearch.Literal {
	compiled, err := textsearch.Compile("(?i)" + bounds.Replace(expression))
	if err != nil {
		return nil
	}
	return compiled.Needs()
}

func (g *group) candidates(text string) []*pattern {
	t := textsearch.NewText([]byte(text))
	if t.Odd() { // a letter outside ASCII may stand for one of a literal
		return g.patterns
	}
	list := slices.Clip(g.rest)
	found := g.literals.Find(t)
	for i, p := range g.owners {
		if found[i] {
			list = append(list, p)
		}
	}
	return list
}

// Name gives the technologies of an answer, with header fields by lower-case name: as Name or Name:version,
// ascending, and what is known of each.
func (f *Fingerprints) Name(fields map[string][]string, body []byte) ([]string, map[string]discover.Technology, error) {
	f.once.Do(func() { f.set, f.err = load() })
	if f.err != nil {
		return nil, nil, f.err
	}
	var names []string
	details := map[string]discover.Technology{}
	for name, version := range f.set.match(fields, body) {
		full := name
		if version != "" {
			full += ":" + version
		}
		known, product := f.set.find(full)
		if known == nil {
			continue
		}
		names = append(names, full)
		t := known.about
		t.Categories = slices.Clone(t.Categories)
		if product != full {
			t.Version = version
		}
		details[product] = t
	}
	slices.Sort(names)
	return names, details, nil
}

// find gives the technology of Name or Name:version, and its name; nil for an implied word that is no name.
func (s *set) find(full string) (*app, string) {
	if a := s.apps[full]; a != nil {
		return a, full
	}
	name, version, _ := strings.Cut(full, ":")
	if strings.Contains(version, ":") {
		return nil, ""
	}
	return s.apps[name], name
}

type detection struct {
	version string
	sure    bool // the confidence is not zero
}

type detections map[string]detection

// match adds what a group's patterns see in a text. Of several versions the most specific counts.
func (d detections) match(g *group, text string) {
	for _, p := range g.candidates(text) {
		parsed := p.parse()
		if parsed == nil {
			continue
		}
		matched, version := parsed.Evaluate(text)
		if !matched {
			continue
		}
		old := d[p.app]
		old.sure = old.sure || parsed.Confidence > 0
		if version != "" && (old.version == "" || moreSpecific(version, old.version)) {
			old.version = version
		}
		d[p.app] = old
	}
}

// add joins what was seen in one place, with what it implies. The first version stays.
func (d detections) add(seen detections, apps map[string]*app) {
	join := func(name string, one detection) {
		old := d[name]
		if old.version == "" {
			old.version = one.version
		}
		old.sure = old.sure || one.sure
		d[name] = old
	}
	for name, one := range seen {
		join(name, one)
		for _, implied := range apps[name].implies {
			join(implied, detection{sure: one.sure})
		}
	}
}

// moreSpecific reports whether version a has more parts than b, or as many and is later.
func moreSpecific(a, b string) bool {
	as, bs := numbers(a), numbers(b)
	if len(as) != len(bs) {
		return len(as) > len(bs)
	}
	return slices.Compare(as, bs) > 0
}

// numbers are the parts of a version; a part that is no number is 0.
func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		if part != "" {
			n, err := strconv.Atoi(part)
			if err != nil { // Atoi gives the largest number for one that is too large
				n = 0
			}
			list = append(list, n)
		}
	}
	return list
}
