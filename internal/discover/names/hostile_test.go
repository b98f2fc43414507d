package names_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// packets answers each UDP query with packets of a test's making.
func packets(t testing.TB, answer func(query []byte) [][]byte) (addr string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			for _, p := range answer(slices.Clone(buffer[:n])) {
				_, _ = conn.WriteTo(p, from)
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return conn.LocalAddr().String()
}

// record is an A record that belongs to the question, with data of any length.
func record(data ...byte) []byte {
	return append([]byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, byte(len(data))}, data...)
}

// response is a query made an answer with count records, which follow the question.
func response(query []byte, count uint16, records ...byte) []byte {
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	msg := append(slices.Clone(query[:end+5]), records...)
	msg[2] |= 0x80
	msg[6], msg[7], msg[11] = byte(count>>8), byte(count), 0
	return msg
}

// A name server may send anything: the name has no answer then, and nothing is believed.
func TestHostileAnswers(t *testing.T) {
	lie := record(127, 66, 6, 6)
	for what, c := range map[string]struct {
		answer func(q []byte) []byte
		rcode  string
	}{
		"nothing":          {func([]byte) []byte { return nil }, "timeout"},
		"a short packet":   {func(q []byte) []byte { return q[:7] }, "timeout"},
		"the query itself": {func(q []byte) []byte { return q }, "timeout"},
		"another id":       {func(q []byte) []byte { r := response(q, 1, lie...); r[0]++; return r }, "timeout"},
		"another name":     {func(q []byte) []byte { r := response(q, 1, lie...); r[13]++; return r }, "timeout"},
		"another kind": {func(q []byte) []byte { r := response(q, 1, lie...); r[len(r)-len(lie)-3]++; return r },
			"timeout"},
		"no question":        {func(q []byte) []byte { r := response(q, 1, lie...)[:12]; r[5] = 0; return r }, "timeout"},
		"an update's opcode": {func(q []byte) []byte { r := response(q, 1, lie...); r[2] |= 5 << 3; return r }, "timeout"},
		"a pointer to itself": {func(q []byte) []byte {
			r := response(q, 1)
			return append(r, 0xc0, byte(len(r)), 0, 1, 0,
				1)
		}, "malformed"},
		"10,000 records, one":  {func(q []byte) []byte { return response(q, 10_000, lie...) }, "malformed"},
		"a record that is cut": {func(q []byte) []byte { return response(q, 1, lie[:9]...) }, "malformed"},
		"data beyond the end": {func(q []byte) []byte { r := response(q, 1, lie...); r[len(r)-5] = 200; return r },
			"malformed"},
		"three bytes of data": {func(q []byte) []byte { return response(q, 1, record(127, 66, 6)...) }, "malformed"},
		"a refusal":           {func(q []byte) []byte { r := response(q, 0); r[3] |= 5; return r }, "REFUSED"},
		"a refusal, head alone": {func(q []byte) []byte { r := response(q, 0)[:12]; r[5], r[3] = 0, 2; return r },
			"SERVFAIL"},
		"somebody else's name": {func(q []byte) []byte { l := slices.Clone(lie); l[1] = 14; return response(q, 1, l...) },
			"NOERROR"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			addr := packets(t, func(q []byte) [][]byte { return [][]byte{c.answer(q)} })
			got, _ := resolve(t, names.Config{Resolvers: []string{addr}, Timeout: time.Second, Retries: 1}, "a.bc.test")
			if n := got["a.bc.test"]; n.RCode != c.rcode || len(n.IP) > 0 {
				t.Errorf("%+v, want %s", n, c.rcode)
			}
		})
	}
}

// served answers over UDP and TCP by a handler.
func served(t testing.TB, handler dns.HandlerFunc) (addr string) {
	t.Helper()
	listener, conn, err := dnslab.ListenBoth("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{Listener: listener, Handler: handler}, {PacketConn: conn, Handler: handler}} {
		up := make(chan struct{})
		s.NotifyStartedFunc = func() { close(up) }
		go s.ActivateAndServe()
		<-up
		t.Cleanup(func() { s.Shutdown() })
	}
	return listener.Addr().String()
}

// What is too much is cut, and not lost altogether.
func TestLargeAnswersAreBounded(t *testing.T) {
	addr := served(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Compress = true
		head := dns.RR_Header{Name: q.Question[0].Name, Rrtype: q.Question[0].Qtype, Class: dns.ClassINET}
		switch q.Question[0].Qtype {
		case dns.TypeA:
			for i := range 4000 {
				m.Answer = append(m.Answer, &dns.A{Hdr: head, A: net.IPv4(127, 0, byte(i>>8), byte(i))})
			}
		case dns.TypePTR:
			for i := range 1000 {
				m.Answer = append(m.Answer, &dns.PTR{Hdr: head, Ptr: fmt.Sprintf("PTR%03d.Test.", i)})
			}
		}
		if w.RemoteAddr().Network() == "udp" && m.Len() > 1232 {
			m.Answer, m.Truncated = nil, true
		}
		_ = w.WriteMsg(m)
	})
	got, _ := resolve(t, names.Config{Resolvers: []string{addr}}, "large.test", "192.0.2.1")
	if n := len(got["large.test"].IP); n != 256 {
		t.Errorf("%d addresses", n)
	}
	if list := got["192.0.2.1"].Records["PTR"]; len(list) != 100 || list[0] != "ptr000.test" {
		t.Errorf("%d names of an address: %v", len(list), list)
	}
}

