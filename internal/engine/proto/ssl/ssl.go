// Package ssl looks at TLS servers (template language 3.3): one handshake in the range of versions that a template
// wants, and, where it asks for them, the versions and cipher suites that the server accepts. crypto/tls makes the
// handshake; what it does not speak is tried by hand (hello.go), without an encrypted connection.
package ssl

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// Probe is a compiled block.
type Probe struct {
	address      dsl.Text
	client       string // scan_mode; "" for auto. One client of ours does what the three of nuclei do
	first, last  uint16 // versions
	suites       []uint16
	enumVersions bool
	enumSuites   []string // strengths; none for no enumeration
	jarm, ja3s   bool     // operators read these fingerprints
}

var versions = map[string]uint16{
	"ssl30": versionSSL30, "sslv3": versionSSL30, "tls10": versionTLS10, "tls11": 0x0302, "tls12": versionTLS12,
	"tls13": versionTLS13,
}

// versionName is the name of a version in templates.
func versionName(v uint16) string {
	if v == versionSSL30 {
		return "ssl30"
	}
	return tlsfacts.Version(v)
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.SSL) (*Probe, error) {
	p := &Probe{
		address: dsl.Parse(s.Address), first: versionSSL30, last: versionTLS13,
		enumVersions: s.TLSVersionEnum || s.TLSCipherEnum,
	}
	if s.ScanMode != "auto" {
		p.client = s.ScanMode
	}
	operators := fmt.Sprintf("%+v", s.Operators)
	p.jarm, p.ja3s = strings.Contains(operators, "jarm_hash"), strings.Contains(operators, "ja3s_hash")
	if s.Address == "" {
		return nil, syntax.Fault(file, s.Line, 0, "ssl.address", "a handshake needs an address: {{Host}}:{{Port}}")
	}
	if s.MinVersion != "" {
		p.first = versions[s.MinVersion]
	}
	if s.MaxVersion != "" {
		p.last = versions[s.MaxVersion]
	}
	if p.first > p.last {
		return nil, syntax.Fault(file, s.Line, 0, "ssl.max_version", "%s is older than %s", s.MaxVersion, s.MinVersion)
	}
	for _, name := range s.CipherSuites {
		id, ok := suiteID(name)
		if !ok {
			return nil, syntax.Fault(file, s.Line, 0, "ssl.cipher_suites", "%q is no cipher suite", name)
		}
		p.suites = append(p.suites, id)
	}
	if s.TLSCipherEnum {
		if p.enumSuites = s.TLSCipherTypes; len(p.enumSuites) == 0 {
			p.enumSuites = []string{insecure}
		}
	}
	return p, nil
}

// Requests implements proto.Probe: all handshakes make one reply.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string { return proto.Names(p.address) }

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	port := cmp.Or(env.Target.ExplicitPort(), "443")
	vars := env.Vars(rawurl.URL{Host: net.JoinHostPort(env.Target.Hostname(), port)})
	address, err := p.address.Render(vars)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return proto.Unusable("%q is no address: it needs a host and a port", address)
	}
	s := server{Env: env, host: host, port: port, address: address}
	f, err := s.look(ctx, p)
	if err != nil {
		return s.judge(ctx, p, err)
	}
	f.Connection = cmp.Or(p.client, f.Connection)
	if p.enumVersions {
		if err := s.enumerate(ctx, p, f); err != nil {
			return err
		}
	}
	if version := versions[f.Version]; p.ja3s && f.JA3S == "" {
		if a, _, err := s.offer(ctx, version, suitesFor(version, []string{"all"})); err == nil {
			f.JA3S = a.ja3s()
		}
	}
	if p.jarm {
		n, _ := strconv.Atoi(port)
		f.JARM = tlsfacts.JARM(ctx, host, n, env.Timeout, 2, s.dial)
	}
	reply := &proto.Reply{Env: vars, IP: f.IP}
	if reply.Fields, reply.Response, err = f.fields(); err != nil {
		return err
	}
	reply.At(address)
	reply.Fields["matched"], reply.Fields["Port"] = address, port
	found(reply)
	return ctx.Err()
}

// judge is the error of a handshake: a server that speaks no TLS is no target, and one that refuses wants none of what
// was offered. To end the connection without a word is a refusal only where a template offers a part of what there is,
// and the server answers the whole.
func (s *server) judge(ctx context.Context, p *Probe, err error) error {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case plain, errors.Is(err, errNoTLS):
		return proto.Inapplicable("the server does not speak TLS")
	case refused(err):
		return proto.Refused()
	case !abrupt(err):
		return err
	}
	if p.first > versionSSL30 || p.last < versionTLS13 || len(p.suites) > 0 {
		whole := &Probe{first: versionSSL30, last: versionTLS13}
		if _, other := s.look(ctx, whole); other == nil || refused(other) {
			return proto.Refused()
		}
	}
	return fmt.Errorf("the server ended the handshake without an answer: %w", err)
}

// refused reports whether a server said in TLS that it does not want a handshake.
func refused(err error) bool {
	alert, local := errors.AsType[tls.AlertError](err)
	op, remote := errors.AsType[*net.OpError](err)
	return local && alert != 0 || remote && op.Op == "remote error" || errors.Is(err, errRefused)
}

