// Package builtin makes a plan from an instruction in plain English without a language model: from the targets,
// intents, CVE ids, technologies, severities and limits that it recognises. It reports what it does not recognise.
//
// It reads logins, whether tests may write, and rate and time limits first, then tokens (lex.go), what is wanted and
// what is excluded (polarity.go), then ports, severities, checks and targets, and reports what is left over.
package builtin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/agent"
)

// MaxInstruction is how many bytes of an instruction are read.
const MaxInstruction = 64 << 10

// Plan reads an instruction. Any bytes give a plan, the same bytes always the same one. Every target is in the
// instruction, and none that it excludes; in doubt a target is left out.
func Plan(instruction string) agent.Plan { return build(instruction).plan }

// Rules reads what an agent is told for all its tasks. Its targets are kept only with targets: those that a person
// wrote for themselves.
func Rules(name, text string, targets bool) agent.Rules {
	b := build(text)
	r := agent.Rules{Plan: b.plan, Agent: name, Blocked: b.blocked}
	if len(b.plan.Targets) == 0 {
		r.NotUnderstood = slices.DeleteFunc(slices.Clone(r.NotUnderstood),
			func(note string) bool { return !strings.HasPrefix(note, "“") }) // that there is nothing to test
	}
	if r.Writes { // rules restrict; only a task's scope or instruction allows more
		r.Writes = false
		r.NotUnderstood = append(slices.Clone(r.NotUnderstood), "“tests may write test data”")
	}
	if targets {
		r.Targets = b.plan.Targets
	}
	r.Plan.Targets = nil
	return r
}