// Resolvers that are dead, or only silent, cost time and no name.
func TestResolversThatFail(t *testing.T) {
	_, s, cfg := lab(t)
	gone, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	var unanswered atomic.Int64
	silent := packets(t, func([]byte) [][]byte { unanswered.Add(1); return nil })
	refuses := packets(t, func(q []byte) [][]byte { r := response(q, 0); r[3] |= 5; return [][]byte{r} })
	cfg.Resolvers = []string{gone.LocalAddr().String(), silent, refuses, s.Addr}
	cfg.Retries = 9 // on a busy machine the good one is late, too
	var hosts []string
	for i := range 2000 {
		hosts = append(hosts, fmt.Sprintf("node-%04d.rack%d.dc%d.lab.test", i, i%40, i%4))
	}
	got, report := resolve(t, cfg, hosts...)
	for _, host := range hosts {
		if n := got[host]; n.RCode != "NOERROR" || len(n.IP) == 0 {
			t.Fatalf("%+v", n)
		}
	}
	if n := unanswered.Load(); n == 0 || n > s.Questions()/5 {
		t.Errorf("%d of %d questions go to a resolver that is silent", n, report.Questions)
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	_, _, cfg := lab(t)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := 0
	report, err := names.Resolve(ctx, cfg, func(yield func(string) bool) {
		for i := 0; yield(fmt.Sprintf("silent%d.silent0.lab.test", i)); i++ {
		}
	}, func(discover.Name) {
		if told++; told == 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || report.Asked != 100 || told != 100 {
		t.Errorf("%v after %d", err, report.Asked)
	}
	wait(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestRateHolds(t *testing.T) {
	_, s, cfg := lab(t)
	cfg.Pace = discover.NewPace(200)
	begun := time.Now()
	var hosts []string
	for i := range 60 {
		hosts = append(hosts, fmt.Sprintf("missing%d.lab.test", i))
	}
	resolve(t, cfg, hosts...)
	took := time.Since(begun)
	if most := took.Seconds()*200 + 5; float64(s.Questions()) > most {
		t.Errorf("%d questions in %s", s.Questions(), took)
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for what, cfg := range map[string]names.Config{
		"resolvers": {Resolvers: []string{"nowhere"}},
	} {
		_, err := names.Resolve(t.Context(), cfg, slices.Values([]string{"a.test"}), func(discover.Name) {})
		if e := errs.From(err); e == nil || e.Kind != errs.Invalid || e.Param != what {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := names.Find(t.Context(), names.Config{}, "no domain", nil, func(discover.Name) {}); !errs.Is(err,
		errs.Invalid) {
		t.Errorf("no domain: %v", err)
	}
}

// What is not allowed is not asked about, also when a CNAME leads there.
func TestAllowHolds(t *testing.T) {
	var strangers atomic.Int32
	addr := served(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		name := q.Question[0].Name
		if name != "in.test." {
			strangers.Add(1)
		} else {
			m.Answer = []dns.RR{&dns.CNAME{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET},
				Target: "Out.Example."}}
		}
		_ = w.WriteMsg(m)
	})
	cfg := names.Config{Resolvers: []string{addr}, Allow: func(host string) bool { return host == "in.test" }}
	got, _ := resolve(t, cfg, "in.test", "out.test", "192.0.2.1")
	if n := got["in.test"]; len(got) != 1 || !slices.Equal(n.CNAME, []string{"out.example"}) || n.RCode != "NOERROR" ||
		n.IP != nil {
		t.Errorf("%+v", got)
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("%d questions about others", n)
	}
}

func TestAddresses(t *testing.T) {
	_, _, cfg := lab(t)
	got, _ := resolve(t, cfg, "127.1.0.0", "192.0.2.7")
	n := got["127.1.0.0"]
	if n.RCode != "NOERROR" || !slices.Equal(n.IP, []netip.Addr{netip.MustParseAddr("127.1.0.0")}) ||
		fmt.Sprint(n.Records) != "map[PTR:[www.lab.test]]" {
		t.Errorf("an address: %+v", n)
	}
	if n := got["192.0.2.7"]; n.RCode != "NXDOMAIN" || n.Records != nil {
		t.Errorf("an address without a name: %+v", n)
	}
}

func TestUnclaimed(t *testing.T) {
	page := "<p>There isn't a GitHub Pages site here.</p>"
	if s := names.Unclaimed([]string{"a.test", "team.github.io"}, page); !strings.Contains(s, "GitHub Pages") ||
		!strings.Contains(s, "team.github.io") {
		t.Errorf("%q", s)
	}
	if s := names.Unclaimed([]string{"team.github.io"}, "hello") +
		names.Unclaimed([]string{"github.example"}, page); s != "" {
		t.Errorf("said of a page that is held: %q", s)
	}
}
