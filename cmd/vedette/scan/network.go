package scan

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/proto/dns"
)

// readResolvers reads --resolvers into addresses with ports, and is the system's servers without it.
func (f *scanFlags) readResolvers() ([]string, error) {
	if len(f.resolvers) == 0 {
		return dns.SystemResolvers(), nil
	}
	var all []string
	for _, text := range f.resolvers {
		lines := []string{text}
		if cli.IsFile(text) {
			var err error
			if lines, err = cli.ReadLines(text); err != nil {
				return nil, cli.Usagef("--resolvers %s: %w", text, err)
			}
		}
		for _, line := range lines {
			address, ok := resolverAddress(line)
			if !ok {
				return nil, cli.Usagef("--resolvers %q: a DNS server is an address, such as 192.0.2.53 or 192.0.2.53:5353",
					cli.Printable(line))
			}
			all = append(all, address)
		}
	}
	return all, nil
}

// resolverAddress adds the port of DNS where there is none.
func resolverAddress(text string) (string, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.String(), true
	}
	if at, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(at, 53).String(), true
	}
	return "", false
}

// resolver asks servers, host:port, in turn.
func resolver(servers []string) *net.Resolver {
	var asked atomic.Uint32
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		server := servers[int(asked.Add(1)-1)%len(servers)]
		return new(net.Dialer).DialContext(ctx, network, server)
	}}
}

// readCertificate reads --client-cert and --client-key.
func (f *scanFlags) readCertificate() ([]tls.Certificate, error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, cli.Usagef("--client-cert and --client-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, cli.Usagef("--client-cert: %w", err)
	}
	return []tls.Certificate{pair}, nil
}
