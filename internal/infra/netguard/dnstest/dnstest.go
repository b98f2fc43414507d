// Package dnstest is a name server on loopback for tests. A name may resolve to something else each time.
package dnstest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server answers questions about the names it was given and NXDOMAIN about others.
type Server struct {
	addr string

	mu    sync.Mutex
	names map[string]*answers
	asked map[string]int
}

// answers is what a name resolves to: one record set for each query.
type answers struct {
	sets [][]string
	next map[uint16]int // by question type
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{addr: conn.LocalAddr().String(), names: map[string]*answers{}, asked: map[string]int{}}
	up := make(chan struct{})
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(s.answer), NotifyStartedFunc: func() { close(up) }}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	<-up
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return s
}

// Set makes name resolve to each record set in order, the last one for ever. A record set is a list of IP
// addresses, or one CNAME target ("other.test"); an empty one is SERVFAIL. Queries for A and AAAA are counted
// independently.
func (s *Server) Set(name string, sets ...[]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[dns.Fqdn(strings.ToLower(name))] = &answers{sets: sets, next: map[uint16]int{}}
}

// Addr is the server's address, host:port, over UDP.
func (s *Server) Addr() string { return s.addr }

// Asked is how often the A record of name was asked for.
func (s *Server) Asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[dns.Fqdn(name)]
}

// Resolver asks this server only.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.addr)
	}}
}

func (s *Server) answer(w dns.ResponseWriter, question *dns.Msg) {
	reply := new(dns.Msg)
	reply.SetReply(question)
	reply.Authoritative = true // or an empty answer would be a referral, and asked again
	for _, q := range question.Question {
		reply.Rcode = s.fill(reply, strings.ToLower(q.Name), q.Qtype)
	}
	_ = w.WriteMsg(reply) // the client may have left
}

// fill adds the records of name, following CNAMEs, and gives the response code.
func (s *Server) fill(reply *dns.Msg, name string, qtype uint16) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if qtype == dns.TypeA {
		s.asked[name]++
	}
	for range 8 {
		a, ok := s.names[name]
		if !ok {
			return dns.RcodeNameError
		}
		set := a.sets[min(a.next[qtype], len(a.sets)-1)]
		a.next[qtype]++
		if len(set) == 0 {
			return dns.RcodeServerFailure
		}
		alias := ""
		for _, value := range set {
			alias = add(reply, name, value, qtype)
		}
		if alias == "" {
			return dns.RcodeSuccess
		}
		name = alias
	}
	return dns.RcodeServerFailure
}

// add appends one record if it is of the type asked for, and gives the alias to follow.
func add(reply *dns.Msg, name, value string, qtype uint16) string {
	header := dns.RR_Header{Name: name, Class: dns.ClassINET, Ttl: 1}
	ip := net.ParseIP(value)
	switch {
	case ip == nil:
		header.Rrtype = dns.TypeCNAME
		reply.Answer = append(reply.Answer, &dns.CNAME{Hdr: header, Target: dns.Fqdn(value)})
		return dns.Fqdn(value)
	case strings.Contains(value, ":") && qtype == dns.TypeAAAA:
		header.Rrtype = dns.TypeAAAA
		reply.Answer = append(reply.Answer, &dns.AAAA{Hdr: header, AAAA: ip})
	case !strings.Contains(value, ":") && qtype == dns.TypeA:
		header.Rrtype = dns.TypeA
		reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: ip})
	}
	return ""
}
