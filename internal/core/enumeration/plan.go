package enumeration

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ErrLate refuses writes of a worker that has lost its run or chunk.
var ErrLate = run.ErrLate

// ChunkArgs is the job that works on one chunk.
type ChunkArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
	N             int    `json:"n"`
}

// Kind implements queue.Args.
func (ChunkArgs) Kind() string { return "enumeration.chunk" }

// Work is where a chunk of names looks for hosts: one of these.
type Work struct {
	Domain   string         `json:"domain,omitempty"`
	Hosts    []Found        `json:"hosts,omitempty"`
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	Cloud    string         `json:"cloud,omitempty"`   // the id of a configuration
	Network  string         `json:"network,omitempty"` // an autonomous system; with prefixes: the one that announces them
	Known    bool           `json:"known,omitempty"`   // the hosts of earlier runs
}

// The bounds of a chunk, which is lost when its worker dies.
const (
	workHosts  = 1_000
	workBlock  = 256 // addresses
	workBlocks = 64  // ranges smaller than a block
	ChunkHosts = 100 // of a chunk of hosts
)

// cut makes the chunks of names of a run.
func cut(c Config, covers Coverage, rescan bool) (out []Work) {
	for _, d := range covers.Domains {
		out = append(out, Work{Domain: d})
	}
	for part := range slices.Chunk(covers.Hosts, workHosts) {
		out = append(out, Work{Hosts: part})
	}
	out = append(out, ranges(apart(covers.Prefixes), "")...)
	for _, as := range covers.Networks {
		out = append(out, Work{Network: as})
	}
	for _, id := range c.CloudConfigIDs {
		out = append(out, Work{Cloud: id})
	}
	if rescan {
		out = append(out, Work{Known: true})
	}
	return out
}

// ranges are chunks for ranges that do not overlap, of at most one block each.
func ranges(prefixes []netip.Prefix, network string) (out []Work) {
	var small []netip.Prefix
	free := 0
	for _, p := range prefixes {
		for _, block := range blocks(p) {
			size := 1 << (block.Addr().BitLen() - block.Bits())
			if len(small) > 0 && (free+size > workBlock || len(small) == workBlocks) {
				out, small, free = append(out, Work{Prefixes: small, Network: network}), nil, 0
			}
			small, free = append(small, block), free+size
		}
	}
	if len(small) > 0 {
		out = append(out, Work{Prefixes: small, Network: network})
	}
	return out
}

// maxAnnounced is how many addresses of one autonomous system a run probes.
const maxAnnounced = 1 << 16

// Announced are chunks for the ranges that an autonomous system announces, the smaller ones first, and a sentence
// about those that are left out: too large ones, and those with an address that is not allowed, since the source of
// the ranges may lie.
func Announced(as string, prefixes []netip.Prefix, allowed func(netip.Addr) bool) (works []Work, leftOut string) {
	announced := apart(prefixes)
	size := func(p netip.Prefix) int { return p.Addr().BitLen() - p.Bits() }
	slices.SortStableFunc(announced, func(a, b netip.Prefix) int { return size(a) - size(b) })
	var taken, large, refused []netip.Prefix
	free := maxAnnounced
	for _, p := range announced {
		switch {
		case size(p) > 16 || 1<<size(p) > free:
			large = append(large, p)
		case !all(p, allowed):
			refused = append(refused, p)
		default:
			free -= 1 << size(p)
			taken = append(taken, p)
		}
	}
	var words []string
	if len(large) > 0 {
		words = append(words, fmt.Sprintf("%d ranges are left out, since a run looks at %d addresses of a network at most: %s."+
			" Name those that matter as inputs.", len(large), maxAnnounced, some(large)))
	}
	if len(refused) > 0 {
		words = append(words, fmt.Sprintf("%d ranges are left out, since they are not of the public internet: %s.",
			len(refused), some(refused)))
	}
	return ranges(taken, as), strings.Join(words, " ")
}

// all reports whether a condition holds for every address of a range.
func all(p netip.Prefix, holds func(netip.Addr) bool) bool {
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		if !holds(a) {
			return false
		}
	}
	return true
}

// some names the first of several ranges.
func some(prefixes []netip.Prefix) string {
	const most = 10
	var words []string
	for _, p := range prefixes[:min(len(prefixes), most)] {
		words = append(words, p.String())
	}
	if len(prefixes) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// apart leaves out ranges that are part of another.
func apart(prefixes []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), a.Bits()-b.Bits())
	})
	var out []netip.Prefix
	for _, p := range sorted {
		if len(out) == 0 || !out[len(out)-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	return out
}

// blocks cuts a range into ranges of at most workBlock addresses.
func blocks(p netip.Prefix) (out []netip.Prefix) {
	bits := p.Addr().BitLen()
	if bits-p.Bits() <= 8 {
		return []netip.Prefix{p}
	}
	for a := p.Addr(); a.IsValid() && p.Contains(a); {
		block := netip.PrefixFrom(a, bits-8)
		out = append(out, block)
		last := a.AsSlice()
		last[len(last)-1] = 255
		end, _ := netip.AddrFromSlice(last)
		a = end.Next()
	}
	return out
}

// Begin cuts a run into chunks and inserts their jobs. A run that has ended or has its chunks is left alone.
func (es *Enumerations) Begin(ctx context.Context, a BeginArgs) error {
	r := run.Ref{ID: a.EnumerationID, Run: a.Run}
	return es.runs().Prepare(ctx, r, func(teamID string) (func(tx *db.Tx) error, error) {
		config, err := es.config(ctx, es.db, r.ID)
		if err != nil {
			return nil, err
		}
		covers, err := es.checkConfig(ctx, teamID, config) // a configuration may have been deleted since
		return func(tx *db.Tx) error {
			return es.runs().Start(ctx, tx, r, chunkColumns, nameChunks(cut(config, covers, r.Run > 1)))
		}, err
	})
}

// chunkColumns are the columns of a chunk besides those of package run.
const chunkColumns = "stage, input"

// nameChunks are rows for chunks of names.
func nameChunks(works []Work) [][]any {
	rows := make([][]any, len(works))
	for i, w := range works {
		rows[i] = []any{string(Names), db.Doc(w)}
	}
	return rows
}
