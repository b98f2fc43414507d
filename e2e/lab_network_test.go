package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// labNetwork is a network to discover: a DNS zone with its name server, hosts on loopback
// addresses with real services, and forbidden addresses that must not be dialled.
type labNetwork struct {
	zone           *dnslab.Zone
	resolver       string
	roots          string // file with the certificate of its authority
	breakpoints    *breakpoints
	ports          [3]int // web, secure, other
	endpoints      map[netip.AddrPort]endpoint
	forbiddenDials atomic.Int64
}

// endpoint is a listening port, and the expected fields of its asset under its host's name.
type endpoint struct {
	host string
	seen wantFields
}

// The endpoints of a host.
const (
	web = iota
	secure
	other
)

// wantFields are the expected fields of an asset: a regular expression for the whole of each
// field.
type wantFields map[string]string

// What the lab's enumeration covers besides its domain, and what is denied or excluded.
var (
	ranges   = prefixes("127.1.0.0/26", "127.2.0.0/28", "127.3.0.0/19", "127.80.0.0/27", "127.81.0.0/27", "127.93.0.0/25")
	denied   = prefixes("127.2.0.0/28", "127.1.0.8/32") // by the operator, and by the enumeration
	excluded = "admin.lab.example"
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// steps are those of the lab's enumeration. Public sources are not used.
var steps = []string{"dns_bruteforce", "dns_permute", "dns_resolve", "port_scan", "tls_scan", "http_probe",
	"endpoint_crawling"}

// breakpointOf are the steps at which a question to the name server is held.
var breakpointOf = map[string]string{
	"mx.lab.example": "dns_bruteforce", "staging-api2.lab.example": "dns_permute", "0.0.3.127.in-addr.arpa": "dns_resolve",
}

// newLabNetwork starts the lab, with breakpoints at these steps.
func newLabNetwork(t *testing.T, held ...string) *labNetwork {
	t.Helper()
	s := &labNetwork{zone: dnslab.Generate("lab.example", 5000), breakpoints: newBreakpoints(held...),
		endpoints: map[netip.AddrPort]endpoint{}}
	t.Cleanup(func() { s.breakpoints.release(held...) })
	s.zone.OnQuestion = func(name string) {
		if step := breakpointOf[name]; step != "" {
			s.breakpoints.hit(step)
		}
	}
	s.resolver = dnslab.Start(t, s.zone).Addr
	for i, address := range freeAddresses(t, len(s.ports)) {
		_, port, _ := net.SplitHostPort(address)
		s.ports[i], _ = strconv.Atoi(port)
	}
	ca := newAuthority(t)
	s.roots = ca.file
	s.nginx(t, "www.lab.example", ca.issue(t, "www.lab.example", nil))
	s.apache(t, "shop.lab.example")
	s.openSSH(t, "git.lab.example")
	s.redis(t, "db.lab.example")
	s.postgres(t, "grafana.lab.example")
	s.postfix(t, "smtp.lab.example")
	s.certificates(t, ca)
	s.sites(t)
	s.accept(t, s.address("mail.lab.example", other), func(conn net.Conn) {
		s.breakpoints.hit("port_scan")
		fmt.Fprint(conn, "+OK Dovecot ready.\r\n")
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = conn.Read(make([]byte, 512))
	})
	s.expect("mail.lab.example", other, wantFields{"extended_metadata.service": "pop3", "type": "port"})
	for _, address := range []string{dnslab.Outside.String(), "127.2.0.3", "127.1.0.8"} {
		s.accept(t, net.JoinHostPort(address, strconv.Itoa(s.ports[web])), func(net.Conn) { s.forbiddenDials.Add(1) })
	}
	return s
}

// at is where a host of the zone has one of its endpoints.
func (s *labNetwork) address(host string, which int) string {
	return netip.AddrPortFrom(s.zone.Names[host].IP[0], uint16(s.ports[which])).String()
}

// expect records the expected fields of a port.
func (s *labNetwork) expect(host string, which int, seen ...wantFields) {
	all := wantFields{"host": regexp.QuoteMeta(host), "port": strconv.Itoa(s.ports[which]), "domain_name": "lab.example",
		"is_new": "true", "extended_metadata.protocol": "tcp"}
	for _, some := range seen {
		maps.Copy(all, some)
	}
	s.endpoints[netip.MustParseAddrPort(s.address(host, which))] = endpoint{host, all}
}

// accept calls serve for each connection to an address.
func (s *labNetwork) accept(t *testing.T, addr string, serve func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
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
				serve(conn)
			}()
		}
	}()
}

