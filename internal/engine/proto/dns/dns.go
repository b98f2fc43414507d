// Package dns asks resolvers (template language 3.1): one question about a name of the target, to the resolvers of the
// template or else those of the operator, and, where the template wants it, to the servers on the way from the root.
package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

const (
	defaultRetries = 3
	maxRetries     = 20
	payloadSize    = 4096 // of EDNS0, in bytes

	// maxUnpacked is how many bytes an answer may have without the pointers that stand for names: a message of 64 KiB
	// can name a long name 4,600 times.
	maxUnpacked = 256 << 10
	// memoryFactor is how many bytes one of an answer takes: unpacked, as text in which it may be \DDD, and in fields.
	memoryFactor = 20
)

// Probe is a compiled block.
type Probe struct {
	name      dsl.Text
	question  uint16
	class     uint16
	attempts  int
	recursion bool
	resolvers []dsl.Text
	trace     int // steps; 0 for no trace
}

var classes = map[string]uint16{
	"": dns.ClassINET, "inet": dns.ClassINET, "csnet": dns.ClassCSNET, "chaos": dns.ClassCHAOS,
	"hesiod": dns.ClassHESIOD, "none": dns.ClassNONE, "any": dns.ClassANY,
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.DNS) (*Probe, error) {
	p := &Probe{
		name: dsl.Parse(s.Name), question: dns.StringToType[s.Type], class: classes[s.Class],
		attempts: defaultRetries, recursion: s.Recursion == nil || *s.Recursion,
	}
	switch {
	case s.Name == "":
		return nil, syntax.Fault(file, s.Line, 0, "dns.name", "a question needs a name, such as \"{{FQDN}}\"")
	case s.Type == "":
		p.question = dns.TypeA
	}
	if s.Retries > 0 {
		p.attempts = min(s.Retries, maxRetries)
	}
	if s.Trace {
		if p.trace = s.TraceMaxRecursion; p.trace <= 0 {
			p.trace = defaultTrace
		}
		p.trace = min(p.trace, maxTrace)
	}
	for _, text := range s.Resolvers {
		p.resolvers = append(p.resolvers, dsl.Parse(text))
	}
	return p, nil
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string { return proto.Names(append(p.resolvers, p.name)...) }

// Run implements proto.Probe. An address has no name, and so is a target for PTR alone.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	host := env.Target.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		if p.question != dns.TypePTR {
			return proto.Inapplicable("the target is an address, and has no name to ask for")
		}
		if host, err = dns.ReverseAddr(host); err != nil {
			return proto.Inapplicable("%v", err)
		}
		host = strings.TrimSuffix(host, ".")
	}
	vars := rooted(env.Vars(rawurl.URL{Host: host}), host)
	name, err := p.name.Render(vars)
	if err != nil {
		return err
	}
	c := &client{Env: env, attempts: p.attempts, share: membudget.Process().Share()}
	defer c.share.Release() // operators see the reply a little longer, which the next question of the target waits for
	if c.servers, err = p.servers(env, vars); err != nil {
		return err
	}
	question := p.message(name)
	if _, ok := dns.IsDomainName(name); !ok || len(name) == 0 {
		return proto.Unusable("%q is no domain name", name)
	}
	answer, err := c.ask(ctx, question)
	if err != nil {
		return err
	}
	trace := ""
	if p.trace > 0 {
		if trace, err = c.trace(ctx, host, p.question, p.trace); err != nil {
			return err
		}
	}
	found(reply(env, vars, question, answer, trace))
	return ctx.Err()
}

// rooted is vars with a variable FQDN that ends with a dot, as in nuclei's questions.
func rooted(vars *dsl.Env, host string) *dsl.Env {
	known := vars.Vars
	vars.Vars = func(name string) (any, bool) {
		if name == "FQDN" {
			return dns.Fqdn(host), true
		}
		return known(name)
	}
	return vars
}

