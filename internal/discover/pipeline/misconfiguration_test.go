package pipeline_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
)

// TestWhatIsWrongIsTold: an alias that leads to nothing, and one to a service whose page
// says that nobody holds it.
func TestWhatIsWrongIsTold(t *testing.T) {
	_, c := lab(t)
	l, err := net.Listen("tcp", "127.0.78.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<p>There isn't a GitHub Pages site here.</p>")
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	a := netip.MustParseAddrPort(l.Addr().String())
	c.Ports = fmt.Sprint(a.Port())
	c.Steps = []discover.Step{discover.PortScan, discover.HTTPProbe}
	wrong := map[string]string{}
	_, err = open(t, c).Probe(t.Context(), []pipeline.Target{
		{Name: discover.Name{Host: "gone.lab.example", CNAME: []string{"gone.azurewebsites.net"},
			Dangling: "Microsoft Azure: gone.azurewebsites.net does not exist and can be claimed"}},
		{Name: discover.Name{Host: "pages.lab.example", CNAME: []string{"team.github.io"}, IP: []netip.Addr{a.Addr()}}},
		{Name: discover.Name{Host: "good.lab.example", CNAME: []string{"elsewhere.example"}, IP: []netip.Addr{a.Addr()}}},
	}, func(a discover.Asset) error {
		for _, m := range a.Misconfiguration {
			wrong[fmt.Sprintf("%s %t %s", a.Host, a.Port > 0, m.Type)] = m.Detail
		}
		return nil
	})
	if err != nil || len(wrong) != 2 ||
		!strings.Contains(wrong["gone.lab.example false dangling_dns"], "Microsoft Azure") ||
		!strings.Contains(wrong["pages.lab.example true dangling_dns"], "GitHub Pages: team.github.io") {
		t.Errorf("%v %v", wrong, err)
	}
}
