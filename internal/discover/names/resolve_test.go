package names_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// lab is a server for a zone of 5,000 names, and a Config that asks it.
func lab(t testing.TB) (*dnslab.Zone, *dnslab.Server, names.Config) {
	t.Helper()
	z := dnslab.Generate("lab.test", 5000)
	s := dnslab.Start(t, z)
	return z, s, names.Config{Resolvers: []string{s.Addr}, Domains: []string{"lab.test"}, Timeout: time.Second, Retries: 3}
}

// resolve collects what Resolve says.
func resolve(t testing.TB, cfg names.Config, hosts ...string) (map[string]discover.Name, names.Report) {
	t.Helper()
	got := map[string]discover.Name{}
	report, err := names.Resolve(t.Context(), cfg, slices.Values(hosts), func(n discover.Name) {
		if _, twice := got[n.Host]; twice {
			t.Errorf("%s comes twice", n.Host)
		}
		got[n.Host] = n
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, report
}

// Everything that is there is found and told as it is; what a wildcard makes up or what is
// not there is told as such.
func TestResolveFindsTheTruthOf5000Names(t *testing.T) {
	z, _, cfg := lab(t)
	before := runtime.NumGoroutine()
	asked := z.Questions()
	slices.Reverse(asked) // those made up first: a wildcard is known by nothing but its samples
	got, report := resolve(t, cfg, asked...)
	if len(got) != len(asked) || report.Asked != len(asked) {
		t.Errorf("%d names asked, %d told, %d counted", len(asked), len(got), report.Asked)
	}
	real := 0
	for _, host := range asked {
		n := got[host]
		want, is := z.Names[host]
		if !is {
			if names.Exists(n) {
				t.Errorf("%s was invented: %+v", host, n)
			}
			continue
		}
		exists := want.RCode == "NOERROR" || len(want.CNAME) > 0
		if exists {
			real++
		}
		if n.RCode != want.RCode || names.Exists(n) != exists || (n.Dangling != "") != want.Dangling ||
			!slices.Equal(n.IP, want.IP) || !want.Loop && !slices.Equal(n.CNAME, want.CNAME) || want.Loop && len(n.CNAME) == 0 {
			t.Errorf("%s: %+v, want %+v", host, n, want)
		}
	}
	if report.Found != real || report.TimedOut != 5 || report.Malformed != 5 {
		t.Errorf("counted: %d found of %d, %d without answer, %d malformed", report.Found, real, report.TimedOut,
			report.Malformed)
	}
	for _, w := range z.Wildcards {
		if !slices.Contains(report.Wildcards, "*."+w) {
			t.Errorf("the wildcard at %s is not reported: %v", w, report.Wildcards)
		}
	}
	if said := got["gone3.lab.test"].Dangling; !strings.Contains(said, "Azure") {
		t.Errorf("gone3 dangles, and the service is not named: %q", said)
	}
	wait(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
}

// wait waits until a condition holds.
func wait(t testing.TB, otherwise string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatal(otherwise)
		}
		runtime.Gosched()
	}
}
