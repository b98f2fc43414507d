// Package builtin makes a plan from an instruction in plain English without a language
// model: from the targets, intents, CVE ids, technologies, severities and limits it
// recognises. What it does not recognise it says.
//
// It reads in this order: rate and time limits (by their shape), tokens (lex.go), what is
// wanted and what is to be left alone (polarity.go), then ports, severities, checks and
// targets, and at last whatever nobody made use of.
package builtin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/agent"
)

// MaxInstruction is how much of an instruction is read, in bytes.
const MaxInstruction = 64 << 10

// Plan reads an instruction. It is total: any bytes give a plan, the same bytes always
// the same plan. Every target of the plan stands in the instruction, and none that the
// instruction excludes is among them; when in doubt a target is left out.
func Plan(instruction string) agent.Plan {
	b := &builder{known: map[agent.Target]bool{}, said: map[string]bool{}}
	b.plan.Targets = []agent.Target{}
	text := cutAtRune(instruction, MaxInstruction)
	if len(text) < len(instruction) {
		b.plan.NotUnderstood = append(b.plan.NotUnderstood, fmt.Sprintf(
			"The instruction is longer than %d KiB; the rest was not read, so nothing is tested: shorten it.", MaxInstruction>>10))
		b.broken = true
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\x00", " "), "\uFFFD")
	text = b.limits(text)
	r := reader{tokens: lex(text)}
	r.run()
	b.tokens = r.tokens
	b.ports()
	b.severities()
	b.checks()
	b.places()
	b.scope()
	b.leftovers()
	b.settle()
	b.describe()
	return b.plan
}

// builder gathers the plan.
type builder struct {
	tokens

	plan    agent.Plan
	known   map[agent.Target]bool // targets and exclusions so far, without Raw
	said    map[string]bool       // notes made so far
	beyond  []string              // keys of refusals that apply
	full    bool                  // everything was asked for
	general bool                  // everything was asked for, in passing
	notAll  bool                  // everything was asked not to be checked
	also    bool                  // particular checks are named as examples of all
	broken  bool                  // an exclusion was not understood: nothing may be tested
}

// maxNotes bounds what is said about what was not understood.
const maxNotes = 30

// doubt notes a phrase that was not used and why.
func (b *builder) doubt(phrase, why string) {
	note := quote(phrase)
	if why != "" {
		note += ": " + why + "."
	}
	if b.said[note] || len(b.plan.NotUnderstood) > maxNotes {
		return
	}
	b.said[note] = true
	if len(b.plan.NotUnderstood) == maxNotes {
		note = "There is more that I did not understand."
	}
	b.plan.NotUnderstood = append(b.plan.NotUnderstood, note)
}

// refuse notes something that was asked for and is not done.
func (b *builder) refuse(note string) {
	if !b.said[note] && len(b.plan.NotDone) < maxNotes {
		b.said[note] = true
		b.plan.NotDone = append(b.plan.NotDone, note)
	}
}

// maxQuote is the most characters of the instruction that are quoted at once.
const maxQuote = 120

// quote puts a phrase of the user into quotation marks, on one line, bounded, without
// invisible characters.
func quote(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxQuote {
		s = string([]rune(s)[:maxQuote]) + "…"
	}
	return "“" + s + "”"
}

// checks takes everything that names a check: phrases of the lexicon and CVE ids.
func (b *builder) checks() {
	for i := 0; i < len(b.tokens); {
		switch t := &b.tokens[i]; t.sort {
		case cve:
			t.consumed = true
			b.addIDs([]string{t.norm}, t.negated)
			i++
		case path:
			b.pathHint(i)
			i++
		case word:
			i += b.checkAt(i)
		default:
			i++
		}
	}
}

// checkAt uses the longest phrase of the lexicon at i and returns its length in tokens.
func (b *builder) checkAt(i int) int {
	n, found := b.lookup(i)
	if n == 0 {
		return 1
	}
	if found.role == filler || n == 1 && b.tokens[i].consumed {
		return n
	}
	if n == 1 && (b.tokens[i].norm == "exposed" || b.tokens[i].norm == "admin") {
		// An adjective counts only when it does not belong to what comes next.
		if _, next := b.lookup(i + 1); (next.role == wants || next.role == product) && len(next.values) > 0 {
			b.consume(i, 1)
			return 1
		}
	}
	negated := b.tokens[i].negated
	b.consume(i, n)
	switch found.role {
	case wants:
		b.addTags(found.values, negated)
	case product:
		if negated || !b.describes(i, n) {
			b.addTags(found.values, negated)
		}
	case bug:
		b.addIDs(found.values, negated)
	case all:
		b.full, b.notAll = b.full || !negated, b.notAll || negated
	case general:
		b.general = b.general || !negated
	case beyond:
		if !negated && !slices.Contains(b.beyond, found.values[0]) {
			b.beyond = append(b.beyond, found.values[0])
		}
	}
	return n
}

func (b *builder) lookup(i int) (n int, found entry) {
	joined := ""
	for j := 0; j < maxPhrase && b.at(i+j).sort == word && (j > 0 || lexiconStarts()[b.at(i).norm]); j++ {
		joined = strings.TrimPrefix(joined+" "+b.tokens[i+j].norm, " ")
		if e, ok := lexicon()[joined]; ok {
			n, found = j+1, e
		}
	}
	if dot := strings.LastIndexByte(b.at(i).norm, '.'); n == 0 && dot > 0 {
		if e, ok := lexicon()[b.at(i).norm[dot:]]; ok && e.role == wants {
			return 1, e // a file: backup.zip, dump.sql
		}
	}
	return n, found
}

// describes reports whether a product's name only describes a target, as in "our nginx
// server at …", and not what to look for, as in "find Jenkins servers".
func (b *builder) describes(i, n int) bool {
	owner := b.at(i - 1)
	thing := b.at(i + n)
	return owner.sort == word && slices.Contains([]string{"our", "my", "the", "this", "their", "your", "a", "an", "new"}, owner.norm) &&
		thing.sort == word && slices.Contains([]string{"server", "site", "website", "host", "box", "instance", "app", "application", "machine", "blog", "shop", "installation", "service", "deployment", "web"}, thing.norm)
}

// addTo adds the values that a list does not have: to one of the two lists, the second when they are not wanted.
func addTo(wanted, unwanted *[]string, negated bool, values ...string) {
	list := wanted
	if negated {
		list = unwanted
	}
	for _, value := range values {
		if !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
}

func (b *builder) addTags(tags []string, negated bool) {
	addTo(&b.plan.Tags, &b.plan.NotTags, negated, tags...)
}

func (b *builder) addIDs(ids []string, negated bool) {
	addTo(&b.plan.IDs, &b.plan.NotIDs, negated, ids...)
}

// pathHint takes a path without a host: a place to leave alone, or a hint at a check.
func (b *builder) pathHint(i int) {
	t := &b.tokens[i]
	if t.shunned {
		t.consumed = true
		b.exclude(agent.Target{Raw: t.text, Kind: agent.KindPath, Path: t.text})
		return
	}
	for _, part := range strings.FieldsFunc(strings.ToLower(t.text), func(r rune) bool { return r == '/' || r == '?' }) {
		for _, name := range []string{part, part[max(strings.LastIndexByte(part, '.'), 0):]} {
			if e, ok := lexicon()[fold(name)]; ok && e.role == wants {
				t.consumed = true
				b.addTags(e.values, t.negated)
			}
		}
	}
}

// settle decides what is checked once everything is known.
func (b *builder) settle() {
	p := &b.plan
	for _, w := range b.tokens {
		b.also = b.also || w.sort == word && slices.Contains([]string{"especially", "particularly", "particular", "including", "also", "include", "plu"}, w.norm)
	}
	p.Tags = slices.DeleteFunc(p.Tags, func(tag string) bool { return slices.Contains(p.NotTags, tag) })
	p.IDs = slices.DeleteFunc(p.IDs, func(id string) bool { return slices.Contains(p.NotIDs, id) })
	slices.Sort(p.Tags)
	slices.Sort(p.NotTags)
	slices.Sort(p.Ports)
	p.Ports = slices.DeleteFunc(slices.Compact(p.Ports), func(n int) bool {
		return slices.ContainsFunc(p.Excluded, func(x agent.Target) bool { return x.Kind == agent.KindPort && x.Port == n })
	})
	particular := len(p.Tags) > 0 || len(p.IDs) > 0
	p.FullCheck = b.full || !particular && !b.notAll && !b.onlyBeyond() || b.general && b.also
	for _, key := range refusalOrder {
		if slices.Contains(b.beyond, key) {
			b.refuse(refusals[key])
		}
	}
	if len(p.Targets) == 0 {
		p.Targets, p.FullCheck = []agent.Target{}, false
		p.NotUnderstood = append([]string{b.missing()}, p.NotUnderstood...)
	} else if !particular && !p.FullCheck {
		p.Targets = []agent.Target{}
		p.NotUnderstood = append([]string{"Nothing that I can check was asked for: name a check, or ask for a full check."}, p.NotUnderstood...)
	}
}

// onlyBeyond reports whether all that was asked for is something that is not done: then
// nothing else is done in its stead. "Scan a.com and find its subdomains" asks for more.
func (b *builder) onlyBeyond() bool {
	tests := slices.ContainsFunc(b.beyond, func(key string) bool { return key != "deliver" })
	return tests && !b.general && !b.full && !b.plainScan()
}

// plainScan reports whether a target is to be scanned without a word about what for.
func (b *builder) plainScan() bool {
	for i, t := range b.tokens {
		if t.sort != place || t.shunned || !slices.Contains([]string{"scan", "check", "assess", "audit", "review", "examine"}, b.at(i-1).norm) {
			continue
		}
		if next := b.at(i + 1); next.sort != word || !slices.Contains([]string{"for", "against", "with", "using", "by", "via"}, next.norm) {
			return true
		}
	}
	return false
}

func (b *builder) missing() string {
	switch {
	case b.broken:
		return "Nothing is tested, because a part of the instruction that limits the scope could not be taken in full."
	case len(b.plan.Excluded) > 0:
		return "No target is left once the exclusions are taken out: name what to test, such as https://www.example.com or 192.0.2.10."
	}
	return "There is no target: name what to test, such as https://www.example.com or 192.0.2.10."
}
