package names

import (
	"context"
	"iter"
	"net/netip"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Find looks for the names of a domain by the steps that are asked for (none: all):
// dns_passive and dns_scraping ask sources, dns_bruteforce tries words, dns_permute bends
// the names that were found. Names of sources are handed on as they come, not looked up
// and without RCode; names that were guessed are handed on when DNS knows them, with what
// it says. Each is handed on once, with Sources naming who said it first. emit is called
// by one goroutine at a time. The error is the context's or an *errs.Error; a source that
// fails is no error but a line of the report.
func Find(ctx context.Context, cfg Config, domain string, steps []discover.Step, emit func(discover.Name)) (Report, error) {
	root, ok := clean(domain)
	if !ok {
		return Report{}, errs.Field("domain", "%.100q is no domain.", domain)
	}
	cfg.Domains = append(cfg.Domains[:len(cfg.Domains):len(cfg.Domains)], root)
	r, err := newResolver(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	return r.done(), ctx.Err()
}

// Reverse asks for the names of every address of the ranges, and hands on the addresses
// that have some: Host is the address, Records["PTR"] its names.
func Reverse(ctx context.Context, cfg Config, ranges []netip.Prefix, emit func(discover.Name)) (Report, error) {
	return Resolve(ctx, cfg, addressesOf(ranges), func(n discover.Name) {
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

// Origin is the autonomous system that announces an address, as Config.OriginZone tells;
// with an empty zone it is an *errs.Error.
func Origin(ctx context.Context, cfg Config, addr netip.Addr) (discover.ASN, error) {
	return discover.ASN{}, errs.New(errs.Unavailable, "no_origin_zone", "No zone that tells the origin of addresses is configured.")
}

// Ranges are the networks that an autonomous system (such as AS64500) announces, as
// Config.RangesURL tells; the report says how that source behaved.
func Ranges(ctx context.Context, cfg Config, asn string) ([]netip.Prefix, discover.SourceReport) {
	return nil, discover.SourceReport{Source: "ranges", About: asn, State: discover.SourceSkipped, Detail: "no source is configured"}
}