// site serves pages of this process on a host's port, over TLS when config is given.
func (s *labNetwork) site(t *testing.T, host string, config *tls.Config, h http.HandlerFunc) {
	t.Helper()
	which := web
	if config != nil {
		which = secure
	}
	serveAt(t, s.address(host, which), config, h)
}

// serveAt serves pages at an address, over TLS when config is given.
func serveAt(t *testing.T, addr string, config *tls.Config, h http.HandlerFunc) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Listener.Close()
	server.Listener, server.TLS, server.Config.ErrorLog = l, config, log.New(io.Discard, "", 0)
	if config != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// sites are those whose answers are of interest.
func (s *labNetwork) sites(t *testing.T) {
	titled := func(title string) string { return "<html><head><title>" + title + "</title></head><body>" }
	s.site(t, "vpn.lab.example", nil, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.UserAgent(), "Chrome"):
			s.breakpoints.hit("http_screenshot")
		case r.URL.Path == "/":
			s.breakpoints.hit("http_probe")
		case r.URL.Path == "/deep":
			s.breakpoints.hit("endpoint_crawling")
		}
		fmt.Fprint(w, titled("Gate"), "<a href=/deep>deep</a>")
	})
	s.expect("vpn.lab.example", web, wantFields{"title": "Gate", "status_code": "200"})
	s.site(t, "api.lab.example", nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/home", http.StatusFound)
			return
		}
		fmt.Fprint(w, titled("Home"))
	})
	s.expect("api.lab.example", web,
		wantFields{"title": "Home", "chain_status_codes": `\[302 200\]`, "redirect_location": "http://api.*/home"})
	s.site(t, "dev.lab.example", nil, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+net.JoinHostPort(dnslab.Outside.String(), strconv.Itoa(s.ports[web]))+"/away",
			http.StatusFound)
	})
	s.expect("dev.lab.example", web,
		wantFields{"status_code": "302", "redirect_location": "http://127.200.0.1.*/away",
			"extended_metadata.notes": ".*out of scope.*"})
	s.site(t, "cdn.lab.example", nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "cloudflare")
		w.Header().Set("CF-RAY", "7d0-FRA")
		fmt.Fprint(w, titled("Edge"))
	})
	s.expect("cdn.lab.example", web, wantFields{"title": "Edge", "cdn_name": "cloudflare", "webserver": "cloudflare"})
}

// certificate are the expected fields of a valid certificate, with changes.
func certificate(host string, changes ...wantFields) wantFields {
	f := wantFields{
		"tls_subject_cn": host, "tls_subject_an": `\[` + host + `\]`, "tls_subject_org": "Lab Works",
		"tls_issuer_org": "Lab Authority", "tls_serial_number": "0A:1B:2C",
		"tls_expired": "false", "tls_self_signed": "false", "tls_mismatched": "false", "tls_revoked": "false",
		"tls_untrusted":  "false",
		"tls_not_before": `20\d\d-.*Z`, "tls_not_after": `20\d\d-.*Z`,
	}
	for _, change := range changes {
		maps.Copy(f, change)
	}
	return f
}