func build(instruction string) *builder {
	b := &builder{known: map[agent.Target]bool{}, noted: map[string]bool{}}
	b.plan.Targets = []agent.Target{}
	text := cutAtRune(instruction, MaxInstruction)
	if len(text) < len(instruction) {
		b.plan.NotUnderstood = append(b.plan.NotUnderstood, fmt.Sprintf(
			"The instruction is longer than %d KiB; the rest was not read, so nothing is tested: shorten it.",
			MaxInstruction>>10))
		b.blocked = true
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\x00", " "), "\uFFFD")
	text = b.limits(b.writes(b.access(text)))
	r := classifier{tokens: lex(text)}
	r.run()
	b.tokens = r.tokens
	b.ports()
	b.severities()
	b.checks()
	b.splitTargets()
	b.scope()
	b.leftovers()
	b.decide()
	b.describe()
	return b
}

type builder struct {
	tokens

	plan        agent.Plan
	known       map[agent.Target]bool // targets and exclusions, without Raw
	noted       map[string]bool       // notes
	unsupported []string              // keys of refusals
	full        bool                  // everything was asked for
	general     bool                  // everything was asked for, in passing
	notAll      bool                  // everything was excluded from checking
	also        bool                  // particular checks are examples of all
	blocked     bool                  // an exclusion was not understood: nothing may be tested
}

const maxNotes = 30

// notUnderstood notes a phrase that was not used.
func (b *builder) notUnderstood(phrase, why string) {
	note := quote(phrase)
	if why != "" {
		note += ": " + why + "."
	}
	if b.noted[note] || len(b.plan.NotUnderstood) > maxNotes {
		return
	}
	b.noted[note] = true
	if len(b.plan.NotUnderstood) == maxNotes {
		note = "There is more that I did not understand."
	}
	b.plan.NotUnderstood = append(b.plan.NotUnderstood, note)
}

func (b *builder) notDone(note string) {
	if !b.noted[note] && len(b.plan.NotDone) < maxNotes {
		b.noted[note] = true
		b.plan.NotDone = append(b.plan.NotDone, note)
	}
}

// maxQuote bounds one quotation of the instruction, in characters.
const maxQuote = 120

// quote quotes a phrase on one line, bounded, without invisible characters.
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

// checks finds the phrases of the lexicon and CVE ids.
func (b *builder) checks() {
	for i := 0; i < len(b.tokens); {
		switch t := &b.tokens[i]; t.kind {
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
		// An adjective counts only when it does not belong to what follows.
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
	case unsupported:
		if !negated && !slices.Contains(b.unsupported, found.values[0]) {
			b.unsupported = append(b.unsupported, found.values[0])
		}
	}
	return n
}

func (b *builder) lookup(i int) (n int, found entry) {
	joined := ""
	for j := 0; j < maxPhrase && b.at(i+j).kind == word && (j > 0 || lexiconStarts()[b.at(i).norm]); j++ {
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

// describes reports whether a product's name only describes a target ("our nginx server at …") and is not to be found
// ("find Jenkins servers").
func (b *builder) describes(i, n int) bool {
	owner := b.at(i - 1)
	thing := b.at(i + n)
	return owner.kind == word && slices.Contains([]string{"our", "my", "the", "this", "their", "your", "a", "an", "new"},
		owner.norm) &&
		thing.kind == word && slices.Contains([]string{"server", "site", "website", "host", "box", "instance", "app",
		"application", "machine", "blog", "shop", "installation", "service", "deployment", "web"}, thing.norm)
}

// addTo adds new values to the first list, or to the second when they are not wanted.
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

// pathHint uses a path without a host: an exclusion, or a hint at a check.
func (b *builder) pathHint(i int) {
	t := &b.tokens[i]
	if t.excluded {
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

func (b *builder) decide() {
	p := &b.plan
	for _, w := range b.tokens {
		b.also = b.also || w.kind == word &&
			slices.Contains([]string{"especially", "particularly", "particular", "including", "also", "include", "plu"}, w.norm)
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
	if !p.Access.Empty() && len(b.unsupported) > 0 {
		b.unsupported = slices.DeleteFunc(b.unsupported, func(key string) bool { return key == "login" })
	}
	p.FullCheck = b.full || !particular && !b.notAll && !b.onlyUnsupported() || b.general && b.also
	for _, key := range refusalOrder {
		if slices.Contains(b.unsupported, key) {
			b.notDone(refusals[key])
		}
	}
	if len(p.Targets) == 0 {
		p.Targets, p.FullCheck = []agent.Target{}, false
		p.NotUnderstood = append([]string{b.missing()}, p.NotUnderstood...)
	} else if !particular && !p.FullCheck {
		p.Targets = []agent.Target{}
		p.NotUnderstood = append([]string{"Nothing that I can check was asked for: name a check, or ask for a full check."},
			p.NotUnderstood...)
	}
}

// onlyUnsupported reports whether nothing but unsupported things were asked for: then nothing is done instead. "Scan
// a.com and find its subdomains" asks for more.
func (b *builder) onlyUnsupported() bool {
	tests := slices.ContainsFunc(b.unsupported, func(key string) bool { return key != "deliver" })
	return tests && !b.general && !b.full && !b.plainScan()
}

// plainScan reports whether a target is to be scanned and the instruction does not say for what.
func (b *builder) plainScan() bool {
	for i, t := range b.tokens {
		if t.kind != targetLike || t.excluded ||
			!slices.Contains([]string{"scan", "check", "assess", "audit", "review", "examine"}, b.at(i-1).norm) {
			continue
		}
		if next := b.at(i + 1); next.kind != word ||
			!slices.Contains([]string{"for", "against", "with", "using", "by", "via"}, next.norm) {
			return true
		}
	}
	return false
}

func (b *builder) missing() string {
	switch {
	case b.blocked:
		return "Nothing is tested, because a part of the instruction that limits the scope could not be taken in full."
	case len(b.plan.Excluded) > 0:
		return "No target is left once the exclusions are taken out: name what to test, such as https://www.example.com or 192.0.2.10."
	}
	return agent.NoTarget + ": name what to test, such as https://www.example.com or 192.0.2.10."
}
