package names

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Origin is the autonomous system that announces an address, by the TXT records of a zone such as
// origin.asn.cymru.com: "64500 | 192.0.2.0/24 | DE | …" for the reversed address (in origin6 for IPv6), and in the
// zone above "64500 | DE | registry | date | NAME, DE" for AS64500. The error is an *errs.Error when no system is
// known (NotFound), or the resolver's.
func Origin(ctx context.Context, resolver *net.Resolver, zone string, addr netip.Addr) (discover.ASN, error) {
	arpa, err := dns.ReverseAddr(addr.Unmap().WithZone("").String())
	if err != nil {
		return discover.ASN{}, err
	}
	zone = strings.Trim(zone, ".")
	name, six := strings.CutSuffix(arpa, ".ip6.arpa.")
	if six {
		zone = strings.Replace(zone, "origin", "origin6", 1)
	} else {
		name = strings.TrimSuffix(arpa, ".in-addr.arpa.")
	}
	fields, err := txtFields(ctx, resolver, name+"."+zone+".")
	if err != nil {
		return discover.ASN{}, err
	}
	number, _, _ := strings.Cut(fields[0], " ") // the first of several origins
	if len(fields) < 3 || !isDigits(number) {
		return discover.ASN{}, errs.New(errs.NotFound, "no_origin", "No autonomous system is known to announce %s.", addr)
	}
	asn := discover.ASN{Number: "AS" + number, Country: fields[2], Range: []string{fields[1]}}
	_, above, _ := strings.Cut(zone, ".")
	if about, err := txtFields(ctx, resolver, asn.Number+"."+above+"."); err == nil && len(about) > 4 {
		asn.Name = about[4]
	}
	return asn, nil
}

// txtFields are the parts between the pipes of a name's first TXT record.
func txtFields(ctx context.Context, resolver *net.Resolver, name string) ([]string, error) {
	texts, err := resolver.LookupTXT(ctx, name)
	if err != nil || len(texts) == 0 {
		return []string{""}, err
	}
	fields := strings.Split(texts[0], "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

func isDigits(s string) bool { return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == "" }