// servers are whom to ask.
func (p *Probe) servers(env *proto.Env, vars *dsl.Env) ([]server, error) {
	var all []server
	for _, text := range p.resolvers {
		s, err := text.Render(vars)
		if err != nil {
			return nil, err
		}
		one, err := readServer(s)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, s := range env.DNS {
		one, err := readServer(s)
		if err != nil {
			return nil, err
		}
		one.helper = true
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, proto.Unusable("no resolver is configured")
	}
	return all, nil
}

// server is a resolver.
type server struct {
	network string // udp, which tries tcp for long answers, tcp or tcp-tls
	address string
	helper  bool // the operator named it
}

// readServer reads an address with or without network and port: 192.0.2.1, udp:192.0.2.1:53, tls://192.0.2.1:853.
func readServer(text string) (server, error) {
	s := server{network: "udp", address: strings.TrimSpace(text)}
	port := "53"
	for prefix, network := range map[string]string{"udp": "udp", "tcp": "tcp", "tls": "tcp-tls"} {
		if rest, ok := strings.CutPrefix(s.address, prefix+":"); ok {
			s.network, s.address = network, strings.TrimPrefix(rest, "//")
			if network == "tcp-tls" {
				port = "853"
			}
		}
	}
	if s.address == "" || strings.HasPrefix(s.address, "doh:") || strings.Contains(s.address, "/") {
		return s, proto.Unusable("%q is no resolver that can be asked", text)
	}
	if _, _, err := net.SplitHostPort(s.address); err != nil {
		s.address = net.JoinHostPort(strings.Trim(s.address, "[]"), port)
	}
	return s, nil
}

// SystemResolvers are the resolvers of this machine, as host:port.
func SystemResolvers() (all []string) {
	config, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	for _, s := range config.Servers {
		all = append(all, net.JoinHostPort(s, config.Port))
	}
	return all
}

// message is the question.
func (p *Probe) message(name string) *dns.Msg {
	m := &dns.Msg{}
	m.Id, m.RecursionDesired = dns.Id(), p.recursion
	m.Question = []dns.Question{{Name: dns.Fqdn(name), Qtype: p.question, Qclass: p.class}}
	m.SetEdns0(payloadSize, false)
	m.AuthenticatedData = p.question == dns.TypeTXT
	return m
}

// client asks servers in turn.
type client struct {
	*proto.Env
	servers  []server
	attempts int
	next     int
	share    *membudget.Share // of the answers
}

// ask asks until a server answers, whatever it answers.
func (c *client) ask(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	var last error
	for range c.attempts {
		s := c.servers[c.next%len(c.servers)]
		c.next++
		answer, err := c.exchange(ctx, s, m)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		last = err
	}
	return nil, last
}

// exchange asks one server; an answer that was cut off is asked for again over TCP.
func (c *client) exchange(ctx context.Context, s server, m *dns.Msg) (*dns.Msg, error) {
	answer, err := c.once(ctx, s, m)
	if err == nil && answer.Truncated && s.network == "udp" {
		s.network = "tcp"
		if whole, err := c.once(ctx, s, m); err == nil {
			return whole, nil
		}
	}
	return answer, err
}

func (c *client) once(ctx context.Context, s server, m *dns.Msg) (*dns.Msg, error) {
	end, err := c.Begin(ctx, s.address)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	dial, network := c.Dial, "udp"
	if s.helper {
		dial = c.DialHelper
	}
	if s.network != "udp" {
		network = "tcp"
	}
	conn, err := dial(ctx, network, s.address)
	if err != nil {
		return nil, err
	}
	if s.network == "tcp-tls" {
		if conn, err = tlsfacts.Client(ctx, conn, ""); err != nil {
			return nil, err
		}
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	asker := dns.Client{Net: network, Timeout: c.Timeout, UDPSize: payloadSize}
	answer, _, err := asker.ExchangeWithConnContext(ctx, m, &dns.Conn{Conn: conn})
	if ctx.Err() != nil { // the connection was closed for it
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.address, err)
	}
	return answer, c.weigh(ctx, s, answer)
}

// weigh refuses an answer that is much longer than it came, and counts a long one.
func (c *client) weigh(ctx context.Context, s server, m *dns.Msg) error {
	m.Compress = false // then Len is that of the message without pointers
	size := m.Len()
	if size > maxUnpacked {
		return fmt.Errorf("%s: the answer unpacks to %d bytes, more than %d", s.address, size, maxUnpacked)
	}
	if size*memoryFactor > membudget.Free {
		if _, err := c.share.Grow(ctx, maxUnpacked*memoryFactor); err != nil {
			return err
		}
	}
	return nil
}

// reply is the answer as operators see it.
func reply(env *proto.Env, vars *dsl.Env, question, answer *dns.Msg, trace string) *proto.Reply {
	matched := strings.TrimSuffix(question.Question[0].Name, ".")
	text := answer.String()
	r := &proto.Reply{
		Env: vars, MatchedAt: matched, Host: env.Target.Hostname(), Request: question.String(), Response: text,
		Fields: map[string]any{
			"type": "dns", "host": env.Target.Hostname(), "matched": matched, "request": question.String(),
			"rcode": float64(answer.Rcode), "raw": text, "trace": trace,
			"answer": join(answer.Answer), "ns": join(answer.Ns), "extra": join(answer.Extra),
		},
	}
	var asked strings.Builder
	for _, q := range answer.Question {
		asked.WriteString(q.String())
	}
	r.Fields["question"] = asked.String()
	records := map[string][]string{}
	for _, rr := range answer.Answer {
		kind := strings.ToLower(dns.TypeToString[rr.Header().Rrtype])
		data := strings.TrimPrefix(rr.String(), rr.Header().String())
		records[kind] = append(records[kind], strings.TrimSuffix(data, "."))
	}
	for kind, all := range records {
		if r.Fields[kind] = all; len(all) == 1 {
			r.Fields[kind] = all[0]
		}
	}
	return r
}

// join is the text of records, one after the other.
func join(records []dns.RR) string {
	var b strings.Builder
	for _, rr := range records {
		b.WriteString(rr.String())
	}
	return b.String()
}
