package names_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/dnstest"
)

// world answers requests to every host of the internet.
type world func(r *http.Request) (status int, body string)

func (w world) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, body := w(r)
	if status == 0 { // nobody answers
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1,
		ProtoMinor: 1,
	}, nil
}

// find collects what Find says.
func find(
	t testing.TB, cfg names.Config, domain string, steps ...discover.Step,
) (map[string]discover.Name, names.Report) {
	t.Helper()
	got := map[string]discover.Name{}
	report, err := names.Find(t.Context(), cfg, domain, steps, func(n discover.Name) {
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

func sourceOf(t testing.TB, report names.Report, name string) discover.SourceReport {
	t.Helper()
	i := slices.IndexFunc(report.Sources, func(s discover.SourceReport) bool { return s.Source == name })
	if i < 0 {
		t.Fatalf("%s is not in the report: %+v", name, report.Sources)
	}
	return report.Sources[i]
}

// Words and permutations find what they can, and nothing that is not there.
func TestFindGuessesAndInventsNothing(t *testing.T) {
	z, _, cfg := lab(t)
	cfg.Timeout = 2 * time.Second
	got, report := find(t, cfg, "LAB.test.", discover.DNSBruteforce, discover.DNSPermute)
	for host, n := range got {
		want, is := z.Names[host]
		if ent := n.RCode == "NOERROR" && n.IP == nil && n.CNAME == nil; !is && !ent {
			t.Errorf("%s was invented: %+v", host, n)
		} else if is && !slices.Equal(n.IP, want.IP) {
			t.Errorf("%s: %v, want %v", host, n.IP, want.IP)
		}
	}
	for host, want := range z.Names {
		n, found := got[host]
		if want.By != dnslab.BySource && !found {
			t.Errorf("%s can be found by %s, and was not", host, want.By)
		} else if source := map[string]string{dnslab.ByWords: names.SourceBruteforce,
			dnslab.ByPermute: names.SourcePermute}[want.By]; found && source == names.SourceBruteforce &&
			n.Sources[0].Source != source {
			t.Errorf("%s was found by %v, want %s", host, n.Sources, source)
		}
	}
	for _, how := range []string{names.SourceBruteforce, names.SourcePermute} {
		if s := sourceOf(t, report, how); s.State != discover.SourceOK || s.Count < 15 || s.About != "lab.test" ||
			s.Detail == "" {
			t.Errorf("%s reports %+v", how, s)
		}
	}
	if len(report.Sources) != 2 {
		t.Errorf("steps that were not asked for: %+v", report.Sources)
	}
}

// Each way in which a source behaves has its own state, and no key is told.
func TestSourcesReportHowTheyBehave(t *testing.T) {
	t.Parallel()
	_, _, cfg := lab(t)
	cfg.SourceTimeout = 3 * time.Second
	const key = "s3cretkey"
	cfg.Keys = map[string][]string{"Chaos": {key}, "virustotal": {key}, "shodan": {key}, "moon": {key}, "netlas": nil}
	cfg.Allow = func(host string) bool { return host != "secret.lab.test" }
	page := 0
	cfg.Client = &http.Client{Transport: world(func(r *http.Request) (int, string) {
		if agent := r.Header.Get("User-Agent"); agent != "vedette" {
			t.Errorf("%s hears of a %s", r.URL.Host, agent)
		}
		switch r.URL.Host {
		case "crt.sh":
			return 200, `[{"common_name":"LAB.test","name_value":"*.a.lab.test\nsecret.lab.test\nme@b.lab.test\nnotlab.test\nx y.lab.test"}]`
		case "api.certspotter.com":
			if page++; page > 1 {
				return 429, ""
			}
			return 200, `[{"id":"1","dns_names":["c.lab.test"]}]`
		case "dns.projectdiscovery.io":
			return 401, `{"error":"` + key + `"}`
		case "api.hackertarget.com":
			return 200, "API count exceeded - Increase Quota with Membership"
		case "otx.alienvault.com":
			return 200, `{"passive_dns":[]}`
		case "urlscan.io":
			return 0, ""
		case "api.shodan.io":
			return 403, ""
		case "anubisdb.com", "jonlu.ca", "jldc.me":
			return 200, "<html>"
		}
		if strings.Contains(r.URL.Host, "virustotal") {
			return 500, "https://x/?key=" + key
		}
		return 403, ""
	})}
	got, report := find(t, cfg, "lab.test", discover.DNSPassive)
	for name, want := range map[string]discover.SourceReport{
		"crtsh":        {State: discover.SourceOK, Count: 3},
		"certspotter":  {State: discover.SourceLimited, Count: 1},
		"chaos":        {State: discover.SourceKey},
		"shodan":       {State: discover.SourceKey},
		"hackertarget": {State: discover.SourceLimited},
		"alienvault":   {State: discover.SourceEmpty},
		"urlscan":      {State: discover.SourceTimedOut},
		"virustotal":   {State: discover.SourceFailed},
		"anubis":       {State: discover.SourceFailed},
		"robtex":       {State: discover.SourceSkipped},
		"netlas":       {State: discover.SourceSkipped},
		"moon":         {State: discover.SourceSkipped},
		"threatcrowd":  {State: discover.SourceBlocked},
	} {
		s := sourceOf(t, report, name)
		if s.State != want.State || s.Count != want.Count || s.About != "lab.test" {
			t.Errorf("%s reports %+v, want %s with %d", name, s, want.State, want.Count)
		}
		if strings.Contains(s.Detail, key) {
			t.Errorf("%s tells the key: %q", name, s.Detail)
		}
		if bad := s.State != discover.SourceOK && s.State != discover.SourceEmpty; bad && s.Detail == "" {
			t.Errorf("%s does not say why it is %s", name, s.State)
		}
	}
	var hosts []string
	for host, n := range got {
		hosts = append(hosts, host)
		if len(n.Sources) != 1 || n.Domain != "lab.test" || n.RCode != "" {
			t.Errorf("%+v", n)
		}
	}
	slices.Sort(hosts)
	if want := []string{"a.lab.test", "b.lab.test", "c.lab.test", "lab.test"}; !slices.Equal(hosts, want) {
		t.Errorf("names: %v, want %v", hosts, want)
	}
}

// every is a key for each source that wants one, of every form at once.
func every() map[string][]string {
	keys := map[string][]string{}
	for name := range names.SourceNames() {
		keys[name] = []string{"left:right", "plainkey"}
	}
	return keys
}

// No source dials on its own: all are asked, and nobody's name is looked up.
func TestSourcesGoThroughTheClientAlone(t *testing.T) {
	_, _, cfg := lab(t)
	cfg.Keys = every()
	resolver, transport := net.DefaultResolver, http.DefaultTransport
	t.Cleanup(func() { net.DefaultResolver, http.DefaultTransport = resolver, transport })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a source looks a name up by itself")
		return nil, errors.New("no")
	}}
	http.DefaultTransport = world(func(r *http.Request) (int, string) {
		t.Errorf("%s was asked past the client", r.URL.Host)
		return 404, ""
	})
	cfg.SourceTimeout = 3 * time.Second
	cfg.Client = &http.Client{Transport: world(func(*http.Request) (int, string) { return 200, "{}" })}
	_, report := find(t, cfg, "lab.test", discover.DNSPassive, discover.DNSScraping)
	if len(report.Sources) < 40 {
		t.Errorf("%d sources", len(report.Sources))
	}
	for _, s := range report.Sources {
		if s.State == discover.SourceSkipped || s.State == discover.SourceOK || s.Detail == "it asked nothing" {
			t.Errorf("%s: %s with %d (%s)", s.Source, s.State, s.Count, s.Detail)
		}
	}
}

// The guard decides for sources as for everybody.
func TestSourcesAreGuarded(t *testing.T) {
	_, _, cfg := lab(t)
	private := dnstest.Start(t)
	private.Set("crt.sh", []string{"127.0.0.1"})
	cfg.Client = (&netguard.Guard{Resolver: private.Resolver()}).Client(time.Minute)
	cfg.Sources = []string{"crtsh", "nobody"}
	_, report := find(t, cfg, "lab.test", discover.DNSPassive)
	if s := sourceOf(t, report, "crtsh"); s.State != discover.SourceBlocked || s.Count != 0 {
		t.Errorf("a denied source reports %+v", s)
	}
	if s := sourceOf(t, report, "nobody"); s.State != discover.SourceSkipped {
		t.Errorf("an unknown source reports %+v", s)
	}
}

// Sources that answer anything but what they should end, and take nothing down.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	_, _, cfg := lab(t)
	cfg.Keys = every()
	cfg.SourceTimeout = 300 * time.Millisecond
	long := string(bytes.Repeat([]byte("x.lab.test "), 200_000))
	for _, body := range []string{
		"null", "[null]", "\x00\xff", `{"data":[null],"results":[{}],"passive_dns":[{}],"subdomains":[null],"hits":null}`,
		`{"data":{"sub_domains":{"total":"9"}},"status":"SUCCESS","result":{"hits":[{}],"links":{"next":"a"}},"message":"s"}`,
		`["a.lab.test","\u0000","` + strings.Repeat("a.", 200) + `lab.test"]`, long,
	} {
		cfg.Client = &http.Client{Transport: world(func(*http.Request) (int, string) { return 200, body })}
		got, _ := find(t, cfg, "lab.test", discover.DNSPassive, discover.DNSScraping)
		for host := range got {
			if host != "a.lab.test" && host != "x.lab.test" && host != "lab.test" {
				t.Errorf("%.40q names %q", body, host)
			}
		}
	}
}

