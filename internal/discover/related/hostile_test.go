package related

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// only asks one place of a world in which the others are off.
func (w *world) only(place string) *world {
	for name := range w.urls {
		if name != place {
			w.urls[name] = Off
		}
	}
	return w
}

// TestPlacesThatMisbehave lets crt.sh answer oddly: the report says how, and what came
// before counts.
func TestPlacesThatMisbehave(t *testing.T) {
	const one = `{"id":0,"common_name":"acme.com","name_value":"acme.com\nb.com","serial_number":"1"}`
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		state discover.SourceState
		found string
	}{
		"nothing":       {text(`[]`), discover.SourceEmpty, ""},
		"null":          {text(`null`), discover.SourceEmpty, ""},
		"no bytes":      {text(``), discover.SourceEmpty, ""},
		"not found":     {http.NotFound, discover.SourceEmpty, ""},
		"a page at 200": {text("\n <!DOCTYPE html><p>busy"), discover.SourceFailed, ""},
		"a page with a type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "["+one+"]")
		}, discover.SourceOK, "b.com"},
		"words":              {text("try later"), discover.SourceFailed, ""},
		"an object":          {text(`{"error":"x"}`), discover.SourceFailed, ""},
		"cut off":            {text("[" + one + `,{"id":1,"common_n`), discover.SourceLimited, "b.com"},
		"cut off behind one": {text("[" + one), discover.SourceLimited, "b.com"},
		"odd elements":       {text(`[1,"x",null,[],{"id":"x"},` + one + `]`), discover.SourceOK, "b.com"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			discover.SourceBlocked, ""},
		"too often": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, discover.SourceLimited, ""},
		"down": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, discover.SourceFailed,
			""},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, discover.SourceFailed, ""},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}, discover.SourceTimedOut, ""},
		"silent in between": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "["+one+",")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}, discover.SourceTimedOut, "b.com"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "["+one)
			line := strings.Repeat(" ", 1<<20)
			for {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}, discover.SourceLimited, "b.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).only(CRTSh)
			w.mux.HandleFunc("/crtsh", c.serve)
			f := w.finder(t)
			f.c.Timeout = time.Minute
			if c.state == discover.SourceTimedOut {
				f.c.Timeout = 2 * time.Second // in which what is sent at once arrives
			}
			var got discover.AssociatedAnswer
			f.Find(t.Context(), "acme.com", func(a discover.AssociatedAnswer) {
				if a.Report.Source == CRTSh {
					got = a
				}
			})
			if got.Report.State != c.state || domains(got.Found) != c.found {
				t.Errorf("%+v, found %q", got.Report, domains(got.Found))
			}
			if wrong := c.state != discover.SourceOK && c.state != discover.SourceEmpty; wrong != (got.Report.Detail != "") {
				t.Errorf("detail %q", got.Report.Detail)
			}
		})
	}
}

