package tech

import (
	"encoding/binary"
	"math"
	"strings"
)

const gramSize = 4 // bytes

// needles finds which of thousands of texts occur in another, in one pass: each is known by
// four of its bytes, and where these come by, the rest is compared.
type needles struct {
	marks  [1 << 16 / 64]uint64 // of the grams' hashes, for a quick no
	grams  map[uint32][]needle
	shared map[uint32]int // texts that have a gram
}

// needle is one text.
type needle struct {
	text string
	at   int // where its gram begins
	id   int // what is told when it occurs
}

// newNeedles takes, for each id, its needs, of which one is looked for: that whose texts
// are the rarest among all, for these are rare in pages, too. rest are the ids that have
// none of at least four bytes.
func newNeedles(all [][][]string) (n *needles, rest []int) {
	n = &needles{grams: map[uint32][]needle{}, shared: map[uint32]int{}}
	for _, needs := range all {
		for _, texts := range needs {
			for _, t := range texts {
				for i := range len(t) - gramSize + 1 {
					n.shared[gram(t[i:])]++
				}
			}
		}
	}
	for id, needs := range all {
		var best []string
		least := math.MaxInt
		for _, texts := range needs {
			if common := n.common(texts); common < least {
				best, least = texts, common
			}
		}
		if best == nil {
			rest = append(rest, id)
		}
		for _, t := range best {
			at, _ := n.rarest(t)
			g := gram(t[at:])
			n.marks[mark(g)>>6] |= 1 << (mark(g) & 63)
			n.grams[g] = append(n.grams[g], needle{t, at, id})
		}
	}
	n.shared = nil
	return n, rest
}

// rarest is where the gram of a text begins that fewest others share, and how many do.
func (n *needles) rarest(text string) (at, sharing int) {
	sharing = math.MaxInt
	for i := range len(text) - gramSize + 1 {
		if s := n.shared[gram(text[i:])]; s < sharing {
			at, sharing = i, s
		}
	}
	return at, sharing
}

// common is how many share the grams by which texts would be known.
func (n *needles) common(texts []string) int {
	most := 0
	for _, t := range texts {
		_, sharing := n.rarest(t)
		most = max(most, sharing)
	}
	return most
}

func gram(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s[:gramSize])) }

func mark(gram uint32) uint32 { return gram * 0x9e3779b1 >> 16 }

// in gives the ids of the texts that occur in a folded text.
func (n *needles) in(folded string) map[int]bool {
	found := map[int]bool{}
	for i := range len(folded) - gramSize + 1 {
		g := gram(folded[i:])
		if n.marks[mark(g)>>6]&(1<<(mark(g)&63)) == 0 {
			continue
		}
		for _, t := range n.grams[g] {
			if i >= t.at && strings.HasPrefix(folded[i-t.at:], t.text) {
				found[t.id] = true
			}
		}
	}
	return found
}
