package dnslab_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// The system's own resolver, which shares no code with the lab, sees the zone's truth.
func TestAnotherResolverSeesTheTruth(t *testing.T) {
	z := dnslab.Generate("lab.test", 1000)
	if len(z.Names) != 1000 {
		t.Fatalf("%d names", len(z.Names))
	}
	s := dnslab.Start(t, z)
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Addr)
	}}
	for _, name := range []string{"www.lab.test", "real3.deep.wild.lab.test", "chain9.lab.test", "large3.lab.test"} {
		got, err := r.LookupNetIP(t.Context(), "ip4", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, a := range got {
			got[i] = a.Unmap()
		}
		slices.SortFunc(got, netip.Addr.Compare)
		if want := z.Names[name].IP; !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, found := range map[string]bool{"a.wild.lab.test": true, "a.deep.wild.lab.test": true, "a.lab.test": false,
		"lost1.lab.test": false} {
		if _, err := r.LookupHost(t.Context(), name); (err == nil) != found {
			t.Errorf("%s: %v", name, err)
		}
	}
}
