package e2e

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// street is a lab: a zone with a name server, and some hosts on loopback's addresses with
// something behind their doors.
type street struct {
	zone     *dnslab.Zone
	resolver string
	hosts    []string // names and addresses that are given to an enumeration
	ports    []string
	doors    map[string]string // what is open, as host:port, and what speaks there
}

// held is the first wait of a page, until the test lets it go.
type held struct {
	reached chan struct{}
	free    chan struct{}
}

// newStreet opens the doors. The page of one of its hosts waits for stop, where it is given.
func newStreet(t *testing.T, stop *held) street {
	t.Helper()
	s := street{zone: dnslab.Generate("lab.example", 1000), doors: map[string]string{}}
	s.resolver = dnslab.Start(t, s.zone).Addr
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stop != nil && strings.HasPrefix(r.Host, "vpn.") {
			select {
			case stop.reached <- struct{}{}:
			default:
			}
			select {
			case <-stop.free:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Server", "nginx/1.27.0")
		fmt.Fprintf(w, "<html><head><title>Page of %s</title></head></html>", strings.Split(r.Host, ":")[0])
	})
	for _, label := range []string{"www", "api", "shop", "vpn"} {
		host := label + "." + s.zone.Domain
		at := s.zone.Names[host].IP[0].String()
		s.open(t, host, serveAt(t, at, web, label == "shop"), map[bool]string{true: "https", false: "http"}[label == "shop"])
	}
	mail := "mail." + s.zone.Domain
	s.open(t, mail, greet(t, s.zone.Names[mail].IP[0].String(), "SSH-2.0-OpenSSH_10.0\r\n"), "ssh")
	s.open(t, "127.88.0.3", greet(t, "127.88.0.3", "220 mail ESMTP Postfix\r\n"), "smtp")
	return s
}

func (s *street) open(t *testing.T, host, addr, service string) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	s.hosts, s.ports = append(s.hosts, host), append(s.ports, port)
	s.doors[net.JoinHostPort(host, port)] = service
}

// serveAt serves pages on a port of an address.
func serveAt(t *testing.T, at string, h http.Handler, secure bool) string {
	t.Helper()
	l, err := net.Listen("tcp", at+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Listener.Close()
	server.Listener = l
	if secure {
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return l.Addr().String()
}

// greet says a line to whoever comes.
func greet(t *testing.T, at, line string) string {
	t.Helper()
	l, err := net.Listen("tcp", at+":0")
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
				fmt.Fprint(conn, line)
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				_, _ = conn.Read(make([]byte, 512))
			}()
		}
	}()
	return l.Addr().String()
}

type enumerationDoc struct {
	Status    string
	Assets    int `json:"total_assets"`
	Targets   int `json:"total_targets"`
	Processed int `json:"total_targets_processed"`
}

// enumerate launches an enumeration of a street.
func (c caller) enumerate(s street) (id string) {
	c.t.Helper()
	var made struct{ ID string }
	c.call("POST", "/v1/asset/enumerate", map[string]any{
		"root_domains": []string{s.zone.Domain}, "enrichment_inputs": []string{"127.88.0.0/29", "127.1.0.0/26"}, "enumeration_ports": strings.Join(s.ports, ","),
		"steps": []string{"dns_bruteforce", "dns_permute", "dns_resolve", "port_scan", "http_probe", "tls_scan"},
	}, &made)
	return made.ID
}

func (c caller) enumeration(id string) enumerationDoc {
	c.t.Helper()
	var doc struct{ Data enumerationDoc }
	c.call("GET", "/v1/asset/enumerate/"+id, nil, &doc)
	return doc.Data
}

func (c caller) enumerationEnds(id string, within time.Duration) (e enumerationDoc) {
	c.t.Helper()
	until(c.t, within, "the enumeration ends", func() bool {
		e = c.enumeration(id)
		return e.Status != "queued" && e.Status != "starting" && e.Status != "running"
	})
	return e
}

type assetDoc struct {
	Host   string
	Port   int
	Title  string
	Status int `json:"status_code"`
	IP     []string
}