func TestSecondTry(t *testing.T) {
	w := newWorld(t).only(CRTSh)
	var asked atomic.Int32
	w.mux.HandleFunc("/crtsh", func(rw http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < maxTries {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(rw, `[{"common_name":"b.com","name_value":"acme.com"}]`)
	})
	if got := w.find(t, "acme.com")[CRTSh]; domains(got.Found) != "b.com" || asked.Load() != maxTries {
		t.Errorf("%+v after %d requests", got, asked.Load())
	}
}

func TestKeysAndRules(t *testing.T) {
	w := newWorld(t).only(CertSpotter)
	w.keys[CertSpotter] = "k"
	w.mux.HandleFunc("/certspotter", func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("the key is %q", r.Header.Get("Authorization"))
		}
		rw.WriteHeader(http.StatusForbidden)
	})
	got := w.find(t, "acme.com")
	if s := got[CertSpotter].Report.State; s != discover.SourceKey {
		t.Errorf("a key that is not taken: %s", s)
	}
	if s := got[CRTSh].Report; s.State != discover.SourceSkipped || s.Detail == "" {
		t.Errorf("a source that is off: %+v", s)
	}
	// What the operator did not name is the world's: a guard refuses loopback.
	guard := &netguard.Guard{}
	f, err := New(Config{HTTP: guard.Client(time.Second), Dial: guard.Dial, URLs: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.endpoints[CRTSh]
	p.base = w.base + "/crtsh"
	_, err = p.crtsh(t.Context(), "acme.com")
	if state, _ := discover.StateOf(err, false); state != discover.SourceFailed && state != discover.SourceBlocked {
		t.Errorf("loopback on the world's word: %v", err)
	}
	if _, err := (endpoint{base: "whois.example:43", dialPublic: guard.Dial, dial: guard.Dial}).whois(t.Context(),
		"127.0.0.1:43", "acme.com"); !errors.As(err, new(*netguard.Denied)) {
		t.Errorf("WHOIS at loopback on the world's word: %v", err)
	}
	for entry, ok := range map[string]bool{
		"crtsh=https://crt.example/": true, "crtsh=off": true, "crtsh=ftp://x": false, "crtsh=x": false, "whois=a:43": true,
		"whois=a": false, "zzz=off": false, "rdap=https://u:p@x/": false,
	} {
		name, value, _ := strings.Cut(entry, "=")
		if err := CheckURL(name, value); (err == nil) != ok {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// issue makes a certificate of an organization for some names.
func issue(t *testing.T, org string, names ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(0xabc), Subject: pkix.Name{CommonName: names[0], Organization: []string{org}},
		Issuer:   pkix.Name{Organization: []string{"CA"}},
		DNSNames: names, NotBefore: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		NotAfter: time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestOrganizationOfCertificates: what is in the certificate itself leads on to the
// certificates of its organization.
func TestOrganizationOfCertificates(t *testing.T) {
	w := newWorld(t).only(CRTSh)
	der := issue(t, "Acme Works GmbH", "acme.com", "acme-works.de")
	w.mux.HandleFunc("/crtsh", func(rw http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("d") == "5":
			_ = pem.Encode(rw, &pem.Block{Type: "CERTIFICATE", Bytes: der})
		case q.Get("q") == "Acme Works GmbH":
			_, _ = io.WriteString(rw, `[{"id":6,"common_name":"www.acme-other.at","name_value":"Acme Works GmbH"}]`)
		default:
			_, _ = io.WriteString(rw, `[{"id":5,"common_name":"acme.com","name_value":"acme.com","serial_number":"0abc"}]`)
		}
	})
	got := w.find(t, "acme.com")[CRTSh]
	if domains(got.Found) != "acme-other.at acme-works.de" {
		t.Fatalf("%+v", got)
	}
	want := discover.Evidence{CertCommonName: "acme.com", CertIssuer: "Acme Works GmbH", CertOrgName: "Acme Works GmbH",
		OrgName: "Acme Works GmbH", CertSerial: "abc", CertIssuedDate: "2026-01-02", CertExpiryDate: "2027-01-02",
		SearchIdentifier: "acme.com"}
	if e := evidenceOf(t, got, "acme-works.de"); e != want {
		t.Errorf("%+v", e)
	}
	page := fmt.Sprintf(`[{"id":"1","dns_names":["acme.com","acme-works.de"],"cert":{"data":%q}}]`,
		base64.StdEncoding.EncodeToString(der))
	var certs []certificate
	err := eachOf(strings.NewReader(page), func(i issuance) { certs = append(certs, i.certificate()) })
	if err != nil || len(certs) != 1 || certs[0].org != "Acme Works GmbH" || certs[0].serial != "abc" {
		t.Errorf("%+v, %v", certs, err)
	}
}

// TestSharedCertificates holds the rule of certificates against what hosts and content
// networks issue.
func TestSharedCertificates(t *testing.T) {
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("customer%d.com", i), fmt.Sprintf("*.customer%d.com", i))
		}
		return append(names, "acme.com")
	}
	for name, c := range map[string]struct {
		cert certificate
		want int // domains related
	}{
		"a few names":                 {certificate{names: many(maxTogether - 1)}, maxTogether - 1},
		"many names":                  {certificate{names: many(maxTogether)}, 0},
		"many names of an owner":      {certificate{names: many(maxTogether), org: "Acme"}, maxTogether},
		"many names of a provider":    {certificate{names: many(maxTogether), org: "Cloudflare, Inc."}, 0},
		"very many names of an owner": {certificate{names: many(maxTogetherOrg), org: "Acme"}, 0},
		"10,000 names":                {certificate{names: many(5000), org: "Acme"}, 0},
		"a content network":           {certificate{commonName: "sni12345.cloudflaressl.com", names: many(2)}, 0},
		"a site builder":              {certificate{commonName: "acme.myshopify.com", names: many(1)}, 0},
		"not about the domain":        {certificate{names: []string{"a.com", "b.com"}}, 0},
		"no names at all": {certificate{names: []string{"", "*", "Acme Corporation", "admin@b.com",
			"https://b.com/", "192.0.2.1", "com", "co.uk", "a b.com", "-.com", "acme.com"}}, 0},
	} {
		got := 0
		for _, a := range relatedBy([]certificate{c.cert}, "acme.com", "") {
			if a.Domain != "acme.com" {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s relates %d domains, want %d", name, got, c.want)
		}
	}
	if isProvider("notfastly.net") || !isProvider("a.fastly.net") {
		t.Error("a provider is known by its whole domain")
	}
}

func TestOwners(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Acme Corporation", "ACME Corp.", true}, {"Acme, Inc.", "acme inc", true},
		{"Société Générale S.A.", "société générale", true}, {"The Acme Company", "Acme Co., Ltd.", true},
		{"Acme", "Acme Labs", false}, {"", "", false}, {"N/A", "n/a", false},
		{"Domains By Proxy, LLC", "Domains By Proxy, LLC", false}, {"REDACTED FOR PRIVACY", "REDACTED FOR PRIVACY", false},
		{"Privacy service provided by Withheld for Privacy ehf", "Privacy service provided by Withheld for Privacy ehf",
			false}, {"Whois Privacy Corp.", "Whois Privacy Corp.", false},
		{"Contact Privacy Inc. Customer 0123", "Contact Privacy Inc. Customer 0123", false},
		{"Data Protected", "Data Protected", false}, {"Private Person", "Private Person", false},
		{"Cloudflare, Inc.", "Cloudflare, Inc.", false}, {"Proximus NV", "PROXIMUS", true},
		{"Perfect Privacy, LLC", "Perfect Privacy, LLC", false}, {"Пример", "ООО Пример", false},
		{"Пример", "ПРИМЕР", true},
	} {
		if got := sameOrg(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

func TestRegistrationsCompared(t *testing.T) {
	own := registration{domain: "acme.com", org: "Acme", registrar: "R",
		nameServers: []string{"ns1.acme.com", "ns2.acme.com"}}
	veiled := registration{domain: "acme.com", org: "Redacted for Privacy", registrar: "R",
		nameServers: []string{"a.ns.cloudflare.com", "b.ns.cloudflare.com"}}
	for name, c := range map[string]struct {
		a, b registration
		want bool
	}{
		"one owner": {own, registration{domain: "b.com", org: "ACME Inc"}, true},
		"two owners": {own,
			registration{domain: "acme.net", org: "Other", registrar: "R", nameServers: []string{"x.org"}}, false},
		"served by the domain": {own, registration{domain: "b.com", nameServers: []string{"ns1.acme.com"}}, true},
		"serves the domain": {registration{domain: "acme.com", nameServers: []string{"ns1.b.com"}},
			registration{domain: "b.com", registrar: "Q"}, true},
		"a DNS service": {veiled,
			registration{domain: "cloudflare.com", registrar: "R", org: "Cloudflare, Inc."}, false},
		"veiled, other name": {veiled,
			registration{domain: "b.com", org: "Redacted for Privacy", registrar: "R",
				nameServers: []string{"a.ns.cloudflare.com", "b.ns.cloudflare.com"}}, false},
		"veiled, same name and all": {veiled,
			registration{domain: "acme.net", org: "REDACTED", registrar: "r",
				nameServers: []string{"b.ns.cloudflare.com", "a.ns.cloudflare.com"}}, true},
		"veiled, same name, other servers": {veiled,
			registration{domain: "acme.net", registrar: "R",
				nameServers: []string{"c.ns.cloudflare.com", "d.ns.cloudflare.com"}}, false},
		"veiled, other registrar": {veiled,
			registration{domain: "acme.net", registrar: "Q",
				nameServers: []string{"a.ns.cloudflare.com", "b.ns.cloudflare.com"}}, false},
		"not registered": {own, registration{domain: "b.com"}, false},
	} {
		if got := c.a.relates(&c.b) != ""; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if own.relates(nil) != "" {
		t.Error("nothing is related")
	}
}

func TestWhoisReferrals(t *testing.T) {
	w := newWorld(t).only(Whois)
	var near string
	asked := map[string]int{}
	near = serveWhois(t, func(string) string {
		asked["near"]++
		// It sends back to itself and to the first: neither is asked twice.
		return "Domain Name: ACME.COM\r\nRegistrar WHOIS Server: " + near +
			"\r\nRegistrar: Big Registrar\r\nRegistrant Organization: Acme\r\nName Server: NS1.ACME.COM\r\n"
	})
	w.urls[Whois] = serveWhois(t, func(string) string {
		asked["root"]++
		return "% IANA\n\nrefer:        " + near + "\n\ndomain:       COM\n\ncreated:      1985-01-01\n"
	})
	f := w.finder(t)
	r, err := f.endpoints[Whois].registration(t.Context(), "acme.com")
	if err != nil || r == nil || r.org != "Acme" || r.registrar != "Big Registrar" || asked["root"] != 1 ||
		asked["near"] != 1 {
		t.Errorf("%+v, %v, asked %v", r, err, asked)
	}
	// A chain that never ends, ends.
	n := 0
	w.urls[Whois] = serveWhois(t, func(string) string { n++; return fmt.Sprintf("whois: 127.0.0.1:%d\n", 1+n) })
	f = w.finder(t)
	if r, err := f.endpoints[Whois].registration(t.Context(), "acme.com"); r.known() || err == nil {
		t.Errorf("%+v, %v", r, err)
	}
	// The world names no port but 43.
	for to, want := range map[string]string{"": "", "whois.a.com": "whois.a.com:43", "whois.a.com:43": "whois.a.com:43",
		"whois.a.com:6379": "", "127.0.0.1:43": "127.0.0.1:43"} {
		if got := (endpoint{base: "whois.iana.org:43"}).referral(to); got != want {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

func TestWhoisThatMisbehaves(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(net.Conn)
		state discover.SourceState
	}{
		"silent":  {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, discover.SourceTimedOut},
		"nothing": {func(c net.Conn) { c.Close() }, discover.SourceFailed},
		"endless": {func(c net.Conn) {
			defer c.Close()
			for {
				if _, err := io.WriteString(c, "key: value\n"); err != nil {
					return
				}
			}
		}, discover.SourceEmpty},
		"limited": {func(c net.Conn) { _, _ = io.WriteString(c, "Query rate limit exceeded.\n"); c.Close() },
			discover.SourceLimited},
		"blocked": {func(c net.Conn) { _, _ = io.WriteString(c, "Access denied\n"); c.Close() }, discover.SourceBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = conn.Read(make([]byte, 100))
					c.serve(conn)
				}
			}()
			w := newWorld(t).only(Whois)
			w.urls[Whois] = l.Addr().String()
			f := w.finder(t)
			f.c.Timeout = time.Minute
			if c.state == discover.SourceTimedOut {
				f.c.Timeout = 500 * time.Millisecond
			}
			var got discover.SourceReport
			f.Find(t.Context(), "acme.com", func(a discover.AssociatedAnswer) {
				if a.Report.Source == Whois {
					got = a.Report
				}
			})
			if got.State != c.state {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestFindStops(t *testing.T) {
	w := newWorld(t)
	arrived := make(chan struct{}, 20)
	w.mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.finder(t).Find(ctx, "acme.com", func(discover.AssociatedAnswer) {})
		close(ended)
	}()
	<-arrived
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("a search goes on after its context has ended")
	}
}
