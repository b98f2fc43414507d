package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/discover/related"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/jobs"
)

// Names in source_urls besides the services of package related.
const (
	sourceDNS = "dns" // name server for proofs and web sites, host:port
	sourceASN = "asn" // DNS zone that maps addresses to AS numbers
)

const (
	usualASNZone  = "origin.asn.cymru.com"
	domainTimeout = 15 * time.Second // of one request to a domain's web site
)

// sources are the operator's addresses and keys of sources of associated domains.
type sources struct {
	urls, keys map[string]string
	dns, asn   string
}

// readSources reads source_urls and source_keys. Its errors show no key.
func (c Config) readSources() (s sources, err error) {
	s = sources{urls: map[string]string{}, keys: map[string]string{}, asn: usualASNZone}
	for _, entry := range c.SourceURLs {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || value == "":
			return s, fmt.Errorf("source_urls %q: write NAME=URL, such as crtsh=https://crt.example.com/", entry)
		case name == sourceDNS:
			if _, _, err := net.SplitHostPort(value); err != nil {
				return s, fmt.Errorf("source_urls %q: dns must be host:port", entry)
			}
			s.dns = value
		case name == sourceASN:
			s.asn = strings.TrimSuffix(value, related.Off)
		default:
			if err := related.CheckURL(name, value); err != nil {
				return s, fmt.Errorf("source_urls %q: %w", entry, err)
			}
			s.urls[name] = value
		}
	}
	for _, entry := range c.SourceKeys {
		name, key, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return s, errors.New("source_keys: write NAME=KEY")
		}
		if err := related.CheckKey(name); err != nil {
			return s, fmt.Errorf("source_keys: %w", err)
		}
		s.keys[name] = key
	}
	return s, nil
}

// resolver uses the operator's name server, or the system's.
func (s sources) resolver() *net.Resolver {
	if s.dns == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.dns)
	}}
}

// openDomains connects the domain service with discovery. Addresses from users and third parties are
// dialled only if netguard allows them; addresses from the operator may be private.
func (a *App) openDomains(allow []netip.Prefix) (jobs.Related, error) {
	s, err := a.config.readSources()
	if err != nil {
		return jobs.Related{}, err
	}
	resolver := s.resolver()
	world := &netguard.Guard{Allow: allow, Resolver: resolver}
	own := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	finder, err := related.New(related.Config{
		HTTP: world.Client(domainTimeout), Dial: world.Dial, OwnHTTP: own.Client(domainTimeout), OwnDial: own.Dial,
		URLs: s.urls, Keys: s.keys,
	})
	if err != nil {
		return jobs.Related{}, err
	}
	verifier := &related.Verifier{HTTP: world.Client(domainTimeout), Resolver: resolver}
	return jobs.Related{
		Domains: domain.New(a.db, a.queue, domain.Config{Verify: verifier.Verify, Logger: a.logger}),
		Finder:  finder,
		Prober:  &related.Prober{HTTP: world.Client(domainTimeout), Resolver: resolver, Origin: s.asn},
	}, nil
}