// inventory is the assets of an enumeration by place; one that is there twice fails.
func (c caller) inventory(id string) map[string]assetDoc {
	c.t.Helper()
	out := map[string]assetDoc{}
	for offset := 0; ; offset += 1000 {
		var list struct{ Data []assetDoc }
		c.call("GET", fmt.Sprintf("/v1/asset/enumerate/%s/contents?limit=1000&offset=%d", id, offset), nil, &list)
		for _, a := range list.Data {
			place := a.Host
			if a.Port > 0 {
				place = net.JoinHostPort(a.Host, fmt.Sprint(a.Port))
			}
			if _, twice := out[place]; twice {
				c.t.Errorf("%s is there twice", place)
			}
			out[place] = a
		}
		if len(list.Data) < 1000 {
			return out
		}
	}
}

// TestEnumerationFindsTheStreet: one enumeration finds every name that can be guessed,
// every address of its range and every open door, and invents none; killed in the middle
// and taken up again, it is the same.
func TestEnumerationFindsTheStreet(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		stop := &held{make(chan struct{}, 1), make(chan struct{})}
		s := newStreet(t, stop)
		token := h.admin("ada@example.com")
		first := h.serve("--resolvers", s.resolver, "--origin-zone", "")
		c := first.as(token)
		id := c.enumerate(s)
		select {
		case <-stop.reached: // its page is asked for: names are found, some are looked at
		case <-time.After(2 * patience):
			t.Fatalf("nobody looks at the page: %+v", c.enumeration(id))
		}
		first.kill()
		close(stop.free)

		c = h.serve("--resolvers", s.resolver, "--origin-zone", "").as(token)
		e := c.enumerationEnds(id, takeover+patience)
		killed := c.inventory(id)
		if e.Status != "finished" || e.Assets != len(killed) || e.Processed != e.Targets {
			t.Errorf("%+v, %d assets", e, len(killed))
		}
		for name, truth := range s.zone.Names {
			if _, found := killed[name]; !found && truth.By != dnslab.BySource {
				t.Errorf("%s is not found", name)
			}
		}
		for place, service := range s.doors {
			a, found := killed[place]
			switch {
			case !found:
				t.Errorf("%s at %s is not found", service, place)
			case strings.HasPrefix(service, "http") && (a.Status != 200 || a.Title != "Page of "+a.Host):
				t.Errorf("%s: %+v", place, a)
			}
		}
		for place, a := range killed {
			if _, is := s.doors[place]; a.Port > 0 && !is && !s.shares(a) {
				t.Errorf("%s is made up", place)
			}
		}

		again := c.enumerate(s)
		if e := c.enumerationEnds(again, 2*patience); e.Status != "finished" {
			t.Errorf("%+v", e)
		}
		calm := c.inventory(again)
		if !maps.EqualFunc(calm, killed, func(a, b assetDoc) bool { return a.Title == b.Title && slices.Equal(a.IP, b.IP) }) {
			t.Errorf("killed: %d assets, undisturbed: %d", len(killed), len(calm))
		}
		var history struct {
			Data []struct {
				Status    string
				New       int `json:"new_assets_discovered"`
				Processed int `json:"total_targets_processed"`
			}
		}
		c.call("GET", "/v1/asset/enumerate/"+id+"/history", nil, &history)
		if h := history.Data; len(h) != 1 || h[0].New != len(killed) || h[0].Processed != e.Processed || h[0].Status != "finished" {
			t.Errorf("%+v", h)
		}
	})
}

// shares reports whether an asset is on an address where a door is open under another
// name.
func (s street) shares(a assetDoc) bool {
	for place := range s.doors {
		host, port, _ := net.SplitHostPort(place)
		at := []string{host}
		for _, ip := range s.zone.Names[host].IP {
			at = append(at, ip.String())
		}
		if port == fmt.Sprint(a.Port) && slices.ContainsFunc(append(a.IP, a.Host), func(ip string) bool { return slices.Contains(at, ip) }) {
			return true
		}
	}
	return false
}
