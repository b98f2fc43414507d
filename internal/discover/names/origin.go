package names

import (
	"context"
	"iter"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxRange bounds the addresses that Reverse asks about: those of an IPv4 /12.
const maxRange = 1 << 20

// Reverse asks for the names of every address of the ranges (a million at most; what is
// beyond is not asked about), and hands on the addresses that have some: Host is the
// address, Records["PTR"] its names. Errors and emit are as Resolve's.
func Reverse(ctx context.Context, cfg Config, ranges []netip.Prefix, emit func(discover.Name)) (Report, error) {
	return Resolve(ctx, cfg, limit(addressesOf(ranges), maxRange), func(n discover.Name) {
		if len(n.Records["PTR"]) > 0 {
			emit(n)
		}
	})
}

// addressesOf are the addresses of ranges, one by one.
func addressesOf(ranges []netip.Prefix) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range ranges {
			for a := p.Masked().Addr(); p.Contains(a); a = a.Next() {
				if !yield(a.String()) {
					return
				}
			}
		}
	}
}

// Origin is the autonomous system that announces an address, as Config.OriginZone tells
// in TXT records of the form "64500 | 192.0.2.0/24 | DE | …". The zone's neighbours are
// asked too: origin6 instead of origin for an IPv6 address, and the zone above for the
// system's name. It is an *errs.Error when no zone is configured (Unavailable), when the
// address is announced by nobody (NotFound), or when the zone does not answer (Timeout).
func Origin(ctx context.Context, cfg Config, addr netip.Addr) (discover.ASN, error) {
	zone := strings.Trim(cfg.OriginZone, ".")
	if zone == "" {
		return discover.ASN{}, errs.New(errs.Unavailable, "no_origin_zone", "No zone that tells the origin of addresses is configured.")
	}
	arpa, err := dns.ReverseAddr(addr.Unmap().WithZone("").String())
	if err != nil {
		return discover.ASN{}, errs.Field("addr", "%.60q is no address.", addr)
	}
	cfg, err = cfg.orDefault()
	if err != nil {
		return discover.ASN{}, err
	}
	c, err := newClient(ctx, cfg)
	if err != nil {
		return discover.ASN{}, err
	}
	defer c.close()
	name, six := strings.CutSuffix(arpa, ".ip6.arpa.")
	if six {
		zone = strings.Replace(zone, "origin", "origin6", 1)
	} else {
		name = strings.TrimSuffix(arpa, ".in-addr.arpa.")
	}
	fields, err := c.pipes(ctx, name+"."+zone)
	if err != nil {
		return discover.ASN{}, err
	}
	if len(fields) < 3 {
		return discover.ASN{}, errs.New(errs.NotFound, "no_origin", "No autonomous system is known to announce %s.", addr)
	}
	number, _, _ := strings.Cut(fields[0], " ") // of several origins the first
	asn := discover.ASN{Number: "AS" + number, Country: fields[2], Range: []string{fields[1]}}
	if _, above, ok := strings.Cut(zone, "."); ok && isDigits(number) {
		if about, err := c.pipes(ctx, asn.Number+"."+above); err == nil && len(about) >= 5 {
			asn.Name = about[4]
		}
	}
	return asn, nil
}

// pipes is the first TXT record of a name, cut at its pipes; nil when there is none.
func (c *client) pipes(ctx context.Context, name string) ([]string, error) {
	host, ok := clean(name)
	if !ok {
		return nil, errs.New(errs.Invalid, "origin_zone", "%.100q is no name.", name)
	}
	a, err := c.ask(ctx, host, dns.TypeTXT)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errs.New(errs.Timeout, "no_answer", "No resolver answered for %s.", host).Because(err)
	case len(a.texts) == 0:
		return nil, nil
	}
	fields := strings.Split(a.texts[0], "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

func isDigits(s string) bool { return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == "" }
