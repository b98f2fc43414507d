package builtin

import (
	"slices"
	"strings"
)

// classifier decides for each token whether it is wanted, not wanted, or excluded. In doubt a target is excluded: a
// plan that tests too little can be repeated.
type classifier struct {
	tokens

	now       state
	enclosing []state // states around open brackets
	// checking is set within "make sure that there is no …", where a negation says what to look for.
	checking bool
}

// state holds from a cue to the next.
type state struct {
	exclude bool // targets are excluded
	negate  bool // checks are not wanted
	mention bool // targets are only mentioned
	heading bool // the cue heads a list and holds until the next heading
	object  bool // something was named since the cue
	check   bool // that was a check: "but not phpMyAdmin"
}

func (r *classifier) run() {
	for i := 0; i < len(r.tokens); {
		i += r.step(i)
	}
}

// step handles the token at i and returns the number of tokens it used.
func (r *classifier) step(i int) int {
	t := &r.tokens[i]
	switch t.kind {
	case stop:
		r.sentenceEnd(i)
	case newline, blank:
		r.lineEnd(i)
	case open:
		r.enclosing = append(r.enclosing, r.now)
	case closing:
		if n := len(r.enclosing); n > 0 {
			r.now, r.enclosing = r.enclosing[n-1], r.enclosing[:n-1]
		}
	case word:
		return r.word(i)
	case targetLike, path, cve:
		r.mark(i)
		r.now.object = true
	}
	return 1
}

func (r *classifier) mark(i int) {
	t := &r.tokens[i]
	t.excluded, t.negated, t.mention = r.now.exclude, r.now.negate, r.now.mention
	t.loose = r.now.exclude && r.now.check && !r.now.heading && targetPrepositions()[r.wordAt(i-1)]
}

