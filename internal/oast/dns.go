package oast

import (
	"net"
	"strings"

	"github.com/miekg/dns"
)

// dnsTTL is how long resolvers may keep an answer, in seconds. Short: each question is wanted here.
const dnsTTL = 1

// ServeDNS implements dns.Handler: answers for the domain, refuses the rest, and records questions with an identifier.
func (s *Server) ServeDNS(w dns.ResponseWriter, in *dns.Msg) {
	out := s.reply(in)
	// What a name server says about a name that it does not serve is nobody's interaction, so it is not recorded.
	if len(in.Question) == 1 && out.Rcode == dns.RcodeSuccess {
		q := in.Question[0]
		s.record(find(q.Name, s.store.known), Interaction{
			Protocol: "dns", QType: dns.TypeToString[q.Qtype], RawRequest: in.String(), RawResponse: out.String(),
			RemoteAddress: hostOf(w.RemoteAddr().String()),
		})
	}
	_ = w.WriteMsg(out) // who is gone needs no answer
}

// reply makes the answer to a question.
func (s *Server) reply(in *dns.Msg) *dns.Msg {
	out := new(dns.Msg).SetReply(in)
	if in.Opcode != dns.OpcodeQuery {
		return out.SetRcode(in, dns.RcodeNotImplemented)
	}
	if len(in.Question) != 1 {
		return out.SetRcode(in, dns.RcodeFormatError)
	}
	q, domain := in.Question[0], dns.Fqdn(s.config.Domain)
	name := strings.ToLower(q.Name)
	if s.config.Domain == "" || q.Qclass != dns.ClassINET || !dns.IsSubDomain(domain, name) {
		return out.SetRcode(in, dns.RcodeRefused)
	}
	out.Authoritative = true
	head := func(rrtype uint16) dns.RR_Header {
		return dns.RR_Header{Name: q.Name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: dnsTTL}
	}
	soa := func(owner string) dns.RR {
		return &dns.SOA{
			Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: dnsTTL},
			Ns:  "ns1." + domain, Mbox: "admin." + domain, Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: dnsTTL,
		}
	}
	switch q.Qtype {
	case dns.TypeA, dns.TypeAAAA, dns.TypeANY:
		out.Answer = s.addresses(q.Qtype, head)
	case dns.TypeNS:
		for _, name := range []string{"ns1.", "ns2."} {
			out.Answer = append(out.Answer, &dns.NS{Hdr: head(dns.TypeNS), Ns: name + domain})
		}
	case dns.TypeSOA:
		out.Answer = []dns.RR{soa(q.Name)}
	case dns.TypeTXT:
		out.Answer = []dns.RR{&dns.TXT{Hdr: head(dns.TypeTXT), Txt: []string{"v=spf1 -all"}}}
	case dns.TypeMX:
		out.Answer = []dns.RR{&dns.MX{Hdr: head(dns.TypeMX), Preference: 1, Mx: "mail." + domain}}
	}
	if len(out.Answer) == 0 {
		out.Ns = []dns.RR{soa(domain)}
	}
	return out
}

// addresses are the server's own ones, of the type that was asked for.
func (s *Server) addresses(qtype uint16, head func(uint16) dns.RR_Header) (all []dns.RR) {
	for _, ip := range s.config.Addresses {
		switch {
		case ip.Is4() && qtype != dns.TypeAAAA:
			all = append(all, &dns.A{Hdr: head(dns.TypeA), A: net.IP(ip.AsSlice())})
		case ip.Is6() && qtype != dns.TypeA:
			all = append(all, &dns.AAAA{Hdr: head(dns.TypeAAAA), AAAA: net.IP(ip.AsSlice())})
		}
	}
	return all
}
