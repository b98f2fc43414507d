package names

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// message packs an answer of records in zone-file form to a question about a host.
func message(
	t interface{ Fatal(...any) }, host string, kind uint16, compress bool, records ...string,
) (msg []byte, question int) {
	m := new(dns.Msg)
	m.SetQuestion(host+".", kind)
	m.Response, m.Compress = true, compress
	for _, text := range records {
		record, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		m.Answer = append(m.Answer, record)
	}
	msg, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return msg, len(host) + 2 + 4
}

// The records of an answer may come in any order and any spelling; those of others in it
// are not believed.
func TestReadFollowsTheChain(t *testing.T) {
	records := []string{
		"a.test. CNAME b.test.", "B.test. CNAME c.TEST.", "c.test. A 127.0.0.1", "C.test. A 127.0.0.2",
		"evil.test. A 127.66.6.6", "evil.test. CNAME b.test.", "b.test. A 127.66.6.6",
	}
	rapid.Check(t, func(t *rapid.T) {
		shuffled := rapid.Permutation(records).Draw(t, "records")
		msg, question := message(t, "a.test", dns.TypeA, rapid.Bool().Draw(t, "compress"), shuffled...)
		a, err := read(msg, "a.test", question, dns.TypeA)
		slices.SortFunc(a.addrs, netip.Addr.Compare)
		if err != nil || a.loop || !slices.Equal(a.chain, []string{"b.test", "c.test"}) ||
			!slices.Equal(a.addrs, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}) {
			t.Fatalf("%+v %v", a, err)
		}
	})
}

func TestReadSeesLoops(t *testing.T) {
	for _, records := range [][]string{
		{"a.test. CNAME a.test."},
		{"a.test. CNAME b.test.", "b.test. CNAME a.test."},
		{"b.test. CNAME c.test.", "c.test. CNAME b.test.", "a.test. CNAME b.test."},
	} {
		msg, question := message(t, "a.test", dns.TypeA, true, records...)
		if a, err := read(msg, "a.test", question, dns.TypeA); err != nil || !a.loop || len(a.chain) > maxChain {
			t.Errorf("%q: %+v %v", records, a, err)
		}
	}
}

// What pack writes is what the library reads.
func TestPackIsAQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`([a-z0-9_-]{1,20}\.){1,5}[a-z]{2,10}`).Draw(t, "host")
		edns := rapid.Bool().Draw(t, "edns")
		msg, question := pack(host, dns.TypeAAAA, edns)
		var m dns.Msg
		if err := m.Unpack(msg); err != nil {
			t.Fatal(err)
		}
		if q := m.Question[0]; q.Name != host+"." || q.Qtype != dns.TypeAAAA || !m.RecursionDesired ||
			(m.IsEdns0() != nil) != edns {
			t.Fatalf("%+v", m)
		}
		m.Response = true
		reply, err := m.Pack()
		if err != nil || !answers(reply, msg[headerSize:question]) || answers(msg, msg[headerSize:question]) {
			t.Fatalf("the answer to %s is not recognised (%v)", host, err)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypePTR} {
		msg, question := message(f, "a.test", kind, true, "a.test. CNAME b.test.", "b.test. A 127.0.0.1", "b.test. TXT x",
			"b.test. PTR c.test.", "b.test. AAAA ::1")
		f.Add(msg[headerSize+question:], kind, uint16(8))
	}
	head, question := message(f, "a.test", dns.TypeA, true)
	f.Fuzz(func(t *testing.T, records []byte, kind, count uint16) {
		msg := slices.Concat(head, records)
		msg[6], msg[7] = byte(count>>8), byte(count)
		a, err := read(msg, "a.test", question, kind)
		if len(a.addrs) > maxAddrs || len(a.chain) > maxChain || len(a.names) > maxRecords {
			t.Errorf("%d addresses, %d links, %d names (%v)", len(a.addrs), len(a.chain), len(a.names), err)
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a.b", "*.A.b.", "münchen.de", "a..b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, ok := normalizeHost(s)
		if !ok {
			return
		}
		if again, ok := normalizeHost(name); !ok || again != name || len(name) > maxHost {
			t.Errorf("%q becomes %q, and that %q", s, name, again)
		}
		if msg, question := pack(name, dns.TypeA, true); len(msg) > 512 || question != headerSize+len(name)+2+4 {
			t.Errorf("%q: a query of %d bytes", name, len(msg))
		}
	})
}
