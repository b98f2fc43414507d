package dnslab

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Server answers for a zone over UDP and TCP, and like a resolver: it follows CNAMEs in the zone, and names outside do
// not exist.
type Server struct {
	Addr string // host:port, of both

	zone      *Zone
	udp       *net.UDPConn
	other     *net.UDPConn // that sends forged answers
	tcp       net.Listener
	ended     sync.WaitGroup
	questions atomic.Int64

	mu    sync.Mutex
	cache map[string][]byte // answers, by the query without its id
	late  map[*time.Timer]bool
	shut  bool
}

const (
	maxCached = 20_000
	slowDelay = 100 * time.Millisecond
)

// Start serves a zone on loopback until the test ends.
func Start(t testing.TB, z *Zone) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", z)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen serves a zone at an address until Close.
func Listen(address string, z *Zone) (*Server, error) {
	s := &Server{zone: z, cache: map[string][]byte{}, late: map[*time.Timer]bool{}}
	var err error
	if s.tcp, s.udp, err = ListenBoth(address); err != nil {
		return nil, err
	}
	s.Addr = s.tcp.Addr().String()
	at, err := net.ResolveUDPAddr("udp", s.Addr)
	if err == nil {
		s.other, err = net.ListenUDP("udp", &net.UDPAddr{IP: at.IP})
	}
	if err != nil {
		return nil, errors.Join(err, s.tcp.Close(), s.udp.Close())
	}
	_ = s.udp.SetReadBuffer(4 << 20) // as the system allows
	for range 2 {
		s.ended.Go(s.packets)
	}
	s.ended.Go(s.connections)
	return s, nil
}

// ListenBoth listens on one port for TCP and UDP. Port 0 is any port that is free for both: the system gives a
// port that is free for TCP, which something else may hold for UDP, so a few are tried.
func ListenBoth(address string) (*net.TCPListener, *net.UDPConn, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	for tries := 20; ; tries-- {
		tcp, err := net.ListenTCP("tcp", at)
		if err != nil {
			return nil, nil, err
		}
		both, err := net.ResolveUDPAddr("udp", tcp.Addr().String())
		if err != nil {
			return nil, nil, errors.Join(err, tcp.Close())
		}
		udp, err := net.ListenUDP("udp", both)
		if err == nil {
			return tcp, udp, nil
		}
		err = errors.Join(err, tcp.Close())
		if at.Port != 0 || tries == 0 {
			return nil, nil, err
		}
	}
}

// Close ends the server.
func (s *Server) Close() {
	s.mu.Lock()
	s.shut = true
	for timer := range s.late {
		timer.Stop()
	}
	s.mu.Unlock()
	s.udp.Close()
	s.other.Close()
	s.tcp.Close()
	s.ended.Wait()
}

// Questions is the number of questions.
func (s *Server) Questions() int64 { return s.questions.Load() }

func (s *Server) packets() {
	buffer := make([]byte, 4096)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < 12 {
			continue
		}
		s.questions.Add(1)
		s.packet(buffer[:n], from)
	}
}

func (s *Server) packet(query []byte, from netip.AddrPort) {
	if report := s.zone.OnQuestion; report != nil {
		if name, _, err := dns.UnpackDomainName(query, 12); err == nil {
			report(strings.ToLower(strings.TrimSuffix(name, ".")))
		}
	}
	s.mu.Lock()
	reply := s.cache[string(query[2:])]
	s.mu.Unlock()
	if reply != nil {
		out := append(make([]byte, 0, 1500), reply...)
		copy(out, query[:2])
		_, _ = s.udp.WriteToUDPAddrPort(out, from)
		return
	}
	question := new(dns.Msg)
	if question.Unpack(query) != nil || len(question.Question) != 1 {
		return
	}
	name := strings.ToLower(strings.TrimSuffix(question.Question[0].Name, "."))
	n, _ := s.zone.find(name)
	if n == nil {
		n = &node{}
	}
	msg := s.reply(question, name, n.behavior == truncated)
	send := func(b []byte) { _, _ = s.udp.WriteToUDPAddrPort(b, from) }
	switch n.behavior {
	case silent:
	case slow:
		s.later(func() { send(msg) })
	case malformed:
		send(append(msg[:12:12], garbage(msg)...))
	case amongForgeries:
		right, wrong := forgedAnswers(question)
		_, _ = s.other.WriteToUDPAddrPort(right, from)
		for _, lie := range wrong {
			send(lie)
		}
		send(msg)
	default:
		send(msg)
		if !n.pool.IsValid() {
			s.mu.Lock()
			if len(s.cache) < maxCached {
				s.cache[string(query[2:])] = msg
			}
			s.mu.Unlock()
		}
	}
}

