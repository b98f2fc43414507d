package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// lab is a zone, its server, and a configuration that covers it.
func lab(t testing.TB) (*dnslab.Zone, pipeline.Config) {
	t.Helper()
	z := dnslab.Generate("lab.example", 1000)
	server := dnslab.Start(t, z)
	return z, pipeline.Config{
		Covers: []netguard.Target{{Host: z.Domain}, {Host: z.Domain, Subdomains: true},
			{Prefix: netip.MustParsePrefix("127.0.0.0/8")}, {Prefix: netip.MustParsePrefix("fd00::/8")}},
		Domains: []string{z.Domain}, Resolvers: []string{server.Addr}, Timeout: 2 * time.Second,
	}
}

func open(t testing.TB, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDomainFindsWhatCanBeGuessedAndNothingElse: by words and by permutation every name
// that can be found so is found, with its addresses, and no name that a wildcard made up.
func TestDomainFindsWhatCanBeGuessedAndNothingElse(t *testing.T) {
	z, c := lab(t)
	c.Steps = []discover.Step{discover.DNSBruteforce, discover.DNSPermute, discover.DNSResolve}
	found := map[string]discover.Name{}
	reports, err := open(t, c).Domain(t.Context(), z.Domain, func(n discover.Name) error {
		if _, again := found[n.Host]; again {
			t.Errorf("%s comes twice", n.Host)
		}
		found[n.Host] = n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, truth := range z.Names {
		n, ok := found[name]
		if (truth.By == dnslab.ByWords || truth.By == dnslab.ByPermute) && !ok {
			t.Errorf("%s is not found", name)
		}
		if ok && len(truth.IP) > 0 && !truth.Loop {
			got := slices.SortedFunc(slices.Values(n.IP), netip.Addr.Compare)
			if !slices.Equal(got, truth.IP) {
				t.Errorf("%s: %v, not %v", name, got, truth.IP)
			}
		}
	}
	for name, n := range found {
		if _, known := z.Names[name]; !known && !n.Wildcard && len(n.CNAME) == 0 && !isInner(z, name) {
			t.Errorf("%s is made up: %+v", name, n)
		}
		if len(n.Sources) == 0 {
			t.Errorf("nobody named %s", name)
		}
	}
	if _, ok := found[z.Domain]; !ok {
		t.Error("the domain itself is not among its names")
	}
	if !slices.ContainsFunc(reports,
		func(r discover.SourceReport) bool { return r.Source == "dns_resolve" && r.Count > 0 }) {
		t.Errorf("%+v", reports)
	}
}

// isInner reports whether a name has names of the zone below it: it exists for that.
func isInner(z *dnslab.Zone, name string) bool {
	for other := range z.Names {
		if strings.HasSuffix(other, "."+name) {
			return true
		}
	}
	for _, w := range z.Wildcards {
		if w == name || strings.HasSuffix(w, "."+name) {
			return true
		}
	}
	return strings.HasSuffix(name, ".asn."+z.Domain) || strings.HasSuffix(name, ".asn6."+z.Domain) ||
		strings.Contains(name, "_tcp") || strings.Contains(name, "origin")
}

// TestKnownKeepsWhatIsThere: of hosts that were named, those that DNS knows are emitted,
// with who named them; addresses are there by themselves.
func TestKnownKeepsWhatIsThere(t *testing.T) {
	_, c := lab(t)
	named := []string{"www.lab.example", "missing1.lab.example", "made1.wild.lab.example", "gone1.lab.example",
		"127.9.9.9", "www.elsewhere.example", "silent0.lab.example"}
	c.Steps = []discover.Step{discover.DNSResolve}
	var got []string
	report, err := open(t, c).LookUp(t.Context(), "named", func(yield func(discover.Name) bool) {
		for _, host := range named {
			if !yield(discover.Name{Host: host, Sources: []discover.SourceRef{{Source: "input"}}}) {
				return
			}
		}
	}, func(n discover.Name) error {
		if len(n.Sources) != 1 || n.Sources[0].Source != "input" {
			t.Errorf("%+v", n)
		}
		got = append(got, n.Host)
		return nil
	})
	slices.Sort(got)
	want := []string{"127.9.9.9", "gone1.lab.example", "made1.wild.lab.example", "www.lab.example"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, not %v; %v", got, want, err)
	}
	if report.Count != len(want) || report.State != discover.SourceLimited || !strings.Contains(report.Detail, "1 of ") {
		t.Errorf("%+v", report)
	}
}

// TestRangesLeadToNames: an address brings the names that DNS gives to it where they are
// looked for, and those of other domains stay what they are: records.
func TestRangesLeadToNames(t *testing.T) {
	_, c := lab(t)
	c.Steps = []discover.Step{discover.DNSResolve}
	ranges := []netip.Prefix{netip.MustParsePrefix("127.3.0.0/30")}
	for domain, want := range map[string]int{"lab.example": 4, "dc1.lab.example": 1, "elsewhere.example": 0} {
		c.Domains = []string{domain}
		led := 0
		_, err := open(t, c).Ranges(t.Context(), ranges, func(n discover.Name) error {
			if len(n.Sources) != 1 {
				t.Errorf("%+v", n)
			} else if s := n.Sources[0]; s.Source == "dns_reverse" {
				led++
				if a, err := netip.ParseAddr(s.Metadata["address"]); err != nil || !slices.Contains(n.IP, a) ||
					!strings.HasPrefix(n.Host, "node-000") {
					t.Errorf("%+v", n)
				}
			}
			return nil
		})
		if err != nil || led != want {
			t.Errorf("%s: %d names, not %d; %v", domain, led, want, err)
		}
	}
}

// TestRunStaysInItsScope: what is covered is looked at, what is left out is not dialled
// and is told.
func TestRunStaysInItsScope(t *testing.T) {
	_, c := lab(t)
	listen := func(host string) (port uint16) {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(conn, "SSH-2.0-lab\r\n")
				conn.Close()
			}
		}()
		return netip.MustParseAddrPort(l.Addr().String()).Port()
	}
	in, out := listen("127.0.77.1"), listen("127.0.77.2")
	c.Ports = fmt.Sprintf("%d,%d", in, out)
	c.Steps = []discover.Step{discover.PortScan}
	c.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.77.2/32")}
	p := open(t, c)
	places := map[string]bool{}
	report, err := p.Run(t.Context(), pipeline.Input{Ranges: []netip.Prefix{netip.MustParsePrefix("127.0.77.0/29")}},
		func(a discover.Asset) error {
			places[fmt.Sprintf("%s:%d", a.Host, a.Port)] = true
			return nil
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !places[fmt.Sprintf("127.0.77.1:%d", in)] || places[fmt.Sprintf("127.0.77.2:%d", out)] {
		t.Errorf("%v", places)
	}
	if report.Denials == 0 || !slices.ContainsFunc(report.Denied,
		func(d pipeline.Denial) bool { return strings.HasPrefix(d.Addr, "127.0.77.2") && d.Times > 0 }) {
		t.Errorf("%+v", report)
	}
	if len(places) != 2 { // the address and its door: those on which nothing answers are no assets
		t.Errorf("%v", places)
	}
	if report.Names != 7 || report.Probed != 7 || report.Assets != len(places) {
		t.Errorf("%+v", report.Progress)
	}
}

// TestRunEndsWithItsSink: when what is emitted cannot be taken, the run ends with that
// error, and leaves nothing running.
func TestRunEndsWithItsSink(t *testing.T) {
	_, c := lab(t)
	c.Steps = []discover.Step{discover.DNSBruteforce, discover.DNSResolve}
	full := errors.New("the disk is full")
	_, err := open(t, c).Run(t.Context(), pipeline.Input{Domains: []string{"lab.example"}},
		func(discover.Asset) error { return full }, nil)
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, c).Run(ctx, pipeline.Input{Domains: []string{"lab.example"}},
		func(discover.Asset) error { return nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDiff(t *testing.T) {
	before, after := pipeline.Observations{}, pipeline.Observations{}
	for _, a := range []discover.Asset{{Host: "a.test", Port: 80, Title: "Old", Technologies: []string{"nginx", "PHP"}},
		{Host: "b.test"}, {Host: "same.test", IP: []string{"::1", "::2"}}} {
		before.Add(a)
	}
	for _, a := range []discover.Asset{{Host: "a.test", Port: 80, Title: "New", Technologies: []string{"PHP", "nginx"}},
		{Host: "c.test", Port: 443, TLS: &discover.TLS{Serial: "1"}}, {Host: "same.test", IP: []string{"::2", "::1"}}} {
		after.Add(a)
	}
	got := fmt.Sprint(pipeline.Diff(before, after))
	if want := "[{changed a.test 80  [{title Old New}]} {gone b.test 0  []} {new c.test 443  []}]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