func TestRanges(t *testing.T) {
	_, _, cfg := lab(t)
	cfg.RangesURL = "https://ranges.example/?resource=%s"
	if _, report := names.Ranges(t.Context(), cfg, "AS64500"); report.State != discover.SourceSkipped {
		t.Errorf("without a client: %+v", report)
	}
	cfg.Client = &http.Client{Transport: world(func(r *http.Request) (int, string) {
		if r.URL.RawQuery != "resource=AS64500" {
			t.Errorf("asked for %s", r.URL)
		}
		return 200, `{"data":{"prefixes":[{"prefix":"127.1.0.0/29"},{"prefix":"x"},{"prefix":"fd00::1/64"}]}}`
	})}
	ranges, report := names.Ranges(t.Context(), cfg, "as64500")
	want := []netip.Prefix{netip.MustParsePrefix("127.1.0.0/29"), netip.MustParsePrefix("fd00::/64")}
	if !slices.Equal(ranges, want) || report.State != discover.SourceOK || report.Count != 2 {
		t.Errorf("%v %+v", ranges, report)
	}
	if _, report := names.Ranges(t.Context(), cfg, "AS1 or"); report.State != discover.SourceSkipped {
		t.Errorf("no number: %+v", report)
	}
}

// TestRoutesOfARegistry reads what registries of routes answer, and what they say instead.
func TestRoutesOfARegistry(t *testing.T) {
	many := strings.Repeat("route: 192.0.2.0/24\norigin: AS64500\n\n", 1000)
	for name, c := range map[string]struct {
		answer string
		want   string
		state  discover.SourceState
	}{
		"routes": {"% a registry\r\n\r\nroute:  192.0.2.0/24 # ours\r\ndescr:  route: 10.0.0.0/8\r\norigin: as64500\r\n\r\nroute6: 2001:DB8::1/32\norigin:AS64500\n\nroute: 198.51.100.0/24\norigin: AS645000\n",
			"[192.0.2.0/24 2001:db8::/32]", discover.SourceOK},
		"often":   {many, "[192.0.2.0/24]", discover.SourceOK},
		"nothing": {"%ERROR:101: no entries found\n%\n% No entries found in source RADB.\n", "[]", discover.SourceEmpty},
		"denied":  {"%ERROR:201: access denied for 192.0.2.1\n", "[]", discover.SourceLimited},
		"broken":  {"%ERROR:306: connections exhausted \x1b[31m\n", "[]", discover.SourceFailed},
		"silence": {"", "[]", discover.SourceFailed},
		"garbage": {"route: \x00\xff\norigin: AS64500\n\nroute\n:::\norigin\n", "[]", discover.SourceEmpty},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if question, _ := bufio.NewReader(conn).ReadString('\n'); question != "-K -i origin AS64500\r\n" {
				t.Errorf("asked %q", question)
			}
			_, _ = io.WriteString(conn, c.answer)
		}()
		cfg := names.Config{RangesURL: "whois://" + l.Addr().String(), RangesDial: (&net.Dialer{}).DialContext}
		found, report := names.Ranges(t.Context(), cfg, "AS64500")
		if fmt.Sprint(found) != c.want || report.State != c.state || report.Count != len(found) ||
			strings.Contains(report.Detail, "\x1b") {
			t.Errorf("%s: %v %+v", name, found, report)
		}
	}
	if _, report := names.Ranges(t.Context(),
		names.Config{RangesURL: "whois://127.0.0.1", RangesDial: (&netguard.Guard{}).Dial},
		"AS64500"); report.State != discover.SourceBlocked {
		t.Errorf("a private registry: %+v", report)
	}
}

func TestOrigin(t *testing.T) {
	_, s, _ := lab(t)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Addr)
	}}
	for addr, want := range map[string]string{
		"127.1.0.1":        "{AS64500 LAB-1, ZZ ZZ [127.0.0.0/8]}",
		"::ffff:127.1.0.1": "{AS64500 LAB-1, ZZ ZZ [127.0.0.0/8]}",
		"fd00:100::1":      "{AS64500 LAB-1, ZZ ZZ [fd00::/8]}",
	} {
		got, err := names.Origin(t.Context(), resolver, "origin.asn.lab.test", netip.MustParseAddr(addr))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", addr, got, err, want)
		}
	}
	if got, err := names.Origin(t.Context(), resolver, "origin.asn.lab.test",
		netip.MustParseAddr("192.0.2.1")); err == nil {
		t.Errorf("nobody's address: %v", got)
	}
}
