// Package target checks the targets of scans, and replaces ranges of addresses by their addresses.
package target

import (
	"net/netip"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Max is how many targets a scan has at most, after ranges are expanded.
const Max = 100_000

// Check refuses invalid targets, and too many.
func Check(targets []string) error {
	n := 0
	for _, text := range targets {
		if p, ok := rangeOf(text); ok {
			bits := p.Addr().BitLen() - p.Bits()
			if bits > 16 {
				return errs.Field("targets", "targets: %s is too large a range (at most 65536 addresses).", p)
			}
			n += 1 << bits
		} else if err := checkOne(text); err != nil {
			return errs.New(errs.Invalid, "invalid_targets", "targets: %s", errs.From(err).Message).At("targets")
		} else {
			n++
		}
		if n > Max {
			return errs.Field("targets", "targets must be at most %d, ranges counted out.", Max)
		}
	}
	return nil
}

// Takes reports whether a scan can have this target.
func Takes(target string) bool { return Check([]string{target}) == nil }

func checkOne(text string) error {
	if _, err := targets.Parse(text); err != nil {
		return err
	}
	_, err := netguard.ParseTarget(text)
	return err
}

// rangeOf reads a target that is a range of addresses.
func rangeOf(text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil || p.IsSingleIP() {
		return p, err == nil
	}
	return p.Masked(), true
}

// Expand replaces ranges by their addresses and leaves out excluded targets and duplicates.
func Expand(targets []string, excluded hostpattern.Patterns) []string {
	seen := map[string]bool{}
	var out []string
	take := func(text string) {
		if !seen[text] && !excluded.Excludes(text) {
			seen[text] = true
			out = append(out, text)
		}
	}
	for _, text := range targets {
		p, ok := rangeOf(text)
		if !ok {
			take(strings.TrimSpace(text))
			continue
		}
		for a := p.Addr(); p.Contains(a) && len(out) < Max; a = a.Next() {
			take(a.String())
		}
	}
	return out
}

// AllInternal reports whether no target is an address of the public internet, or a name.
func AllInternal(targets []string) bool {
	for _, text := range targets {
		host, _ := hostpattern.HostOf(text)
		if p, ok := rangeOf(text); ok {
			host = p.Addr().String()
		}
		a, err := netip.ParseAddr(host)
		if host == "localhost" || err == nil && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()) {
			continue
		}
		return false
	}
	return len(targets) > 0
}
