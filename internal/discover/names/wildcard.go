package names

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"
)

// How a zone is sampled. It takes several samples to recognise random answers.
const (
	firstSamples = 2       // decide whether there is a wildcard at all
	moreSamples  = 6       // show what it answers
	extraSamples = 3       // more, for a name that does not fit
	maxSamples   = 40      // of a zone in all
	maxAnswers   = 6       // addresses that a wildcard may give in turn; with more they count as random
	maxFailures  = 3       // of the first samples
	maxZones     = 200_000 // that are kept
)

// wildcards learns what a zone answers for names that do not exist. A wildcard answers a name's siblings under the
// same parent as it would answer the name, however many levels above it is (RFC 4592, section 3.3.1): so random
// siblings are asked for.
type wildcards struct {
	resolve func(ctx context.Context, host string) lookupResult // looks up a host's addresses

	mu    sync.Mutex
	zones map[string]*zone
	seen  []string // *.zone, the first maxWildcards
}

// zone is what is known of the names below one parent.
type zone struct {
	noWildcard atomic.Bool // there is no wildcard

	mu           sync.Mutex
	asked        int  // samples
	samples      int  // that were answered
	failures     int  // times that none was
	answers      bool // random names exist
	empty        bool // and some have no address and no alias
	newAddresses int  // samples that brought an address not seen before
	addrs        map[netip.Addr]bool
	nets         map[netip.Prefix]bool
	targets      map[string]bool
}

// isWildcard reports whether a host's answer is that of a wildcard.
func (w *wildcards) isWildcard(ctx context.Context, host string, f lookupResult) bool {
	parent := parentOf(host)
	z := w.zone(parent)
	if z.noWildcard.Load() {
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.samples == 0 {
		w.sample(ctx, z, parent, firstSamples)
		if !z.answers {
			// Without any answer the next name samples again, a few times.
			if z.failures++; z.samples > 0 || z.failures == maxFailures {
				z.noWildcard.Store(true)
			}
			return false
		}
		w.record(parent)
		w.sample(ctx, z, parent, moreSamples)
	}
	for !z.fits(host, f) {
		if z.asked >= maxSamples || ctx.Err() != nil {
			return false
		}
		w.sample(ctx, z, parent, extraSamples)
		if z.newAddresses < 2 { // it answers the same each time
			return z.fits(host, f)
		}
	}
	return true
}

func (w *wildcards) zone(parent string) *zone {
	w.mu.Lock()
	defer w.mu.Unlock()
	z := w.zones[parent]
	if z == nil {
		for name := range w.zones { // any: it can be sampled again
			if len(w.zones) < maxZones {
				break
			}
			delete(w.zones, name)
		}
		z = &zone{addrs: map[netip.Addr]bool{}, nets: map[netip.Prefix]bool{}, targets: map[string]bool{}}
		w.zones[parent] = z
	}
	return z
}

func (w *wildcards) record(parent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name := "*." + parent; len(w.seen) < maxWildcards && !slices.Contains(w.seen, name) {
		w.seen = append(w.seen, name)
	}
}

// sample asks for n random names at once.
func (w *wildcards) sample(ctx context.Context, z *zone, parent string, n int) {
	if len(parent)+15 > maxHost {
		z.asked = maxSamples // no room for siblings
		return
	}
	z.asked += n
	hosts, answers := make([]string, n), make([]lookupResult, n)
	var running sync.WaitGroup
	for i := range n {
		hosts[i] = randomLabel() + "." + parent
		running.Go(func() { answers[i] = w.resolve(ctx, hosts[i]) })
	}
	running.Wait()
	for i, f := range answers {
		if f.err == nil {
			z.samples++
		}
		if f.exists() {
			z.answers = true
			z.learn(hosts[i], f)
		}
	}
}

func (z *zone) learn(host string, f lookupResult) {
	isNew := false
	z.empty = z.empty || f.empty()
	if len(f.chain) > 0 {
		z.targets[pattern(host, f.chain[0])] = true
	}
	for _, a := range f.addrs {
		isNew = isNew || !z.addrs[a]
		z.addrs[a] = true
		z.nets[Network(a)] = true
	}
	if isNew {
		z.newAddresses++
	}
}

// fits reports whether a host's answer could be the wildcard's.
func (z *zone) fits(host string, f lookupResult) bool {
	switch {
	case !z.answers:
		return false
	case len(f.chain) > 0:
		return z.targets[pattern(host, f.chain[0])]
	case len(f.addrs) == 0:
		return z.empty
	}
	for _, a := range f.addrs {
		if near := z.newAddresses > maxAnswers && z.nets[Network(a)]; !near && !z.addrs[a] {
			return false
		}
	}
	return true
}

// pattern is an alias's target without the host's own first label: behind a DNAME every name has its own target.
func pattern(host, target string) string {
	label, _, _ := strings.Cut(host, ".")
	if rest, ok := strings.CutPrefix(target, label+"."); ok {
		return "*." + rest
	}
	return target
}

// Network is the /24 or /48 of an address.
func Network(a netip.Addr) netip.Prefix {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	p, _ := a.Prefix(bits) // bits fit the address
	return p
}

// randomLabel is a label that no name has.
func randomLabel() string {
	return fmt.Sprintf("x%013x", rand.Uint64()>>12)
}

// lookupResult is what DNS says of a host's addresses.
type lookupResult struct {
	rcode int
	err   error // errTimeout, errMalformed: there is no rcode
	chain []string
	loop  bool
	addrs []netip.Addr
}

// empty reports whether there is neither an address nor an alias.
func (f lookupResult) empty() bool { return len(f.addrs) == 0 && len(f.chain) == 0 }

// exists reports whether something has been made under the name.
func (f lookupResult) exists() bool {
	return f.err == nil && (f.rcode == dns.RcodeSuccess || len(f.chain) > 0)
}
