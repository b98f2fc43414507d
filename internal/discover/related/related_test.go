package related

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

// world is local servers that speak as the places do.
type world struct {
	mux   *http.ServeMux
	base  string
	whois map[string]string // question → answer
	urls  map[string]string
	keys  map[string]string
}

func newWorld(t *testing.T) *world {
	w := &world{mux: http.NewServeMux(), whois: map[string]string{}, keys: map[string]string{}}
	server := httptest.NewServer(w.mux)
	t.Cleanup(server.Close)
	w.base = server.URL
	w.urls = map[string]string{
		CRTSh: w.base + "/crtsh", CertSpotter: w.base + "/certspotter", RDAP: w.base + "/rdap/", Bootstrap: Off,
		Wikidata: w.base + "/wikidata", Crunchbase: w.base + "/crunchbase/",
		Whois: serveWhois(t, func(q string) string { return w.whois[q] }),
	}
	return w
}

// serveWhois runs a server on port-43 terms until the test ends.
func serveWhois(t *testing.T, answer func(question string) string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			go func() {
				defer conn.Close()
				if q, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					_, _ = io.WriteString(conn, answer(strings.TrimSpace(q)))
				}
			}()
		}
	}()
	return l.Addr().String()
}

func (w *world) finder(t *testing.T) *Finder {
	t.Helper()
	open := &http.Client{Transport: &http.Transport{}}
	dial := (&net.Dialer{}).DialContext
	f, err := New(Config{HTTP: refuser(), Dial: refuse, OwnHTTP: open, OwnDial: dial, URLs: w.urls, Keys: w.keys,
		Timeout: time.Minute, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// refuse stands for the public internet, which no test reaches.
func refuse(_ context.Context, _, addr string) (net.Conn, error) {
	return nil, fmt.Errorf("a test dialled %s", addr)
}

func refuser() *http.Client { return &http.Client{Transport: &http.Transport{DialContext: refuse}} }

// find searches, and gives the last answer of each place.
func (w *world) find(t *testing.T, domain string) map[string]discover.AssociatedAnswer {
	t.Helper()
	out := map[string]discover.AssociatedAnswer{}
	var mu sync.Mutex
	w.finder(t).Find(t.Context(), domain, func(a discover.AssociatedAnswer) {
		if !mu.TryLock() {
			t.Error("two answers are told at once")
			return
		}
		defer mu.Unlock()
		out[a.Report.Source] = a
	})
	return out
}

func domains(list []discover.Associated) string {
	var out []string
	for _, a := range list {
		out = append(out, a.Domain)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func evidenceOf(t *testing.T, a discover.AssociatedAnswer, domain string) discover.Evidence {
	t.Helper()
	for _, f := range a.Found {
		if f.Domain == domain {
			return f.Evidence
		}
	}
	t.Fatalf("%s did not find %s: %+v", a.Report.Source, domain, a)
	return discover.Evidence{}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func rdapDocument(domain, org, registrar string, ns ...string) string {
	var servers []string
	for _, host := range ns {
		servers = append(servers, fmt.Sprintf(`{"objectClassName":"nameserver","ldhName":%q}`, host))
	}
	return fmt.Sprintf(`{"objectClassName":"domain","rdapConformance":["rdap_level_0","redacted"],"ldhName":%q,"port43":"whois.registry.example",
"events":[{"eventAction":"registration","eventDate":"1999-04-01T00:00:00Z"},{"eventAction":"expiration","eventDate":"2030-04-01T00:00:00Z"},{"eventAction":"last changed","eventDate":"2026-02-03T04:05:06Z"}],
"nameservers":[%s],"entities":[
{"objectClassName":"entity","roles":["registrar"],"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text",%q]]],
 "entities":[{"objectClassName":"entity","roles":["abuse"],"vcardArray":["vcard",[["version",{},"text","4.0"],["email",{},"text","abuse@registrar-mail.com"]]]}]},
{"objectClassName":"entity","roles":["registrant"],"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text",""],["kind",{},"text","org"],["org",{"type":"work"},"text",[%q,"IT"]],["email",{},"text","hostmaster@acme-mail.net"]]]}],
"redacted":[{"name":{"description":"Registrant Name"},"method":"emptyValue"}]}`, domain, strings.Join(servers, ","),
		registrar, org)
}

func TestFindOverEverySource(t *testing.T) {
	w := newWorld(t)
	w.keys[Crunchbase] = "secret"
	w.mux.HandleFunc("/crtsh", func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("q") {
		case "acme.com":
			_, _ = io.WriteString(rw, `[{"issuer_ca_id":1,"issuer_name":"C=US, O=\"Example CA, Inc.\", CN=R1","common_name":"www.acme.com","name_value":"*.acme.com\nacme.com\nadmin@acme-people.com\nshop.acme-store.com\nACME-STORE.com.\nvpn.acme-store.com","id":7,
"entry_timestamp":"2026-01-01T00:00:00.1","not_before":"2026-01-01T00:00:00","not_after":"2026-04-01T00:00:00","serial_number":"0a1b","result_count":5}, 7, {"id":8,"common_name":null,"name_value":"acme.com"}]`)
		case "Acme Corporation":
			_, _ = io.WriteString(rw, `[{"issuer_name":"O=Example CA","common_name":"acme-labs.io","name_value":"Acme Corporation","id":9,"not_before":"2025-01-01T00:00:00","not_after":"2026-04-01T00:00:00","serial_number":"0c"}]`)
		default:
			http.Error(rw, "no", http.StatusNotFound)
		}
	})
	pages := map[string]string{
		"":  `[{"id":"1","dns_names":["acme.com","acme-pay.com"],"issuer":{"friendly_name":"Let's Encrypt"},"not_before":"2026-01-01T00:00:00Z","not_after":"2026-04-01T00:00:00Z"},{"id":"2","dns_names":["acme.com"]}]`,
		"2": `[{"id":"3","dns_names":["mail.acme.com","a.acme-three.org"],"issuer":{"name":"C=US, O=Other CA, CN=X"},"not_before":"2026-01-01T00:00:00Z"}]`,
		"3": `[]`,
	}
	w.mux.HandleFunc("/certspotter", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, pages[r.URL.Query().Get("after")])
	})
	registrations := map[string]string{
		"acme.com": rdapDocument("acme.com", "Acme Corporation", "Big Registrar", "ns1.acme-dns.net",
			"ns2.acme-dns.net"),
		"acme.net":       rdapDocument("acme.net", "ACME Corp.", "Other Registrar", "ns1.else.org"),
		"acme.io":        rdapDocument("acme.io", "Stranger Ltd", "Other Registrar", "ns1.else.org"),
		"acme-dns.net":   rdapDocument("acme-dns.net", "", "Big Registrar", "ns1.acme-dns.net"),
		"acme-mail.net":  rdapDocument("acme-mail.net", "Domains By Proxy, LLC", "Big Registrar", "ns1.else.org"),
		"acme-store.com": rdapDocument("acme-store.com", "Acme Corporation", "Big Registrar", "ns1.else.org"),
	}
	w.mux.HandleFunc("/rdap/domain/{name}", func(rw http.ResponseWriter, r *http.Request) {
		doc, ok := registrations[r.PathValue("name")]
		if !ok {
			rw.WriteHeader(http.StatusNotFound)
		}
		rw.Header().Set("Content-Type", "application/rdap+json")
		_, _ = io.WriteString(rw, doc)
	})
	w.mux.HandleFunc("/wikidata", text(wikidataAnswer))
	w.mux.HandleFunc("POST /crunchbase/searches/organizations", func(rw http.ResponseWriter, r *http.Request) {
		query, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Cb-User-Key") != "secret" {
			rw.WriteHeader(http.StatusUnauthorized)
		} else if strings.Contains(string(query), "domain_eq") {
			_, _ = io.WriteString(rw, `{"count":1,"entities":[{"uuid":"u1","properties":{"identifier":{"permalink":"acme","value":"Acme","uuid":"u1"},"website_url":"https://acme.com"}}]}`)
		} else {
			_, _ = io.WriteString(rw, `{"entities":[{"uuid":"u2","properties":{"identifier":{"permalink":"rocket","value":"Rocket"},"website_url":{"value":"http://www.rocket-works.com/"}}},{"uuid":"u3","properties":{"website_url":"https://facebook.com/rocket"}}]}`)
		}
	})
	w.mux.HandleFunc("/crunchbase/entities/organizations/acme",
		text(`{"cards":{"acquirer_acquisitions":[{"announced_on":{"value":"2019-05-06","precision":"day"},"acquiree_identifier":{"permalink":"rocket","value":"Rocket","uuid":"u2"}},{"acquiree_identifier":{"uuid":"u3"}}]}}`))

	got := w.find(t, "acme.com")
	want := map[string]string{
		CRTSh: "acme-labs.io acme-store.com", CertSpotter: "acme-pay.com acme-three.org",
		RDAP: "acme-dns.net acme-store.com acme.net", Whois: "",
		Wikidata: "acme-parent.com acme-robots.de", Crunchbase: "rocket-works.com",
	}
	for name, domainsWanted := range want {
		if have := domains(got[name].Found); have != domainsWanted {
			t.Errorf("%s found %q, want %q (%+v)", name, have, domainsWanted, got[name].Report)
		}
	}
	states := map[string]discover.SourceState{}
	for name, a := range got {
		states[name] = a.Report.State
		if a.Report.Count != len(a.Found) || a.Report.About != "acme.com" {
			t.Errorf("%+v", a.Report)
		}
	}
	if ok := discover.SourceOK; !maps.Equal(states,
		map[string]discover.SourceState{CRTSh: ok, CertSpotter: ok, RDAP: ok, Whois: discover.SourceSkipped, Wikidata: ok,
			Crunchbase: ok}) {
		t.Errorf("states: %v", states)
	}
	for _, c := range []struct {
		place, domain string
		want          discover.Evidence
	}{
		{CRTSh, "acme-store.com", discover.Evidence{CertCommonName: "www.acme.com", CertIssuer: "Example CA, Inc.",
			CertSerial: "0a1b", CertIssuedDate: "2026-01-01", CertExpiryDate: "2026-04-01", SearchIdentifier: "acme.com",
			SubdomainCount: 2}},
		{CRTSh, "acme-labs.io", discover.Evidence{CertCommonName: "acme-labs.io", CertIssuer: "Example CA", CertSerial: "0c",
			CertOrgName: "Acme Corporation", OrgName: "Acme Corporation", CertIssuedDate: "2025-01-01",
			CertExpiryDate: "2026-04-01", SearchIdentifier: "Acme Corporation"}},
		{RDAP, "acme.net", discover.Evidence{RegistrantOrg: "ACME Corp.", OrgName: "ACME Corp.", Registrar: "Other Registrar",
			WhoisServer: "whois.registry.example", RegistrationDate: "1999-04-01", UpdateDate: "2026-02-03",
			ExpiryDate: "2030-04-01", SearchIdentifier: "Acme Corporation"}},
		{RDAP, "acme-dns.net", discover.Evidence{Registrar: "Big Registrar", WhoisServer: "whois.registry.example",
			RegistrationDate: "1999-04-01", UpdateDate: "2026-02-03", ExpiryDate: "2030-04-01",
			SearchIdentifier: "ns1.acme-dns.net"}},
		{Wikidata, "acme-robots.de", discover.Evidence{AcquiredCompany: "Acme Robots", AcquirerName: "Acme",
			AcquiredDate: "2015-03-01", OrgName: "Acme Robots", SearchIdentifier: "Q1",
			CrunchbaseURL: "https://www.crunchbase.com/organization/acme-robots"}},
		{Wikidata, "acme-parent.com", discover.Evidence{AcquiredCompany: "Acme", AcquirerName: "Acme Parent",
			OrgName: "Acme Parent", SearchIdentifier: "Q1"}},
		{Crunchbase, "rocket-works.com",
			discover.Evidence{AcquiredCompany: "Rocket", AcquirerName: "Acme", AcquiredDate: "2019-05-06", OrgName: "Rocket",
				SearchIdentifier: "acme", CrunchbaseURL: "https://www.crunchbase.com/organization/rocket"}},
	} {
		if have := evidenceOf(t, got[c.place], c.domain); have != c.want {
			t.Errorf("%s of %s:\n%+v, want\n%+v", c.place, c.domain, have, c.want)
		}
	}
}

// wikidataAnswer has a subsidiary, a parent, one that was sold, a fund with a small share,
// two owners of whom nobody tells the share, and a page on a platform.
const wikidataAnswer = `{"head":{"vars":["company"]},"results":{"bindings":[
{"company":{"type":"uri","value":"http://www.wikidata.org/entity/Q1"},"companyLabel":{"value":"Acme"},"other":{"value":"http://www.wikidata.org/entity/Q2"},"otherLabel":{"value":"Acme Robots"},"website":{"value":"https://www.acme-robots.de/en/"},"down":{"value":"true"},"kind":{"value":"subsidiary"},"start":{"value":"2015-03-01T00:00:00Z"},"crunchbase":{"value":"acme-robots"}},
{"company":{"value":"http://www.wikidata.org/entity/Q1"},"companyLabel":{"value":"Acme"},"other":{"value":"http://www.wikidata.org/entity/Q3"},"otherLabel":{"value":"Acme Parent"},"website":{"value":"https://acme-parent.com"},"down":{"value":"false"},"kind":{"value":"subsidiary"}},
{"company":{"value":"Q1"},"other":{"value":"Q4"},"website":{"value":"https://sold.com"},"down":{"value":"true"},"kind":{"value":"subsidiary"},"end":{"value":"2020-01-01T00:00:00Z"}},
{"company":{"value":"Q1"},"other":{"value":"Q5"},"website":{"value":"https://fund.com"},"down":{"value":"false"},"kind":{"value":"owned"},"share":{"value":"0.08"}},
{"company":{"value":"Q1"},"other":{"value":"Q6"},"website":{"value":"https://one-of-two.com"},"down":{"value":"false"},"kind":{"value":"owned"}},
{"company":{"value":"Q1"},"other":{"value":"Q7"},"website":{"value":"https://facebook.com/acme"},"down":{"value":"true"},"kind":{"value":"subsidiary"}},
{"company":{"value":"Q1"},"other":{"value":"Q8"},"website":{"value":"not a site"},"down":{"value":"true"},"kind":{"value":"subsidiary"}},
{"website":null}
]}}`
