package dns

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

const (
	defaultTrace = 32 // steps
	maxTrace     = 64
	traceTimes   = 6       // times Env.Timeout: for the whole way
	maxTraceText = 1 << 20 // bytes; the way goes no further then
)

// roots are the addresses of the root servers (IANA, root hints).
var roots = []string{
	"198.41.0.4", "170.247.170.2", "192.33.4.12", "199.7.91.13", "192.203.230.10", "192.5.5.241", "192.112.36.4",
	"198.97.190.53", "192.36.148.17", "192.58.128.30", "193.0.14.129", "199.7.83.42", "202.12.27.33",
}

// trace asks for a name as a resolver does, from the root servers down, and returns the answers as text. It follows
// each referral, and an alias from the root again.
func (c *client) trace(ctx context.Context, name string, question uint16, steps int) (string, error) {
	whole, cancel := context.WithTimeout(ctx, traceTimes*c.Timeout)
	defer cancel()
	var text strings.Builder
	way := &client{Env: c.Env, attempts: 2, share: c.share, servers: c.helpers(roots)}
	name = dns.CanonicalName(name)
	asked, aliases := map[string]bool{}, map[string]bool{name: true}
	for range steps {
		m := &dns.Msg{}
		m.SetQuestion(name, question)
		m.RecursionDesired = false
		answer, err := way.ask(whole, m)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return text.String(), nil // the way ends here: what was seen counts
		}
		text.WriteString(answer.String())
		text.WriteByte('\n')
		if text.Len() > maxTraceText {
			break
		}
		if alias := aliasOf(answer); alias != "" {
			if aliases[alias] {
				break
			}
			aliases[alias] = true
			name, way.servers, asked = alias, c.helpers(roots), map[string]bool{}
			continue
		}
		next := c.referral(whole, answer)
		next = slices.DeleteFunc(next, func(a string) bool { return asked[a] })
		if len(answer.Answer) > 0 || len(next) == 0 {
			break
		}
		for _, a := range next {
			asked[a] = true
		}
		way.servers = c.helpers(next)
	}
	return text.String(), nil
}

// aliasOf is the target of a CNAME that is all of an answer.
func aliasOf(m *dns.Msg) string {
	if len(m.Answer) == 0 {
		return ""
	}
	alias, ok := m.Answer[0].(*dns.CNAME)
	if !ok || len(m.Answer) > 1 {
		return ""
	}
	return dns.CanonicalName(alias.Target)
}

// maxReferrals bounds the servers of a zone that are asked for their addresses.
const maxReferrals = 4

// referral is the addresses of the servers that an answer names: as it says them, or else as the resolvers do.
func (c *client) referral(ctx context.Context, m *dns.Msg) (addresses []string) {
	var names []string
	for _, rr := range m.Ns {
		if ns, ok := rr.(*dns.NS); ok {
			names = append(names, dns.CanonicalName(ns.Ns))
		}
	}
	for _, rr := range m.Extra {
		if a, ok := rr.(*dns.A); ok && slices.Contains(names, dns.CanonicalName(a.Hdr.Name)) {
			addresses = append(addresses, a.A.String())
		}
	}
	for _, name := range names[:min(len(names), maxReferrals)] {
		if len(addresses) > 0 {
			break
		}
		ask := &dns.Msg{}
		ask.SetQuestion(name, dns.TypeA)
		answer, err := c.ask(ctx, ask)
		if err != nil {
			continue
		}
		for _, rr := range answer.Answer {
			if a, ok := rr.(*dns.A); ok {
				addresses = append(addresses, a.A.String())
			}
		}
	}
	return addresses
}

// helpers are servers that belong to the way, not to the target.
func (c *client) helpers(addresses []string) (all []server) {
	for _, a := range addresses {
		all = append(all, server{network: "tcp", address: net.JoinHostPort(a, "53"), helper: true})
	}
	return all
}
