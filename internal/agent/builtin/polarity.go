package builtin

import (
	"slices"
	"strings"
)

// reader goes through the tokens and decides for each whether what it names is wanted,
// not wanted, or not to be touched. When in doubt a target is left alone: a plan that
// tests too little can be repeated, one that tests too much cannot be taken back.
type reader struct {
	tokens

	now   mood
	outer []mood // the moods around open brackets
	// checking is set within "make sure that there is no …", where a negation describes
	// what to look for.
	checking bool
}

// mood is what holds from a cue on.
type mood struct {
	shun    bool // targets are not to be touched
	negate  bool // checks are not wanted
	mention bool // targets are only mentioned
	heading bool // the cue heads a list: it holds until another heading
	object  bool // something was named since the cue
	check   bool // what was named was a check: "but not phpMyAdmin"
}

func (r *reader) run() {
	for i := 0; i < len(r.tokens); {
		i += r.step(i)
	}
}

// step handles the token at i and returns how many tokens it took.
func (r *reader) step(i int) int {
	t := &r.tokens[i]
	switch t.sort {
	case stop:
		r.sentenceEnd(i)
	case newline, blank:
		r.lineEnd(i)
	case open:
		r.outer = append(r.outer, r.now)
	case closing:
		if n := len(r.outer); n > 0 {
			r.now, r.outer = r.outer[n-1], r.outer[:n-1]
		}
	case word:
		return r.word(i)
	case place, path, cve:
		r.mark(i)
		r.now.object = true
	}
	return 1
}

func (r *reader) mark(i int) {
	t := &r.tokens[i]
	t.shunned, t.negated, t.mention = r.now.shun, r.now.negate, r.now.mention
	t.loose = r.now.shun && r.now.check && !r.now.heading && placeWords()[r.wordAt(i-1)]
}

func (r *reader) word(i int) int {
	if n := r.phraseAt(i, neutralPhrases()); n > 0 {
		r.consume(i, n)
		return n
	}
	if n := r.phraseAt(i, checkPhrases()); n > 0 {
		r.checking = true
		r.contrast(i)
		return n
	}
	if n := r.phraseAt(i, mentionPhrases()); n > 0 && r.leadsToPlace(i+n) {
		r.consume(i, n)
		r.now = mood{mention: true, shun: r.now.shun, heading: r.headed(i, n)}
		return n
	}
	if n := r.cue(i); n > 0 {
		return n
	}
	r.contrast(i)
	r.mark(i)
	if e, known := lexicon()[r.tokens[i].norm]; known && e.role != filler {
		r.now.object, r.now.check = true, true
	}
	return 1
}

// cue handles the words that exclude, and returns how many they are.
func (r *reader) cue(i int) int {
	if n := r.phraseAt(i, behindPhrases()); n > 0 {
		r.consume(i, n)
		if r.headed(i, n) || !r.shunBehind(i) || r.at(i-1).sort == place {
			r.now = mood{shun: true, negate: true, heading: r.headed(i, n)}
		} else {
			r.now.object = true
		}
		return n
	}
	if n := r.phraseAt(i, shunPhrases()); n > 0 {
		r.consume(i, n)
		if (r.wordAt(i+n) == "be" || r.remark(i, n)) && r.shunBehind(i) {
			r.now.object = true
			return n
		}
		r.now = mood{shun: true, negate: !r.checking, heading: r.headed(i, n)}
		return n
	}
	if n := r.phraseAt(i, statePhrases()); n > 0 {
		// "is not exposed" says what to look for, "is not to be scanned" excludes.
		if act := r.actAhead(i+n, 4); act > 0 {
			r.consume(i, n)
			if !r.shunBehind(i) {
				r.now = mood{shun: true, negate: true}
			}
			return n + act
		}
		return n
	}
	switch r.tokens[i].norm {
	case "but":
		// "everything in 10.0.0.0/24 but 10.0.0.5"
		if !r.now.shun && !r.now.negate && r.leadsToPlace(i+1) && r.earlier(i, wholeWords()) {
			r.consume(i, 1)
			r.now = mood{shun: true, negate: true}
			return 1
		}
	case "from":
		// "exclude 10.0.0.5 from 10.0.0.0/24"
		if r.now.shun && r.now.object && r.leadsToPlace(i+1) {
			r.now = mood{}
			return 1
		}
	case "no", "without":
		n := 1
		direct := r.leadsToPlace(i + 1)
		act := r.wordAt(i) == "without" && r.actAhead(i+1, 1) > 0
		search := r.checking || r.earlier(i, searchWords())
		if direct || act || !search {
			r.consume(i, n)
			r.now = mood{shun: direct || act, negate: !r.checking}
		}
		return n
	}
	return 0
}

// remark reports whether the cue is a remark on the target before it: "a.com (do not
// touch)", "a.com - never scan this".
func (r *reader) remark(i, n int) bool {
	before := r.at(i - 1)
	if before.sort != open && before.sort != colon && before.text != "-" && before.text != "–" && before.text != "—" && before.text != "|" {
		return false
	}
	for j := i + n; j < i+n+5; j++ {
		switch r.at(j).sort {
		case word:
		case place, path, colon:
			return false
		default:
			return true
		}
	}
	return false
}

// contrast ends a negation at the words that turn from what is not wanted to what is.
func (r *reader) contrast(i int) {
	w := r.tokens[i].norm
	switch {
	case !r.now.shun && !r.now.negate && !r.now.mention:
	case turnWords()[w]:
		r.now = mood{}
	case actWords()[w] && r.now.object && !r.now.heading && i > 0 && joins(r.tokens[i-1]):
		r.now = mood{}
	}
}

