package related

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/whois"
)

const (
	maxWhois = 256 << 10 // bytes of one answer
	maxHops  = 5         // servers that are asked for one domain
)

// registration asks for a registration, from the root server on: each server may name a nearer one, whose answer counts
// more. nil without an error: the domain is not registered.
func (e endpoint) registration(ctx context.Context, domain string) (r *registration, err error) {
	server := e.base
	asked := map[string]bool{}
	for range maxHops {
		asked[server] = true
		var text string
		if text, err = e.whois(ctx, server, domain); err != nil {
			break
		}
		record := readWhois(text)
		if err = record.refusal(); err != nil {
			break
		}
		if near := record.registration(domain); near.known() {
			near.server, _, _ = net.SplitHostPort(server)
			if r.known() {
				near.fill(r)
			}
			r = near
		}
		next := e.referral(record.referral())
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

// referral is the address of a server that was named: at the default port, or at any when it is the operator's. "":
// none.
func (e endpoint) referral(to string) string {
	if to == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		host, port = to, whois.Port
	}
	if port != whois.Port && !e.owns(host) {
		return ""
	}
	return net.JoinHostPort(host, port)
}

func (e endpoint) owns(host string) bool {
	own, _, _ := net.SplitHostPort(e.base)
	return e.byOperator && strings.EqualFold(own, host)
}

// question is the query for a domain: some servers want more than the name.
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

func (e endpoint) whois(ctx context.Context, server, domain string) (string, error) {
	dial := e.dialPublic
	if host, _, _ := net.SplitHostPort(server); server == e.base || e.owns(host) {
		dial = e.dial
	}
	text, err := whois.Query(ctx, dial, server, question(server, domain), maxWhois)
	switch {
	case errors.Is(err, whois.ErrEmpty):
		err = failed(discover.SourceFailed, "It answered nothing.")
	case errors.Is(err, whois.ErrTruncated): // the beginning is enough
		err = nil
	}
	return text, err
}
