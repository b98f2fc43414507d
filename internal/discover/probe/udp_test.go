package probe_test

import (
	"context"
	"encoding/asn1"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// datagramServers listen on free ports in the place of the usual ones, and answer what
// came with the same bytes; heard is told of the questions, by usual port.
func datagramServers(t *testing.T, answers map[int]string, heard func(port int, question []byte)) (at map[int]string) {
	t.Helper()
	at = map[int]string{}
	for port, answer := range answers {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		at[port] = conn.LocalAddr().String()
		go func() {
			b := make([]byte, 4096)
			for {
				n, from, err := conn.ReadFrom(b)
				if err != nil {
					return
				}
				heard(port, b[:n])
				_, _ = conn.WriteTo([]byte(answer), from)
			}
		}()
	}
	return at
}

// TestDatagramsAreNamed asks for all services over UDP: those that answer in their language
// are assets, others are not, and what the guard refuses is told.
func TestDatagramsAreNamed(t *testing.T) {
	answers := map[int]string{
		53:    "VE\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00\x07version\x04bind\x00\x00\x10\x00\x03\xc0\x0c\x00\x10\x00\x03\x00\x00\x00\x00\x00\x07\x069.18.1",
		69:    "no TFTP",
		111:   "VEDE\x00\x00\x00\x01" + strings.Repeat("\x00", 16),
		123:   "\x24" + strings.Repeat("\x00", 47),
		137:   "VE\x84\x00\x00\x00\x00\x01\x00\x00\x00\x00\x20",
		161:   "\x30\x33\x02\x01\x00\x04\x06public\xa2\x26\x02\x04VEDE\x02\x01\x00\x02\x01\x00\x30\x18\x30\x16\x06\x08\x2b\x06\x01\x02\x01\x01\x01\x00\x04\x0aLinux\x1b6.18",
		500:   "VedetteV" + strings.Repeat("\x01", 20),
		1900:  "HTTP/1.1 200 OK\r\nSERVER: Lab/1.0 UPnP/1.0\r\n\r\n",
		3478:  "\x01\x01\x00\x00\x21\x12\xa4\x42VedetteVedet",
		5060:  "SIP/2.0 200 OK\r\n\r\n",
		5353:  "\x00\x00\x84\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00",
		5683:  "\x60\x45VE",
		11211: "VE\x00\x00\x00\x01\x00\x00VERSION 1.6.18\r\n",
	}
	var mu sync.Mutex
	asked := map[int][]byte{}
	at := datagramServers(t, answers, func(port int, question []byte) {
		mu.Lock()
		defer mu.Unlock()
		asked[port] = slices.Clone(question)
	})
	var denied []string
	got := look(t, probe.Config{
		Steps: []discover.Step{discover.PortScan}, UDP: true, Ports: "1",
		OnDenied: func(addr, _ string, _ int) { denied = append(denied, addr) },
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, service, _ := net.SplitHostPort(addr)
			port, _ := strconv.Atoi(service)
			switch {
			case network == "tcp":
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			case port == 500:
				return nil, &netguard.Denied{Addr: addr, Why: "it is denied"}
			}
			return (&net.Dialer{}).DialContext(ctx, network, at[port])
		},
	}, "127.0.0.1", discover.Name{Host: "udp.test", IP: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	want := map[string]string{
		"53": "dns 9.18.1", "111": "rpcbind ", "123": "ntp ", "137": "netbios-ns ", "161": "snmp Linux6.18",
		"1900": "upnp Lab/1.0 UPnP/1.0",
		"3478": "stun ", "5060": "sip ", "5353": "mdns ", "5683": "coap ", "11211": "memcached 1.6.18",
	}
	seen := map[string]string{}
	for _, a := range got {
		if a.Protocol == "udp" {
			seen[strconv.Itoa(a.Port)] = a.Service + " " + a.Version
		}
	}
	if !maps.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	if len(denied) != 1 || denied[0] != "udp.test:500" {
		t.Errorf("denied: %+v", denied)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, port := range []int{53, 137, 5353} {
		if m := (&dnsmessage.Message{}); m.Unpack(asked[port]) != nil || len(m.Questions) != 1 {
			t.Errorf("%d is asked %q", port, asked[port])
		}
	}
	var snmp struct {
		Version   int
		Community []byte
		PDU       asn1.RawValue
	}
	if rest, err := asn1.Unmarshal(asked[161], &snmp); err != nil || len(rest) != 0 || string(snmp.Community) != "public" {
		t.Errorf("161 is asked %q: %v", asked[161], err)
	}
}

// TestEdgePortsOfCloudflareAreNotTried: its addresses accept on them for everybody. The
// guard refuses all else here, so that nothing leaves the machine.
func TestEdgePortsOfCloudflareAreNotTried(t *testing.T) {
	var mu sync.Mutex
	tried := map[string]bool{}
	got := look(t, probe.Config{
		Steps: []discover.Step{discover.PortScan}, Ports: "80,2053,8080,8443",
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			return nil, fmt.Errorf("dialled %s", addr)
		},
		Admit: func(_ string, to netip.AddrPort) error {
			mu.Lock()
			defer mu.Unlock()
			tried[to.String()] = true
			return &netguard.Denied{Addr: to.String(), Why: "a test"}
		},
	}, "127.0.0.1", discover.Name{Host: "fronted.test", IP: []netip.Addr{netip.MustParseAddr("104.16.0.1")}},
		discover.Name{Host: "own.test", IP: []netip.Addr{netip.MustParseAddr("127.20.0.9")}})
	if want := []string{"104.16.0.1:80", "127.20.0.9:2053", "127.20.0.9:80", "127.20.0.9:8080",
		"127.20.0.9:8443"}; !slices.Equal(slices.Sorted(maps.Keys(tried)), want) {
		t.Errorf("tried %v, want %v", slices.Sorted(maps.Keys(tried)), want)
	}
	fronted, own := got["fronted.test:0/"], got["own.test:0/"]
	if fronted.CDN != "cloudflare" || !strings.Contains(strings.Join(fronted.Notes, "\n"), "not tried: 8080, 8443, 2053") {
		t.Errorf("%+v", fronted)
	}
	if own.CDN != "" || strings.Contains(strings.Join(own.Notes, "\n"), "Cloudflare") {
		t.Errorf("%+v", own)
	}
}
