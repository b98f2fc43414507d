// Package tech names the technologies behind a page by the fingerprints of wappalyzergo,
// and says what that library says. It is much faster, since it knows for each expression a
// text without which it cannot match, and holds only those against a page that can; and
// expressions are compiled when they are first needed.
package tech

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	wappalyzer "github.com/projectdiscovery/wappalyzergo"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Fingerprints names technologies. The zero value is ready and safe for use by many
// goroutines; it reads the fingerprints, some megabytes, when it is first used: share one.
type Fingerprints struct {
	once sync.Once
	set  *set
	err  error
}

// set are all fingerprints, by where they look.
type set struct {
	apps    map[string]*app
	html    group // the page as a whole
	scripts group // the sources of scripts
	headers keys
	cookies keys
	meta    keys // by the name of the element
}

// app is a technology.
type app struct {
	implies []string
	known   discover.Technology // without a version
}

// pattern is one expression of a technology.
type pattern struct {
	app   string
	text  string // as it is written
	needs [][]string
	parse func() *wappalyzer.ParsedPattern // nil when it is not valid
}

// group are patterns that are all for the same text.
type group struct {
	patterns []*pattern
	needles  *needles // nil: none
	rest     []int    // the patterns that have none
}

// keys are groups, each for the value of a key.
type keys map[string]*group

func (k keys) add(key string, p *pattern) {
	if k[key] == nil {
		k[key] = &group{}
	}
	k[key].patterns = append(k[key].patterns, p)
}

// document is the form of the library's data, as far as it is used here.
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

// load reads the fingerprints.
func load() (*set, error) {
	var d document
	if err := json.Unmarshal([]byte(wappalyzer.GetFingerprints()), &d); err != nil {
		return nil, fmt.Errorf("the fingerprints of technologies: %w", err)
	}
	s := &set{apps: map[string]*app{}, headers: keys{}, cookies: keys{}, meta: keys{}}
	categories := wappalyzer.GetCategoriesMapping()
	for _, name := range slices.Sorted(maps.Keys(d.Apps)) {
		f := d.Apps[name]
		a := &app{implies: f.Implies, known: discover.Technology{Description: f.Description, Website: f.Website, Icon: f.Icon}}
		for _, id := range f.Categories {
			if c, ok := categories[id]; ok {
				a.known.Categories = append(a.known.Categories, c.Name)
			}
		}
		s.apps[name] = a
		for _, text := range f.HTML {
			s.html.patterns = append(s.html.patterns, newPattern(name, text))
		}
		for _, text := range f.Scripts {
			s.scripts.patterns = append(s.scripts.patterns, newPattern(name, text))
		}
		for key, text := range f.Headers {
			s.headers.add(key, newPattern(name, text))
		}
		for key, text := range f.Cookies {
			s.cookies.add(key, newPattern(name, text))
		}
		for key, texts := range f.Meta {
			for _, text := range texts {
				s.meta.add(key, newPattern(name, text))
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

// newPattern makes a pattern of a technology; after the expression come its version and
// its confidence, which the library reads.
func newPattern(name, text string) *pattern {
	expression, _, _ := strings.Cut(text, `\;`)
	return &pattern{app: name, text: text, needs: needs(expression), parse: sync.OnceValue(func() *wappalyzer.ParsedPattern {
		parsed, err := wappalyzer.ParsePattern(text)
		if err != nil { // the library passes it over, too: Go knows no such expression
			return nil
		}
		return parsed
	})}
}

// possible reports whether the pattern may match a text, which is folded.
func (p *pattern) possible(folded string) bool {
	for _, texts := range p.needs {
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(folded, t) }) {
			return false
		}
	}
	return true
}

// worthIndex is how many patterns a group has for which needles are worth their memory.
const worthIndex = 16

// index makes the needles of the patterns.
func (g *group) index() {
	if len(g.patterns) < worthIndex {
		for i := range g.patterns {
			g.rest = append(g.rest, i)
		}
		return
	}
	all := make([][][]string, len(g.patterns))
	for i, p := range g.patterns {
		all[i] = p.needs
	}
	g.needles, g.rest = newNeedles(all)
}

// Name gives the technologies of an answer with these header fields, by lower-case name,
// and this body: as Name or Name:version, ascending, and what is known of each by its name.
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
		known, product := f.set.known(full)
		if known == nil {
			continue
		}
		names = append(names, full)
		t := known.known
		t.Categories = slices.Clone(t.Categories)
		if product != full {
			t.Version = version
		}
		details[product] = t
	}
	slices.Sort(names)
	return names, details, nil
}

// known finds the technology of Name or Name:version, and its name. Fingerprints imply some
// by words that are no name; these are not told.
func (s *set) known(full string) (*app, string) {
	if a := s.apps[full]; a != nil {
		return a, full
	}
	name, version, _ := strings.Cut(full, ":")
	if strings.Contains(version, ":") {
		return nil, ""
	}
	return s.apps[name], name
}

// sighting is what one place told of a technology.
type sighting struct {
	version string
	sure    bool // the confidence is not zero
}

// round are the sightings in one place, by technology.
type round map[string]sighting

// hold holds a pattern against a text. Of several versions the most specific counts.
func (r round) hold(p *pattern, text, folded string) {
	if !p.possible(folded) {
		return
	}
	parsed := p.parse()
	if parsed == nil {
		return
	}
	matched, version := parsed.Evaluate(text)
	if !matched {
		return
	}
	s := r[p.app]
	s.sure = s.sure || parsed.Confidence > 0
	if version != "" && (s.version == "" || moreSpecific(version, s.version)) {
		s.version = version
	}
	r[p.app] = s
}

// match holds a group's patterns against a text.
func (g *group) match(text string) round {
	r := round{}
	g.hold(text, r)
	return r
}

// hold adds to a round what a group's patterns see in a text.
func (g *group) hold(text string, r round) {
	folded := fold(text)
	if g.needles != nil {
		for id := range g.needles.in(folded) {
			r.hold(g.patterns[id], text, folded)
		}
	}
	for _, id := range g.rest {
		r.hold(g.patterns[id], text, folded)
	}
}

// tally is what all places together told.
type tally map[string]sighting

// add takes in a round. The first version that was told stays.
func (t tally) add(r round, apps map[string]*app) {
	for name, s := range r {
		t.see(name, s)
		for _, implied := range apps[name].implies {
			t.see(implied, sighting{sure: s.sure})
		}
	}
}

func (t tally) see(name string, s sighting) {
	old := t[name]
	if old.version == "" {
		old.version = s.version
	}
	old.sure = old.sure || s.sure
	t[name] = old
}

// moreSpecific reports whether version a has more parts than b, or as many and is later.
func moreSpecific(a, b string) bool {
	as, bs := numbers(a), numbers(b)
	if len(as) != len(bs) {
		return len(as) > len(bs)
	}
	return slices.Compare(as, bs) > 0
}

// numbers are the parts of a version; one that is no number is 0.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			n = 0
		}
		list = append(list, n)
	}
	return list
}
