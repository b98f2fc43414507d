package dsl_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// run evaluates an expression with a host.
func run(t *testing.T, host *functions.Host, source string) (any, error) {
	t.Helper()
	e, err := dsl.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return e.Eval(&dsl.Env{Ctx: ctx, Host: host, Vars: dsl.Map(scope)})
}

// onePort listens on a port that is free for both UDP and TCP.
func onePort(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 {
		streams, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", streams.Addr().String())
		if err == nil {
			return packets, streams
		}
		_ = streams.Close()
	}
	t.Fatal("no port is free for both UDP and TCP")
	return nil, nil
}

// nameServer answers for the zone of the test, by UDP and by TCP, and gives what
// connects to it.
func nameServer(t *testing.T) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	packets, streams := onePort(t)
	zone := strings.NewReplacer("\t", " ")
	records := map[string]string{}
	for _, line := range []string{
		"a.test. 60 IN A 192.0.2.1", "a.test. 60 IN AAAA 2001:db8::1", "a.test. 60 IN MX 10 mail.test.", "a.test. 60 IN NS ns.test.",
		`a.test. 60 IN TXT "one " "two"`, `a.test. 60 IN CAA 0 issue "ca.test"`, "a.test. 60 IN SOA ns.test. host.test. 1 2 3 4 5",
		"a.test. 60 IN SRV 1 2 80 srv.test.", "b.test. 60 IN CNAME a.test.", "1.2.0.192.in-addr.arpa. 60 IN PTR a.test.",
	} {
		rr, err := dns.NewRR(zone.Replace(line))
		if err != nil {
			t.Fatal(err)
		}
		records[rr.Header().Name+dns.TypeToString[rr.Header().Rrtype]] = line
	}
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		if line, ok := records[q.Question[0].Name+dns.TypeToString[q.Question[0].Qtype]]; ok {
			rr, _ := dns.NewRR(line)
			m.Answer = append(m.Answer, rr)
		}
		if _, tcp := w.RemoteAddr().(*net.TCPAddr); !tcp && q.Question[0].Qtype == dns.TypeTXT {
			m.Answer, m.Truncated = nil, true // the answer is to be had by TCP
		}
		_ = w.WriteMsg(m)
	})
	servers := []*dns.Server{{PacketConn: packets, Handler: answer}, {Listener: streams, Handler: answer}}
	for _, s := range servers {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { _ = s.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return func(ctx context.Context, network string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, packets.LocalAddr().String())
	}
}

func TestResolve(t *testing.T) {
	host := &functions.Host{Resolver: nameServer(t)}
	for source, want := range map[string]string{
		"resolve('a.test')": "192.0.2.1", "resolve('a.test.', '4')": "192.0.2.1", "resolve('a.test', 'AAAA')": "2001:db8::1", "resolve('b.test', 'cname')": "a.test",
		"resolve('a.test', 'mx')": "mail.test", "resolve('a.test', 'ns')": "ns.test", "resolve('a.test', 'txt')": "one two", "resolve('a.test', 'caa')": "ca.test",
		"resolve('a.test', 'soa')": "ns.test", "resolve('a.test', 'srv')": "srv.test", "resolve('192.0.2.1', 'ptr')": "a.test",
	} {
		if got, err := run(t, host, source); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	for _, source := range []string{"resolve('none.test')", "resolve('a.test', 'x')", "resolve(repeat('a', 300))", "resolve('2001:db8::1', 'ptr')"} {
		if got, err := run(t, host, source); err == nil {
			t.Errorf("%s: %v", source, got)
		}
	}
}

// A server that never answers costs no more than the time there is.
func TestResolveRespectsContext(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	e, err := dsl.Compile("resolve('a.test')")
	if err != nil {
		t.Fatal(err)
	}
	host := &functions.Host{Resolver: func(ctx context.Context, network string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, silent.LocalAddr().String())
	}}
	start := time.Now()
	if v, err := e.Eval(&dsl.Env{Ctx: ctx, Host: host}); err == nil || time.Since(start) > 4*time.Second {
		t.Errorf("%v after %v", v, time.Since(start))
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := dsl.Compile("wait_for(60)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(&dsl.Env{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestJARM(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	var dialed []string
	host := &functions.Host{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	address := server.Addr().String()
	first, err := run(t, host, "jarm('"+address+"')")
	if err != nil {
		t.Fatal(err)
	}
	again, err := run(t, host, "jarm('"+address+"')")
	nothing := strings.Repeat("0", 62)
	if err != nil || first != again || len(first.(string)) != 62 || first == nothing {
		t.Errorf("%v, then %v, %v", first, again, err)
	}
	if len(dialed) != 20 {
		t.Errorf("%d connections for two fingerprints", len(dialed))
	}
	_ = server.Close()
	if got, err := run(t, host, "jarm('"+address+"')"); got != nothing || err != nil {
		t.Errorf("a closed port has %v, %v", got, err)
	}
	for _, source := range []string{"jarm('nohost')", "jarm('a:b')"} {
		if got, err := run(t, host, source); err == nil {
			t.Errorf("%s: %v", source, got)
		}
	}
}

func TestOtherHostFunctions(t *testing.T) {
	host := &functions.Host{PublicIP: func(context.Context) (string, error) { return "192.0.2.9", nil }}
	header := `"HTTP/1.1 200 OK\r\nServer: nginx/1.18.0\r\n\r\n"`
	header = strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(header)
	for source, want := range map[string]any{
		"public_ip()": "192.0.2.9", "getNetworkPort('443', 22)": "22", "getNetworkPort('8022', '22')": "8022", "getNetworkPort('', 22)": "22",
		"wappalyzer(" + header + ", '')": []string{"Nginx"}, "print_debug(1)": true,
	} {
		got, err := run(t, host, source)
		if list, ok := got.([]string); ok && len(list) > 0 {
			list[0], _, _ = strings.Cut(list[0], ":") // without the version
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	for _, source := range []string{"public_ip()", "resolve('a')", "jarm('a:1')", "wappalyzer('', '')", "llm_prompt('x')"} {
		if got, err := run(t, nil, source); err == nil {
			t.Errorf("%s without a host: %v", source, got)
		}
	}
}