func (r *classifier) word(i int) int {
	if n := r.phraseAt(i, neutralPhrases()); n > 0 {
		r.consume(i, n)
		return n
	}
	if n := r.phraseAt(i, checkPhrases()); n > 0 {
		r.checking = true
		r.contrast(i)
		return n
	}
	if n := r.phraseAt(i, mentionPhrases()); n > 0 && r.targetFollows(i+n) {
		r.consume(i, n)
		r.now = state{mention: true, exclude: r.now.exclude, heading: r.headed(i, n)}
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

// cue handles the words that exclude, and returns their number.
func (r *classifier) cue(i int) int {
	if n := r.phraseAt(i, suffixPhrases()); n > 0 {
		r.consume(i, n)
		if r.headed(i, n) || !r.excludeBefore(i) || r.at(i-1).kind == targetLike {
			r.now = state{exclude: true, negate: true, heading: r.headed(i, n)}
		} else {
			r.now.object = true
		}
		return n
	}
	if n := r.phraseAt(i, excludePhrases()); n > 0 {
		r.consume(i, n)
		if (r.wordAt(i+n) == "be" || r.remark(i, n)) && r.excludeBefore(i) {
			r.now.object = true
			return n
		}
		r.now = state{exclude: true, negate: !r.checking, heading: r.headed(i, n)}
		return n
	}
	if n := r.phraseAt(i, statePhrases()); n > 0 {
		// "is not exposed" says what to look for; "is not to be scanned" excludes.
		if act := r.actionAhead(i+n, 4); act > 0 {
			r.consume(i, n)
			if !r.excludeBefore(i) {
				r.now = state{exclude: true, negate: true}
			}
			return n + act
		}
		return n
	}
	switch r.tokens[i].norm {
	case "but":
		// "everything in 10.0.0.0/24 but 10.0.0.5"
		if !r.now.exclude && !r.now.negate && r.targetFollows(i+1) && r.earlier(i, wholeWords()) {
			r.consume(i, 1)
			r.now = state{exclude: true, negate: true}
			return 1
		}
	case "from":
		// "exclude 10.0.0.5 from 10.0.0.0/24"
		if r.now.exclude && r.now.object && r.targetFollows(i+1) {
			r.now = state{}
			return 1
		}
	case "no", "without":
		n := 1
		direct := r.targetFollows(i + 1)
		act := r.wordAt(i) == "without" && r.actionAhead(i+1, 1) > 0
		search := r.checking || r.earlier(i, searchWords())
		if direct || act || !search {
			r.consume(i, n)
			r.now = state{exclude: direct || act, negate: !r.checking}
		}
		return n
	}
	return 0
}

// remark reports whether the cue is about the target before it: "a.com (do not touch)", "a.com - never scan this".
func (r *classifier) remark(i, n int) bool {
	before := r.at(i - 1)
	if before.kind != open && before.kind != colon && !before.isDash() {
		return false
	}
	for j := i + n; j < i+n+5; j++ {
		switch r.at(j).kind {
		case word:
		case targetLike, path, colon:
			return false
		default:
			return true
		}
	}
	return false
}

func (t token) isDash() bool { return slices.Contains([]string{"-", "–", "—", "|"}, t.text) }

// contrast ends a negation at a word such as "but" or "only".
func (r *classifier) contrast(i int) {
	w := r.tokens[i].norm
	switch {
	case !r.now.exclude && !r.now.negate && !r.now.mention:
	case contrastWords()[w]:
		r.now = state{}
	case actionWords()[w] && r.now.object && !r.now.heading && i > 0 && joins(r.tokens[i-1]):
		r.now = state{}
	}
}

func joins(t token) bool {
	return t.kind == comma || t.kind == newline || t.kind == word &&
		slices.Contains([]string{"and", "then", "please", "also"}, t.norm)
}

// sentenceEnd resets the state, unless a list goes on: "a.com; b.com", or items that end in a dot.
func (r *classifier) sentenceEnd(i int) {
	next := r.at(i + 1)
	switch {
	case r.now.heading && (next.kind == newline || next.kind == blank):
	case r.tokens[i].text == ";" && r.at(i-1).kind == targetLike &&
		(next.kind == targetLike || next.kind == word && next.norm == "and"):
	default:
		r.now, r.checking, r.enclosing = state{}, false, nil
	}
}

// lineEnd resets the state when the next line starts something new.
func (r *classifier) lineEnd(i int) {
	next := r.at(i + 1)
	r.checking = false
	switch {
	case r.now.heading && next.kind == bullet:
		return
	case r.tokens[i].kind == blank && r.now.heading && !r.now.object:
		return
	case r.tokens[i].kind == blank, next.kind == bullet, r.headingAt(i + 1), next.kind == word && actionWords()[next.norm]:
		r.now, r.enclosing = state{}, nil
	}
}

// headingAt reports whether a line such as "Targets:" or "ports: 80" starts at i.
func (r *classifier) headingAt(i int) bool {
	for n := range 3 {
		if r.at(i+n).kind != word {
			return false
		}
		if r.at(i+n+1).kind == colon {
			return headingWords()[r.at(i+n).norm]
		}
	}
	return false
}

// headed reports whether the n words at i head a list: a colon or the end of the line follows.
func (r *classifier) headed(i, n int) bool {
	for j := i + n; j < i+n+7; j++ {
		switch t := r.at(j); t.kind {
		case colon:
			return true
		case newline, blank:
			return r.at(j+1).kind == bullet
		case word:
		default:
			return false
		}
	}
	return false
}

// excludeBefore excludes the targets before a cue: "a.com and b.com are off limits".
func (r *classifier) excludeBefore(i int) bool {
	several := true
	j := i - 1
	for ; j >= 0 && j >= i-6; j-- {
		t := r.at(j)
		if t.kind == word && linkWords()[t.norm] {
			several = several && t.norm != "is" && t.norm != "stays" && t.norm != "remain"
			continue
		}
		if t.kind == open || t.kind == colon || t.kind == bullet || t.isDash() {
			several = false
			continue
		}
		break
	}
	found, joined := false, true
	for ; j >= 0; j-- {
		switch t := &r.tokens[j]; {
		case joined && (t.kind == targetLike || t.kind == path):
			t.excluded, found, joined = true, true, false
			if !several {
				return true
			}
		case found && (t.kind == comma || t.kind == word && (t.norm == "and" || t.norm == "or" || t.norm == "nor")):
			joined = true
		default:
			return found
		}
	}
	return found
}

// actionAhead returns the position behind the first of the next n words that is a verb such as "scan", or 0.
func (r *classifier) actionAhead(i, n int) int {
	for j := range n {
		t := r.at(i + j)
		if t.kind != word {
			return 0
		}
		if actionWords()[stemAction(t.norm)] || scopeWords()[t.norm] {
			return j + 1
		}
	}
	return 0
}

// stemAction is "scan" for "scanned" and "touch" for "touching".
func stemAction(w string) string {
	for _, end := range []string{"ing", "ed"} {
		stem, ok := strings.CutSuffix(w, end)
		if !ok || len(stem) < 2 {
			continue
		}
		if actionWords()[stem] {
			return stem
		}
		if actionWords()[stem+"e"] {
			return stem + "e"
		}
		if n := len(stem); stem[n-1] == stem[n-2] {
			return stem[:n-1]
		}
	}
	return w
}

// targetFollows reports whether a target follows, apart from articles.
func (r *classifier) targetFollows(i int) bool {
	for j := i; j < i+4; j++ {
		switch t := r.at(j); {
		case t.kind == targetLike:
			return true
		case t.kind == colon || t.kind == open || t.kind == comma && t.text != ",":
		case t.kind == word && articles()[t.norm]:
		default:
			return false
		}
	}
	return false
}

// earlier reports whether a word of the table is earlier in the sentence: after "find", "pages without security
// headers" is what to find.
func (r *classifier) earlier(i int, table map[string]bool) bool {
	for j := i - 1; j >= 0 && r.tokens[j].kind != stop && r.tokens[j].kind != blank; j-- {
		if r.tokens[j].kind == word && table[r.tokens[j].norm] {
			return true
		}
	}
	return false
}

// phraseAt is the length in words of the longest phrase of the table at i, or 0.
func (r *classifier) phraseAt(i int, table phrases) int {
	if !table.first[r.wordAt(i)] {
		return 0
	}
	n, joined := 0, ""
	for j := 0; j < maxPhrase && r.at(i+j).kind == word; j++ {
		joined = strings.TrimPrefix(joined+" "+r.tokens[i+j].norm, " ")
		if table.whole[joined] {
			n = j + 1
		}
	}
	return n
}

func (r *classifier) wordAt(i int) string { return r.at(i).norm }
