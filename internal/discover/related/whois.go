package related

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/whois"
)

// The bounds of WHOIS.
const (
	maxWhois = 256 << 10 // bytes of one answer
	maxHops  = 5         // servers that are asked for one domain
)

// askWhois asks for a registration, from the root server on: each server may name a
// nearer one. Of what several say, the nearest comes first. nil without an error: it is not
// registered.
func (h *hunt) askWhois(ctx context.Context, p place, domain string) (r *registration, err error) {
	server := p.base
	asked := map[string]bool{}
	for range maxHops {
		asked[server] = true
		var text string
		if text, err = p.whois(ctx, server, domain); err != nil {
			break
		}
		record := readWhois(text)
		if err = record.trouble(); err != nil {
			break
		}
		if near := record.registration(domain); near.known() {
			near.server, _, _ = net.SplitHostPort(server)
			if r.known() {
				near.fill(r)
			}
			r = near
		}
		next := p.referral(record.referral())
		if next == "" || asked[next] {
			break
		}
		server = next
	}
	if r.known() { // a nearer server that fails leaves what the others said
		return r, nil
	}
	return nil, err
}

// referral is where a server that was named can be asked: at its usual port, or at any
// when it is the operator's own. Empty: nowhere.
func (p place) referral(to string) string {
	if to == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		host, port = to, whois.Port
	}
	if port != whois.Port && !p.owns(host) {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// owns reports whether a host is the one that the operator named.
func (p place) owns(host string) bool {
	own, _, _ := net.SplitHostPort(p.base)
	return p.own && strings.EqualFold(own, host)
}

// questions are how servers want to be asked that want more than a name.
func question(server, domain string) string {
	host, _, _ := net.SplitHostPort(server)
	switch {
	case strings.HasSuffix(host, "verisign-grs.com"):
		return "domain " + domain // the name alone finds hosts too
	case host == "whois.denic.de":
		return "-T dn " + domain
	case host == "whois.jprs.jp":
		return domain + "/e"
	case host == "whois.nic.name":
		return "domain=" + domain
	case host == "whois.dk-hostmaster.dk", host == "whois.punktum.dk":
		return "--show-handles " + domain
	}
	return domain
}

// whois asks one server.
func (p place) whois(ctx context.Context, server, domain string) (string, error) {
	dial := p.dialPublic
	if host, _, _ := net.SplitHostPort(server); server == p.base || p.owns(host) {
		dial = p.dial
	}
	text, err := whois.Ask(ctx, dial, server, question(server, domain), maxWhois)
	switch {
	case errors.Is(err, whois.ErrNothing):
		err = said(discover.SourceFailed, "It answered nothing.")
	case errors.Is(err, whois.ErrCut): // what matters stands at the beginning
		err = nil
	}
	return text, err
}