// abrupt reports whether a connection was ended without an alert.
func abrupt(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// server is a server that is looked at.
type server struct {
	*proto.Env
	host, port, address string
}

// dial makes one connection, as one request that ends when the connection is closed: servers bound how many they have.
func (s *server) dial(ctx context.Context) (net.Conn, error) {
	end, err := s.Begin(ctx, s.address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	conn, err := s.Dial(ctx, "tcp", s.address)
	if err != nil {
		end()
		return nil, err
	}
	return &counted{conn, sync.OnceFunc(end)}, nil
}

// counted is a connection that ends its request.
type counted struct {
	net.Conn

	end func()
}

func (c *counted) Close() error {
	defer c.end()
	return c.Conn.Close()
}

// look makes a handshake with crypto/tls, or by hand when that has no version or suite in common with the server.
func (s *server) look(ctx context.Context, p *Probe) (*facts, error) {
	f := &facts{Timestamp: time.Now(), Host: s.host, Port: s.port, Probed: true, SNI: s.host}
	var first error
	if p.last >= versionTLS10 {
		if first = s.shake(ctx, p, f); first == nil || ctx.Err() != nil || f.IP == "" {
			return f, first
		}
	}
	for version := p.last; version >= p.first; version-- {
		ids := p.suites
		if len(ids) == 0 {
			ids = suitesFor(version, []string{"all"})
		}
		a, ip, err := s.offer(ctx, version, ids)
		if err == nil {
			s.fill(ctx, f, a)
			f.IP = ip
			return f, nil
		}
		if first == nil || abrupt(first) && refused(err) {
			first = err
		}
		if ctx.Err() != nil || ip == "" {
			break
		}
	}
	return nil, first
}

// shake is a handshake with crypto/tls. A server that wants a client certificate may refuse after it has shown all.
func (s *server) shake(ctx context.Context, p *Probe, f *facts) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	f.IP = proto.IP(conn)
	config := tlsfacts.Lenient(s.host)
	config.MinVersion, config.MaxVersion = max(p.first, versionTLS10), p.last
	if len(p.suites) > 0 {
		config.CipherSuites = p.suites
	}
	var state tls.ConnectionState
	config.VerifyConnection = func(s tls.ConnectionState) error { state = s; return nil }
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		f.WantsCert = true
		return &tls.Certificate{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil && len(state.PeerCertificates) == 0 {
		return err
	}
	f.Connection, f.Version, f.Cipher = "ctls", versionName(state.Version), suiteName(state.CipherSuite)
	f.certFacts = certificateFacts(ctx, s.host, state.PeerCertificates, state.OCSPResponse)
	return nil
}

// offer offers one version and some suites by hand.
func (s *server) offer(ctx context.Context, version uint16, ids []uint16) (a *answer, ip string, err error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	a, err = greet(ctx, conn, s.host, version, ids, s.Timeout)
	return a, proto.IP(conn), err
}

// fill reads the facts of an answer.
func (s *server) fill(ctx context.Context, f *facts, a *answer) {
	f.Connection, f.Version, f.Cipher = "ztls", versionName(a.version), suiteName(a.suite)
	f.WantsCert, f.JA3S = a.wantsCert, a.ja3s()
	var chain []*x509.Certificate
	for _, der := range a.certificates {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			break
		}
		chain = append(chain, c)
	}
	if len(chain) > 0 {
		f.certFacts = certificateFacts(ctx, s.host, chain, nil)
	}
}

// enumerate finds the versions that the server accepts, and with them the suites of the wanted strengths.
func (s *server) enumerate(ctx context.Context, p *Probe, f *facts) error {
	for version := uint16(versionSSL30); version <= versionTLS13; version++ {
		_, _, err := s.offer(ctx, version, suitesFor(version, []string{"all"}))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		f.Versions = append(f.Versions, versionName(version))
		if len(p.enumSuites) == 0 {
			continue
		}
		one := cipherFacts{Version: versionName(version)}
		for _, s := range s.accepted(ctx, version, suitesFor(version, p.enumSuites)) {
			switch s.strength() {
			case insecure:
				one.Ciphers.Insecure = append(one.Ciphers.Insecure, s.name)
			case weak:
				one.Ciphers.Weak = append(one.Ciphers.Weak, s.name)
			default:
				one.Ciphers.Secure = append(one.Ciphers.Secure, s.name)
			}
		}
		if len(one.Ciphers.Insecure)+len(one.Ciphers.Weak)+len(one.Ciphers.Secure) > 0 {
			f.Ciphers = append(f.Ciphers, one)
		}
	}
	return ctx.Err()
}

// accepted are the suites that the server chooses, one handshake each: what it chose is not offered again.
func (s *server) accepted(ctx context.Context, version uint16, ids []uint16) (all []suite) {
	for len(ids) > 0 {
		a, _, err := s.offer(ctx, version, ids)
		if err != nil {
			break
		}
		i := slices.Index(ids, a.suite)
		if i < 0 {
			break
		}
		all = append(all, suite{a.suite, suiteName(a.suite)})
		ids = slices.Delete(ids, i, i+1)
	}
	return all
}
