package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestReadServer(t *testing.T) {
	for text, want := range map[string]server{
		"192.0.2.1": {"udp", "192.0.2.1:53", false}, "udp:192.0.2.1:54": {"udp", "192.0.2.1:54", false},
		"tcp://192.0.2.1": {"tcp", "192.0.2.1:53", false}, "tls:192.0.2.1": {"tcp-tls", "192.0.2.1:853", false},
		"[2001:db8::1]:53": {"udp", "[2001:db8::1]:53", false}, "ns.test": {"udp", "ns.test:53", false},
	} {
		if got, err := readServer(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "doh:https://a/dns-query", "https://a/dns-query"} {
		if got, err := readServer(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// A question is asked again, of the next resolver, after one that does not answer; a long answer comes over TCP.
func TestAttempts(t *testing.T) {
	lab := newLab(t)
	fields, err := lab.run(t, &syntax.DNS{Name: "{{FQDN}}", Type: "TXT", Resolvers: []string{"192.0.2.66", "192.0.2.53"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(fields["txt"].([]string)); got != 40 || strings.Join(lab.asked, " ") !=
		"udp 192.0.2.66:53 udp 192.0.2.53:53 tcp 192.0.2.53:53" {
		t.Errorf("%d records from %v", got, lab.asked)
	}
	lab.asked = nil
	_, err = lab.run(t, &syntax.DNS{Name: "{{FQDN}}", Retries: 2, Resolvers: []string{"192.0.2.66"}})
	if err == nil || len(lab.asked) != 2 {
		t.Errorf("%v after %v", err, lab.asked)
	}
}

// A trace follows referrals from the root to the server of the name.
func TestTrace(t *testing.T) {
	lab := newLab(t)
	fields, err := lab.run(t, &syntax.DNS{Name: "{{FQDN}}", Type: "A", Trace: true, Resolvers: []string{"192.0.2.53"}})
	if err != nil {
		t.Fatal(err)
	}
	trace, _ := fields["trace"].(string)
	for _, part := range []string{"ns.test.\t", "ns.lab.test.", "192.0.2.7"} {
		if !strings.Contains(trace, part) {
			t.Errorf("no %q in the trace:\n%s", part, trace)
		}
	}
}

// laboratory is a network of name servers, by address.
type laboratory struct {
	servers map[string]dns.HandlerFunc
	mu      sync.Mutex
	asked   []string
}

func newLab(t *testing.T) *laboratory {
	referral := func(zone, server, address string) dns.HandlerFunc {
		return func(w dns.ResponseWriter, m *dns.Msg) {
			a := new(dns.Msg)
			a.SetReply(m)
			a.Ns, a.Extra = records(t, zone+" 60 IN NS "+server), records(t, server+" 60 IN A "+address)
			_ = w.WriteMsg(a)
		}
	}
	answers := func(w dns.ResponseWriter, m *dns.Msg) {
		a := new(dns.Msg)
		a.SetReply(m)
		if m.Question[0].Qtype == dns.TypeTXT {
			for i := range 40 {
				a.Answer = append(a.Answer, records(t, "lab.test. 60 IN TXT "+strings.Repeat("x", 200)+string(rune('a'+i%26)))...)
			}
			if w.RemoteAddr().Network() == "udp" {
				a.Answer, a.Truncated = nil, true
			}
		} else {
			a.Answer = records(t, "lab.test. 60 IN A 192.0.2.7")
		}
		_ = w.WriteMsg(a)
	}
	l := &laboratory{servers: map[string]dns.HandlerFunc{"192.0.2.53": answers, "192.0.2.3": answers}}
	for _, root := range roots {
		l.servers[root] = referral("test.", "ns.test.", "192.0.2.2")
	}
	l.servers["192.0.2.2"] = referral("lab.test.", "ns.lab.test.", "192.0.2.3")
	return l
}

func records(t *testing.T, text string) []dns.RR {
	rr, err := dns.NewRR(text)
	if err != nil {
		t.Fatal(err)
	}
	return []dns.RR{rr}
}

// dial connects to a server of the lab, or to one that does not answer.
func (l *laboratory) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	l.asked = append(l.asked, network+" "+addr)
	l.mu.Unlock()
	host, _, _ := net.SplitHostPort(addr)
	handler := l.servers[host]
	if handler == nil {
		return nil, errors.New("no answer")
	}
	started := make(chan struct{})
	server := &dns.Server{Handler: handler, NotifyStartedFunc: func() { close(started) }}
	var at net.Addr
	if network == "udp" {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server.PacketConn, at = conn, conn.LocalAddr()
	} else {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server.Listener, at = listener, listener.Addr()
	}
	go func() { _ = server.ActivateAndServe() }()
	<-started
	context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	return (&net.Dialer{}).DialContext(ctx, at.Network(), at.String())
}

func (l *laboratory) run(t *testing.T, s *syntax.DNS) (map[string]any, error) {
	t.Helper()
	p, err := Compile("t.yaml", s)
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{
		Target: rawurl.URL{Host: "lab.test"}, Timeout: time.Minute, Dial: l.dial, DialHelper: l.dial,
		Begin: func(context.Context, string) (func(), error) { return func() {}, nil },
		Vars:  func(at rawurl.URL) *dsl.Env { return &dsl.Env{Vars: dsl.Map(at.Variables(false))} },
	}
	var fields map[string]any
	err = p.Run(t.Context(), env, func(r *proto.Reply) bool { fields = r.Fields; return true })
	return fields, err
}

// hostile answers a question with as many aliases as a message can hold, all of names of 255 bytes that pointers stand
// for.
func hostile(id uint16, question []byte) []byte {
	long := make([]byte, 0, 256) // the name, at 12 + len(question)
	for range 3 {
		long = append(append(long, 63), strings.Repeat("\x01", 63)...)
	}
	long = append(long, 0)
	m := append([]byte{byte(id >> 8), byte(id), 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	at := len(m)
	m = append(append(m, long...), 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xc0|byte(at>>8), byte(at))
	n := 1
	for ; len(m)+14 <= 64<<10-1; n++ {
		m = append(m, 0xc0|byte(at>>8), byte(at), 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xc0|byte(at>>8), byte(at))
	}
	m[6], m[7] = byte(n>>8), byte(n)
	return m
}

// A message that becomes many times its length when it is unpacked is refused.
func TestPointersThatUnpack(t *testing.T) {
	lab := newLab(t)
	lab.servers["192.0.2.53"] = func(w dns.ResponseWriter, m *dns.Msg) {
		packed, err := m.Pack()
		if err == nil {
			_, _ = w.Write(hostile(m.Id, packed[12:12+len("\x03lab\x04test\x00")+4]))
		}
	}
	fields, err := lab.run(t, &syntax.DNS{Name: "{{FQDN}}", Retries: 1, Resolvers: []string{"tcp:192.0.2.53"}})
	if err == nil || !strings.Contains(err.Error(), "unpacks to") {
		t.Errorf("%d bytes of text: %v", len(fmt.Sprint(fields["raw"])), err)
	}
}

// A trace ends when it has become long, however many aliases there are.
func TestEndlessTrace(t *testing.T) {
	lab := newLab(t)
	aliases := 0
	endless := func(w dns.ResponseWriter, m *dns.Msg) {
		aliases++
		a := new(dns.Msg)
		a.SetReply(m)
		a.Answer = records(t, fmt.Sprintf("%s 60 IN CNAME x%d.lab.test.", m.Question[0].Name, aliases))
		for range 200 {
			a.Extra = append(a.Extra, records(t, "lab.test. 60 IN TXT "+strings.Repeat("x", 255))...)
		}
		_ = w.WriteMsg(a)
	}
	for _, root := range roots {
		lab.servers[root] = endless
	}
	fields, err := lab.run(t, &syntax.DNS{
		Name: "{{FQDN}}", Type: "A", Trace: true, TraceMaxRecursion: maxTrace, Resolvers: []string{"192.0.2.53"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if trace, _ := fields["trace"].(string); len(trace) > maxTraceText+64<<10 || aliases == maxTrace {
		t.Errorf("%d bytes after %d aliases", len(trace), aliases)
	}
}
