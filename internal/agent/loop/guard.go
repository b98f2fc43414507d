package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// guard ends a branch that goes in circles: models ignore warnings.
type guard struct {
	limit     int             // steps without new evidence
	known     map[string]bool // evidence
	seen      map[string]int  // calls since the last new evidence
	recent    []string        // the last three of them
	fresh     bool            // this step found something new
	stale     int
	malformed int
}

const maxMalformed = 5

func newGuard(limit int) *guard {
	return &guard{limit: limit, known: map[string]bool{}, seen: map[string]int{}}
}

func (g *guard) beforeCall(tool, args string) error {
	call := tool + " " + canonical(args)
	g.seen[call]++
	last := slices.Concat(g.recent, []string{call})
	g.recent = last[max(0, len(last)-3):]
	if g.seen[call] >= 3 {
		return &stop{Stopped, CodeSameCall,
			tool + " was called for the third time with the same arguments, and nothing new was found in between"}
	}
	if n := len(last); n == 4 && last[0] == last[2] && last[1] == last[3] && last[0] != last[1] {
		return &stop{Stopped, CodeAlternating,
			fmt.Sprintf("the same two calls, the last of them of %s, took turns, and nothing new was found", tool)}
	}
	return nil
}

func (g *guard) refused() error {
	if g.malformed++; g.malformed >= maxMalformed {
		return &stop{Stopped, CodeMalformed,
			fmt.Sprintf("%d calls in a row could not be made as the model wrote them", g.malformed)}
	}
	return nil
}

// newEvidence returns what is new in the evidence of a call.
func (g *guard) newEvidence(evidence []string) (fresh []string) {
	g.malformed = 0
	for _, key := range evidence {
		if !g.known[key] {
			g.known[key] = true
			fresh = append(fresh, key)
			g.progress()
		}
	}
	return fresh
}

// progress forgets the calls that led to something new.
func (g *guard) progress() {
	g.fresh, g.recent = true, nil
	clear(g.seen)
}

func (g *guard) endStep() error {
	if g.fresh {
		g.fresh, g.stale = false, 0
		return nil
	}
	if g.stale++; g.stale >= g.limit {
		return &stop{Stopped, CodeNoEvidence, fmt.Sprintf("%d steps brought nothing new", g.limit)}
	}
	return nil
}

// canonical is JSON with sorted keys and without blanks; other text is unchanged.
func canonical(text string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(sorted)
}