// later does something after slowness, unless the server was closed.
func (s *Server) later(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(slowDelay, func() {
		s.mu.Lock()
		delete(s.late, timer)
		s.mu.Unlock()
		do()
	})
	s.late[timer] = true
}

// garbage follows the header of an unreadable answer: the question, and a name that points at itself.
func garbage(msg []byte) []byte {
	end := 12
	for msg[end] != 0 {
		end += 1 + int(msg[end])
	}
	end += 5
	binary.BigEndian.PutUint16(msg[6:], 10_000) // answers
	return append(msg[12:end:end], 0xc0, byte(end), 0, 1, 0, 1)
}

// forgedAnswers are answers with a false address: one that is right but for its sender, others with another id and
// question.
func forgedAnswers(question *dns.Msg) (right []byte, wrong [][]byte) {
	lie := new(dns.Msg)
	lie.SetReply(question)
	lie.Answer = []dns.RR{&dns.A{
		Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
		A:   net.IPv4(127, 66, 6, 6),
	}}
	right, _ = lie.Pack()
	lie.Id++
	wrongID, _ := lie.Pack()
	lie.Id--
	lie.Question = []dns.Question{{Name: "another.example.", Qtype: dns.TypeA, Qclass: dns.ClassINET}}
	wrongQuestion, _ := lie.Pack()
	return right, [][]byte{wrongID, wrongQuestion}
}

func (s *Server) connections() {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			return
		}
		s.ended.Go(func() { s.connection(conn) })
	}
}

func (s *Server) connection(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		question := new(dns.Msg)
		if question.Unpack(query) != nil || len(question.Question) != 1 {
			return
		}
		msg := s.reply(question, strings.ToLower(strings.TrimSuffix(question.Question[0].Name, ".")), false)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)); err != nil {
			return
		}
	}
}

// reply is the answer to a question, or with cut only its frame and the TC bit.
func (s *Server) reply(question *dns.Msg, name string, cut bool) []byte {
	m := new(dns.Msg)
	m.SetReply(question)
	m.RecursionAvailable, m.Compress = true, true
	if cut {
		m.Truncated = true
	} else {
		s.fill(m, name, question.Question[0].Qtype)
	}
	packed, err := m.Pack()
	if err != nil {
		m.Answer, m.Rcode = nil, dns.RcodeServerFailure
		packed, _ = m.Pack()
	}
	return packed
}

// fill adds the records of a name, following CNAMEs.
func (s *Server) fill(m *dns.Msg, name string, kind uint16) {
	for range 12 {
		n, exists := s.zone.find(name)
		switch {
		case n == nil && !exists:
			m.Rcode = dns.RcodeNameError
			return
		case n == nil:
			return
		case n.behavior == servfail:
			m.Rcode = dns.RcodeServerFailure
			return
		}
		head := dns.RR_Header{Name: name + ".", Class: dns.ClassINET, Ttl: 60}
		if n.alias == "" {
			n.answer(m, head, kind)
			return
		}
		head.Rrtype = dns.TypeCNAME
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: head, Target: n.alias + "."})
		if name = n.alias; kind == dns.TypeCNAME || n.behavior == aliasOnly {
			return
		}
	}
}

func (n *node) answer(m *dns.Msg, head dns.RR_Header, kind uint16) {
	addrs := n.addrs
	if n.pool.IsValid() {
		b := n.pool.Addr().As4()
		b[3] |= byte(rand.Uint32()) >> (n.pool.Bits() - 24)
		addrs = []netip.Addr{netip.AddrFrom4(b)}
	}
	head.Rrtype = kind
	for _, a := range addrs {
		switch {
		case kind == dns.TypeA && a.Is4():
			m.Answer = append(m.Answer, &dns.A{Hdr: head, A: a.AsSlice()})
		case kind == dns.TypeAAAA && a.Is6():
			m.Answer = append(m.Answer, &dns.AAAA{Hdr: head, AAAA: a.AsSlice()})
		}
	}
	for _, text := range n.texts[dns.TypeToString[kind]] {
		record, err := dns.NewRR(head.Name + " 60 IN " + dns.TypeToString[kind] + " " + text)
		if err == nil {
			m.Answer = append(m.Answer, record)
		}
	}
}