// certificates opens endpoints with certificates of which something is wrong.
func (s *labNetwork) certificates(t *testing.T, ca *authority) {
	for host, c := range map[string]struct {
		shown tls.Certificate
		seen  wantFields
	}{
		"login": {ca.issue(t, "login.lab.example", func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, -1, 0) }),
			wantFields{"tls_expired": "true"}},
		"auth": {ca.alone(t, "auth.lab.example"),
			wantFields{"tls_self_signed": "true", "tls_untrusted": "true", "tls_subject_org": "", "tls_issuer_org": "",
				"tls_serial_number": "07"}},
		"sso": {ca.issue(t, "elsewhere.example", nil),
			wantFields{"tls_mismatched": "true", "tls_subject_cn": "elsewhere.example",
				"tls_subject_an": `\[elsewhere.example\]`}},
		"ci": {ca.revoked(t, "ci.lab.example"), wantFields{"tls_revoked": "true"}},
	} {
		host += ".lab.example"
		config := &tls.Config{Certificates: []tls.Certificate{c.shown}, MinVersion: tls.VersionTLS12}
		if strings.HasPrefix(host, "login") {
			config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				s.breakpoints.hit("tls_scan")
				return nil, nil
			}
		}
		s.site(t, host, config, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>Locked</title>") })
		s.expect(host, secure, certificate(host, c.seen), wantFields{"title": "Locked", "extended_metadata.service": "https"})
	}
}

// request is the body that creates the lab's enumeration.
func (s *labNetwork) request(steps []string) map[string]any {
	var inputs, ports []string
	for _, p := range ranges {
		inputs = append(inputs, p.String())
	}
	for name, truth := range s.zone.Names { // names that discovery cannot find by itself
		led := slices.ContainsFunc(truth.IP, func(a netip.Addr) bool {
			return within(ranges, a) && !within(denied, a) && s.zone.Reverse(a) == name
		})
		if truth.By == dnslab.BySource && !led && !strings.HasPrefix(name, "_") {
			inputs = append(inputs, name)
		}
	}
	for _, port := range s.ports {
		ports = append(ports, strconv.Itoa(port))
	}
	return map[string]any{
		"root_domains": []string{s.zone.Domain}, "enrichment_inputs": inputs, "enumeration_ports": strings.Join(ports, ","),
		"steps":      steps,
		"exclusions": []string{excluded, "127.1.0.8"},
	}
}

// truth is every existing asset by host and port, with its expected fields.
func (s *labNetwork) truth() map[string]wantFields {
	all := map[string]wantFields{}
	add := func(host string, addrs []netip.Addr, alone wantFields) {
		if alone != nil {
			all[host] = alone
		}
		for _, a := range addrs {
			if !within(ranges, a) || within(denied, a) {
				continue
			}
			for _, port := range s.ports {
				if d, open := s.endpoints[netip.AddrPortFrom(a, uint16(port))]; open {
					place := net.JoinHostPort(host, strconv.Itoa(port))
					if all[place] = (wantFields{}); host == d.host {
						all[place] = d.seen
					}
				}
			}
		}
	}
	for name, truth := range s.zone.Names {
		if name == excluded || truth.RCode != "NOERROR" && len(truth.CNAME) == 0 {
			continue
		}
		seen := wantFields{"domain_name": "lab.example", "type": "host"}
		if truth.Loop {
			seen["ip"] = `\[\]`
		} else {
			seen["ip"], seen["cname"] = regexp.QuoteMeta(fmt.Sprint(truth.IP)), regexp.QuoteMeta(fmt.Sprint(truth.CNAME))
		}
		if truth.Dangling && !strings.HasPrefix(name, "half") { // its target may not be queried
			seen["extended_metadata.misconfiguration"] = ".*dangling_dns.*"
		}
		add(name, truth.IP, seen)
	}
	for _, p := range ranges {
		for a := p.Addr(); p.Contains(a); a = a.Next() {
			if within(denied, a) {
				continue
			}
			var alone wantFields
			if name := s.zone.Reverse(a); name != "" {
				alone = wantFields{"ip": `\[` + a.String() + `\]`,
					"extended_metadata.dns_records": ".*" + regexp.QuoteMeta(name) + ".*", "is_internal": "true"}
			}
			add(a.String(), []netip.Addr{a}, alone)
		}
	}
	return all
}