func joins(t token) bool {
	return t.sort == comma || t.sort == newline || t.sort == word && slices.Contains([]string{"and", "then", "please", "also"}, t.norm)
}

// sentenceEnd ends what was said, unless a list goes on: "a.com; b.com", or items that
// each end in a dot.
func (r *reader) sentenceEnd(i int) {
	next := r.at(i + 1)
	switch {
	case r.now.heading && (next.sort == newline || next.sort == blank):
	case r.tokens[i].text == ";" && r.at(i-1).sort == place && (next.sort == place || next.sort == word && next.norm == "and"):
	default:
		r.now, r.checking, r.outer = mood{}, false, nil
	}
}

// lineEnd ends what was said when the next line starts something new; a line that was
// merely wrapped goes on.
func (r *reader) lineEnd(i int) {
	next := r.at(i + 1)
	r.checking = false
	switch {
	case r.now.heading && next.sort == bullet:
		return
	case r.tokens[i].sort == blank && r.now.heading && !r.now.object:
		return
	case r.tokens[i].sort == blank, next.sort == bullet, r.headingAt(i + 1), next.sort == word && actWords()[next.norm]:
		r.now, r.outer = mood{}, nil
	}
}

// headingAt reports whether a line such as "Targets:" or "ports: 80" starts at i.
func (r *reader) headingAt(i int) bool {
	for n := range 3 {
		if r.at(i+n).sort != word {
			return false
		}
		if r.at(i+n+1).sort == colon {
			return headingWords()[r.at(i+n).norm]
		}
	}
	return false
}

// headed reports whether the n words at i head a list: a colon follows, or the line ends.
func (r *reader) headed(i, n int) bool {
	for j := i + n; j < i+n+7; j++ {
		switch t := r.at(j); t.sort {
		case colon:
			return true
		case newline, blank:
			return r.at(j+1).sort == bullet
		case word:
		default:
			return false
		}
	}
	return false
}

// shunBehind marks the targets that a cue follows: "a.com and b.com are off limits".
func (r *reader) shunBehind(i int) bool {
	several := true
	j := i - 1
	for ; j >= 0 && j >= i-6; j-- {
		t := r.at(j)
		if t.sort == word && linkWords()[t.norm] {
			several = several && t.norm != "is" && t.norm != "stays" && t.norm != "remain"
			continue
		}
		if t.sort == open || t.sort == colon || t.sort == bullet || t.text == "-" || t.text == "–" || t.text == "—" || t.text == "|" {
			several = false
			continue
		}
		break
	}
	found, joined := false, true
	for ; j >= 0; j-- {
		switch t := &r.tokens[j]; {
		case joined && (t.sort == place || t.sort == path):
			t.shunned, found, joined = true, true, false
			if !several {
				return true
			}
		case found && (t.sort == comma || t.sort == word && (t.norm == "and" || t.norm == "or" || t.norm == "nor")):
			joined = true
		default:
			return found
		}
	}
	return found
}

// actAhead returns the position behind the first word within the next n that says what
// must not be done, or 0 when there is none.
func (r *reader) actAhead(i, n int) int {
	for j := range n {
		t := r.at(i + j)
		if t.sort != word {
			return 0
		}
		if actWords()[stemAct(t.norm)] || scopeWords()[t.norm] {
			return j + 1
		}
	}
	return 0
}

// stemAct brings "scanned" and "touching" back to "scan" and "touch".
func stemAct(w string) string {
	for _, end := range []string{"ing", "ed"} {
		stem, ok := strings.CutSuffix(w, end)
		if !ok || len(stem) < 2 {
			continue
		}
		if actWords()[stem] {
			return stem
		}
		if actWords()[stem+"e"] {
			return stem + "e"
		}
		if n := len(stem); stem[n-1] == stem[n-2] {
			return stem[:n-1]
		}
	}
	return w
}

// leadsToPlace reports whether a target follows at once, but for articles.
func (r *reader) leadsToPlace(i int) bool {
	for j := i; j < i+4; j++ {
		switch t := r.at(j); {
		case t.sort == place:
			return true
		case t.sort == colon || t.sort == open || t.sort == comma && t.text != ",":
		case t.sort == word && articles()[t.norm]:
		default:
			return false
		}
	}
	return false
}

// earlier reports whether a word of the table stands earlier in the sentence: after
// "find", "pages without security headers" is what to find.
func (r *reader) earlier(i int, table map[string]bool) bool {
	for j := i - 1; j >= 0 && r.tokens[j].sort != stop && r.tokens[j].sort != blank; j-- {
		if r.tokens[j].sort == word && table[r.tokens[j].norm] {
			return true
		}
	}
	return false
}

// phraseAt returns how many words of the longest phrase of the table stand at i, 0 when none.
func (r *reader) phraseAt(i int, table phrases) int {
	if !table.first[r.wordAt(i)] {
		return 0
	}
	n, joined := 0, ""
	for j := 0; j < maxPhrase && r.at(i+j).sort == word; j++ {
		joined = strings.TrimPrefix(joined+" "+r.tokens[i+j].norm, " ")
		if table.whole[joined] {
			n = j + 1
		}
	}
	return n
}

func (r *reader) wordAt(i int) string { return r.at(i).norm }
