package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

const (
	// maxAddresses bounds a plan, with networks expanded.
	maxAddresses = 1 << 16
	// maxExcluded bounds the exclusions.
	maxExcluded = 2000
)

// splitTargets splits what looks like a target into targets and exclusions.
//
// "A full check, but no TLS on a.com" names its only target after an unwanted check. Such a target is tested if there
// is no other and something is wanted.
func (b *builder) splitTargets() {
	wanted := slices.ContainsFunc(b.tokens, func(t token) bool {
		return t.kind == targetLike && !t.excluded && !t.mention && len(t.read.targets) > 0
	})
	asked := slices.ContainsFunc(b.tokens,
		func(t token) bool { return t.kind == word && !t.negated && !t.consumed && actionWords()[t.norm] }) ||
		b.full || b.general || len(b.plan.Tags) > 0
	for i := range b.tokens {
		if t := &b.tokens[i]; t.loose && !wanted && asked {
			t.excluded = false
		}
	}
	for i := range b.tokens {
		t := &b.tokens[i]
		if t.kind == word && t.norm == unread && t.excluded {
			b.notUnderstood(t.text, "I could not tell what to leave alone, so nothing is tested")
			b.blocked = true
		}
		if t.kind != targetLike {
			continue
		}
		t.consumed = true
		switch got := t.read; {
		case t.excluded:
			for _, x := range got.exclusions {
				b.exclude(x)
			}
			if len(got.exclusions) == 0 {
				b.notUnderstood(t.text, "I could not tell what to leave alone, so nothing is tested")
				b.blocked = true
			}
		case got.why == unknownSuffix:
			t.consumed = false
		case got.why != "":
			b.refuseTarget(t.text, got.why)
		case t.label:
		case t.mention:
			b.notUnderstood(t.text, "it is only mentioned, so it is not tested")
		default:
			for _, one := range got.targets {
				b.target(one)
			}
		}
	}
}

// refuseTarget notes an invalid target, without what may be a password.
func (b *builder) refuseTarget(text, why string) {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			text = scheme + "://…@" + rest[at+1:]
		}
	}
	b.notDone(quote(text) + " is not tested: " + why + ".")
}

func (b *builder) target(t agent.Target) {
	if b.isNew(t) {
		b.plan.Targets = append(b.plan.Targets, t)
	}
}

func (b *builder) exclude(t agent.Target) {
	if t.Kind == agent.KindURL {
		// A site answers on both schemes.
		t.Kind, t.Scheme = kindOf(t.Host), ""
	}
	if len(b.plan.Excluded) == maxExcluded {
		b.notUnderstood(t.Raw, fmt.Sprintf("at most %d exclusions can be kept, so nothing is tested", maxExcluded))
		b.blocked = true
		return
	}
	marked := t
	marked.Scheme = "not" // a target and an exclusion may be equal
	if b.isNew(marked) {
		b.plan.Excluded = append(b.plan.Excluded, t)
	}
}

func (b *builder) isNew(t agent.Target) bool {
	t.Raw = ""
	seen := b.known[t]
	b.known[t] = true
	return !seen
}

// scope removes the exclusions from the targets and bounds the plan.
func (b *builder) scope() {
	p := &b.plan
	var targets []agent.Target
	if b.blocked {
		p.Targets = nil
	}
	for _, t := range p.Targets {
		if t.Kind != agent.KindCIDR {
			if !p.Excludes(t) {
				targets = append(targets, t)
			}
			continue
		}
		prefix, err := netip.ParsePrefix(t.Prefix)
		if err != nil || addressCount(prefix) > maxAddresses {
			b.notDone(fmt.Sprintf("%s is not tested: it has more than %d addresses; name smaller networks.", quote(t.Raw),
				maxAddresses))
			continue
		}
		for _, rest := range b.minus(prefix) {
			one := networkTarget(rest)
			one.Raw = t.Raw
			targets = append(targets, one)
		}
	}
	p.Targets = nil
	total := 0
	for _, t := range targets {
		size := 1
		if prefix, err := netip.ParsePrefix(t.Prefix); err == nil {
			size = addressCount(prefix)
		}
		if total+size > maxAddresses {
			b.notDone(fmt.Sprintf("%s is not tested: one task tests at most %d addresses.", quote(t.Raw), maxAddresses))
			continue
		}
		total += size
		p.Targets = append(p.Targets, t)
	}
}

// addressCount is the number of addresses of a network, at most maxAddresses+1.
func addressCount(p netip.Prefix) int {
	free := p.Addr().BitLen() - p.Bits()
	if free > 16 {
		return maxAddresses + 1
	}
	return 1 << free
}

// minus removes the excluded networks and addresses from a network.
func (b *builder) minus(p netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, x := range b.plan.Excluded {
		if x.Port != 0 || x.Path != "" {
			continue
		}
		if a, err := netip.ParseAddr(x.Host); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		} else if n, err := netip.ParsePrefix(x.Prefix); err == nil {
			out = append(out, n)
		}
	}
	return subtract(p, out)
}

func subtract(p netip.Prefix, out []netip.Prefix) []netip.Prefix {
	var inside []netip.Prefix
	for _, x := range out {
		if x.Overlaps(p) {
			if x.Bits() <= p.Bits() {
				return nil
			}
			inside = append(inside, x)
		}
	}
	if len(inside) == 0 {
		return []netip.Prefix{p}
	}
	low, high := halves(p)
	return append(subtract(low, inside), subtract(high, inside)...)
}

func halves(p netip.Prefix) (low, high netip.Prefix) {
	bit := p.Bits()
	bytes := p.Addr().AsSlice()
	bytes[bit/8] |= 0x80 >> (bit % 8)
	upper, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(p.Addr(), bit+1), netip.PrefixFrom(upper, bit+1)
}
