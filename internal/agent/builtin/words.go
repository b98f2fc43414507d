package builtin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

func (b *builder) leftovers() {
	for i := 0; i < len(b.tokens); {
		j, meaningful := i, false
		for ; j < len(b.tokens) && b.unused(j); j++ {
			meaningful = meaningful || b.meaningful(j)
		}
		if meaningful {
			b.notUnderstood(b.phrase(i, j), "")
		}
		i = max(j, i+1)
	}
}

// phrase is the text of tokens i to j, without fillers at its ends.
func (b *builder) phrase(i, j int) string {
	for !b.meaningful(i) {
		i++
	}
	for !b.meaningful(j - 1) {
		j--
	}
	var words []string
	for _, t := range b.tokens[i:min(j, i+maxQuote)] {
		words = append(words, t.text)
	}
	return strings.Join(words, " ")
}

func (b *builder) unused(i int) bool {
	t := b.tokens[i]
	return !t.consumed && (t.kind == word || t.kind == targetLike || t.kind == path)
}

func (b *builder) meaningful(i int) bool {
	t := b.tokens[i]
	if t.kind != word {
		return true
	}
	_, known := lexicon()[t.norm]
	return !known && !actionWords()[stemAction(t.norm)] && t.norm != "" && !listMark().MatchString(t.text) &&
		!numberShape().MatchString(t.norm)
}

func (b *builder) describe() {
	p := &b.plan
	if len(p.Targets) == 0 {
		return
	}
	on := " on " + names(p.Targets)
	say := func(format string, args ...any) { p.Understood = append(p.Understood, fmt.Sprintf(format, args...)) }
	switch {
	case p.FullCheck && !b.full && !b.general:
		say(agent.AllChecks+", so I will run all of them%s.", on)
	case p.FullCheck:
		say("I will run every check%s.", on)
	case len(p.Tags) > 0:
		say("I will look for %s%s.", list(called(p.Tags)), on)
	}
	if len(p.IDs) > 0 && !p.FullCheck {
		say("I will check for %s%s.", list(p.IDs), on)
	}
	if n := append(slices.Clone(p.NotTags), p.NotIDs...); len(n) > 0 {
		say("I will leave out the checks for %s.", list(called(n)))
	}
	if p.Writes && p.TestsWeb() {
		say("Tests of web applications may write test data.")
	}
	if len(p.Excluded) > 0 {
		say("I will not touch %s.", names(p.Excluded))
	}
	if len(p.Ports) > 0 {
		var numbers []string
		for _, n := range p.Ports {
			numbers = append(numbers, strconv.Itoa(n))
		}
		say("Where no port is named I will use %s.", list(numbers))
	}
	if len(p.Severities) > 0 {
		say("I will report only what is %s.", strings.ReplaceAll(list(p.Severities), " and ", " or "))
	}
	p.Understood = append(p.Understood, p.Access.Sentences()...)
	if p.RateLimit > 0 {
		say("I will send at most %g requests a second.", p.RateLimit)
	}
	if p.TimeLimit > 0 {
		say("I will stop after %d seconds.", p.TimeLimit)
	}
}

var tagWords = map[string]string{
	"exposure": "exposed files", "listing": "directory listings", "vcs": "version control folders", "backup": "backups",
	"config": "configuration files and secrets", "panel": "admin and login panels", "headers": "security headers",
	"cookies": "cookie flags", "cors": "CORS", "tls": "TLS", "version": "version disclosure",
	"default-page": "default pages",
	"debug":        "debug pages", "status-page": "status pages", "cmdi": "command injection", "nosqli": "NoSQL injection",
	"logic": "business logic", "access": "broken access control", "upload": "file uploads", "crlf": "header injection",
	"deserialization": "deserialisation", "webcache": "cache poisoning and deception",
	"hostheader": "host header injection", "ldapi": "LDAP injection", "xpathi": "XPath injection", "jwt": "JWT",
	"csrf": "CSRF",
	"xxe":  "XXE",
}

func called(tags []string) []string {
	words := make([]string, len(tags))
	for i, tag := range tags {
		words[i] = cmp.Or(tagWords[tag], tag)
	}
	return words
}

func names(targets []agent.Target) string {
	var all []string
	for _, t := range targets {
		name := t.String()
		if t.Kind == agent.KindCIDR || t.Kind == agent.KindIP && !strings.Contains(t.Raw, t.Host) {
			name = t.Raw // a part of what was named
		}
		if t.Kind == agent.KindPort {
			name = fmt.Sprintf("port %d", t.Port)
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
		if len(all) > 1000 {
			break
		}
	}
	return list(all)
}

// list joins words with commas and "and"; of more than eight it names six.
func list(words []string) string {
	if n := len(words); n > 8 {
		words = append(slices.Clone(words[:6]), fmt.Sprintf("%d more", n-6))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
