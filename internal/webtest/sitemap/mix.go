package sitemap

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Addresses of one shape are one kind of page. These rules know pages that are alike beyond that:
//
//   - A list with ten switches has a thousand combinations of parameters, and each page of it links to more. Links to
//     one script with the same words as values are a mix: once some combinations of known parameters in a row have
//     given nothing new, the others are left out.
//   - The same goes where a word of one parameter, such as a filter, changes nothing in how the page is built.
//   - Pages in one folder that differ in the last word of the path, such as articles, are alike after many.
//   - A list with several filters has a thousand combinations of their words, too. Once each word of a link stood in
//     some addresses in a row that gave nothing new, their combination is left out.
//
// A time in words, such as "02:45, 28 November 2026", is no word: it is another each time.
const (
	alikeMixes  = 3  // combinations in a row without a new parameter or structure
	alikeWords  = 5  // words of one parameter
	alikeEach   = 5  // addresses in a row with one word
	alikeNames  = 25 // last words of paths
	wordLayouts = 3  // structures that pages have at most if a parameter does not choose them
)

// mix is what is known of addresses that may be alike.
type mix struct {
	names     map[string]bool // of parameters
	words     map[string]bool // of the parameter that is left open
	skeletons map[string]bool
	stale     int // in a row without a new name or structure
}

// mixKey is one of the groups that an address belongs to.
type mixKey struct {
	key   string
	word  string            // of the parameter that is left open, whose word is not in the key; "" for none
	isFor func(m *mix) bool // that the members are alike
	each  bool              // that they are alike counts where those of all other words are, too
}

// mixKeys are the groups that a request belongs to, and the names of its parameters.
func mixKeys(r *message.Request) (keys []mixKey, names []string) {
	if r.Method != http.MethodGet || r.After != nil {
		return nil, nil
	}
	at := r.URL.Host + message.PathShape(r.URL.EscapedPath())
	if r.URL.RawQuery == "" {
		if path.Ext(r.URL.Path) != "" || strings.HasSuffix(r.URL.Path, "/") {
			return nil, nil
		}
		return []mixKey{{key: r.URL.Host + path.Dir(r.URL.Path) + "/*",
			isFor: func(m *mix) bool { return m.stale >= alikeNames }}}, nil
	}
	words := map[string]string{}
	for _, p := range message.Places(r) {
		if p.Component != message.Query {
			continue
		}
		names = append(names, p.Name)
		if strings.ContainsFunc(p.Value, unicode.IsLetter) && !isTime(p.Value) {
			words[p.Name] = p.Value
		}
	}
	but := func(open string) string {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(words)) {
			if name != open {
				all = append(all, name+"="+words[name])
			}
		}
		return at + "?" + strings.Join(all, "&")
	}
	keys = []mixKey{{key: but(""), isFor: func(m *mix) bool { return m.stale >= alikeMixes }}}
	chosen := Choice(r, "")
	for name, word := range words {
		keys = append(keys, mixKey{key: at + chosen + " each " + name + "=" + word, each: true,
			isFor: func(m *mix) bool { return m.stale >= alikeEach }})
		if slices.Contains(choosing, strings.ToLower(name)) {
			continue
		}
		keys = append(keys, mixKey{key: but(name) + " " + name, word: word, isFor: func(m *mix) bool {
			return m.stale >= alikeWords && len(m.words) >= alikeWords && len(m.skeletons) <= wordLayouts
		}})
	}
	return keys, names
}

// isTime reports whether a value with letters is a time or the like: it has more digits than letters, and several.
func isTime(value string) bool {
	digits, letters := 0, 0
	for _, r := range value {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits >= timeDigits && digits > letters
}

const timeDigits = 6

// mixed notes the answer to a request; known is how many requests were queued before it was read.
func (c *crawler) mixed(r *message.Request, response *message.Response, skeleton string, known int) {
	keys, names := mixKeys(r)
	for _, k := range keys {
		if r.URL.RawQuery == "" && response.Status != http.StatusOK {
			continue // what is not there says nothing of its folder
		}
		m := c.mixes[k.key]
		if m == nil {
			m = &mix{names: map[string]bool{}, words: map[string]bool{}, skeletons: map[string]bool{}}
			c.mixes[k.key] = m
		}
		isNew := !m.skeletons[skeleton] || r.URL.RawQuery == "" && c.leadsOn(known, k.key)
		m.skeletons[skeleton], m.words[k.word] = true, true
		for _, name := range names {
			isNew = isNew || !m.names[name]
			m.names[name] = true
		}
		m.stale++
		if isNew {
			m.stale = 0
		}
	}
}

// leadsOn reports whether something of a new shape was queued since so many were, that is not of a group itself: a page
// with a form of its own is not like those beside it, however it looks.
func (c *crawler) leadsOn(known int, group string) bool {
	return slices.ContainsFunc(c.queue, func(it *item) bool {
		if it.order <= known || c.shapes[it.Request.Shape()] != nil {
			return false
		}
		keys, _ := mixKeys(it.Request)
		return !slices.ContainsFunc(keys, func(k mixKey) bool { return k.key == group })
	})
}

// isAbsent reports whether a link, or a form, leads to what all addresses answer that are not there. Some sites have a
// page with forms for them, and links that go astray further on each. A few are kept.
func (c *crawler) isAbsent(e *Entry, response *message.Response, skeleton string) bool {
	if response.Status != http.StatusNotFound || !response.IsHTML() || e.How != ByLink && e.How != ByForm {
		return false
	}
	key := e.Request.URL.Host + skeleton
	if e.How == ByLink && e.Request.URL.RawQuery == "" {
		c.absent[key]++
	}
	return c.absent[key] > perKey
}

// isMixed reports whether a link leads to a page that is like others by these rules.
func (c *crawler) isMixed(e *Entry) bool {
	if e.How != ByLink {
		return false
	}
	keys, names := mixKeys(e.Request)
	words, alike := 0, 0
	for _, k := range keys {
		m := c.mixes[k.key]
		isAlike := m != nil && k.isFor(m) && !slices.ContainsFunc(names, func(name string) bool { return !m.names[name] })
		switch {
		case isAlike && !k.each:
			return true
		case isAlike:
			alike++
		}
		if k.each {
			words++
		}
	}
	return words > 0 && alike == words
}

// choosing are parameters whose values choose what an application does.
var choosing = []string{"action", "act", "do", "op", "page", "view", "module", "option", "task", "controller", "c", "m",
	"route", "r", "p", "cmd", "mode", "method", "func", "tab", "section", "type"}

// Choice are the values of a request that choose what is done, if they are words, but for those of one name. The path
// of a page in a form with a password is no choice: some applications show their login in place of each page, and keep
// in it where to go after that.
func Choice(r *message.Request, but string) string {
	chosen := map[string]bool{}
	for _, p := range message.Places(r) {
		if p.Component == message.Body && r.Passwords > 0 && strings.Contains(p.Value, "/") {
			continue
		}
		if p.Name != but && (p.Component == message.Query || p.Component == message.Body) && isWord(p.Value) &&
			slices.Contains(choosing, strings.ToLower(p.Name)) {
			chosen[p.Name+"="+p.Value] = true
		}
	}
	return " " + strings.Join(slices.Sorted(maps.Keys(chosen)), "&")
}

func isWord(text string) bool {
	return text != "" && len(text) < 40 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' && r != '/' && r != '.'
	})
}
