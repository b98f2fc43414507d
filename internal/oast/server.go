package oast

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"
)

// Limits on connections: of one listener at a time, and how long one may last.
const (
	maxConns = 4096
	maxLast  = 30 * time.Second
	// packetBuffer is how many bytes of questions may wait to be read.
	packetBuffer = 4 << 20
	// watched is how many interactions wait for who reads Interactions.
	watched = 4096
)

// DefaultListen is where a server listens if nothing else is said: every protocol at its usual port.
var DefaultListen = []string{
	"http://:80", "https://:443", "dns://:53", "smtp://:25", "ldap://:389", "ftp://:21",
}

// Config says what a server answers for and what it may keep. Zero values mean the defaults.
type Config struct {
	// Domain is the name that is delegated to this server; empty for a server that is known by its address alone.
	Domain string
	// Addresses are given in answers to questions for names in Domain.
	Addresses []netip.Addr
	// Token must be sent by clients, in the header Authorization; none is asked for if it is empty.
	Token string
	// Certificate is for TLS; one that the server signs itself, with a new key, if it is nil.
	Certificate *tls.Certificate
	// Sessions is how many clients may be registered at a time, 10,000 by default.
	Sessions int
	// Bytes is how much may wait to be polled, 256 MiB by default; one session may have a sixteenth, and half while all
	// sessions together have no more.
	Bytes int
	// Keep is how long a session lasts that nobody polls, 7 days by default.
	Keep time.Duration
	// Watch has every contact, also those without an identifier, sent to Interactions.
	Watch bool
}

// Server takes in interactions for the sessions that clients registered. It is an http.Handler and a dns.Handler.
type Server struct {
	config Config
	store  *store
	tls    *tls.Config
	seen   chan Interaction
	missed atomic.Int64

	ownCertificate bool // which no client has a reason to trust

	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	closers []io.Closer
	conns   map[net.Conn]bool
}

// NewServer makes a server that does not listen yet.
func NewServer(c Config) (*Server, error) {
	c.Domain = strings.ToLower(strings.Trim(c.Domain, "."))
	if _, ok := dns.IsDomainName(c.Domain); c.Domain != "" && !ok {
		return nil, fmt.Errorf("%q is no domain", c.Domain)
	}
	if c.Sessions < 0 || c.Bytes < 0 || c.Keep < 0 {
		return nil, errors.New("a limit is below 0")
	}
	c.Addresses = slices.Clone(c.Addresses)
	for i, ip := range c.Addresses {
		c.Addresses[i] = ip.Unmap()
	}
	c.Sessions, c.Bytes = orDefault(c.Sessions, 10_000), orDefault(c.Bytes, 256<<20)
	c.Keep = orDefault(c.Keep, 7*24*time.Hour)
	signsItself := c.Certificate == nil
	if signsItself {
		own, err := selfSigned(c)
		if err != nil {
			return nil, err
		}
		c.Certificate = own
	}
	s := &Server{
		config: c, ownCertificate: signsItself, seen: make(chan Interaction, watched), conns: map[net.Conn]bool{},
		tls: &tls.Config{Certificates: []tls.Certificate{*c.Certificate}, MinVersion: tls.VersionTLS10}, //nolint:gosec // old targets must reach it, and nothing secret is sent to them
		store: &store{
			sessionsMax: c.Sessions, bytesMax: c.Bytes, sessionBytesMax: c.Bytes / 16, keep: c.Keep,
			now: time.Now, sessions: map[string]*session{},
		},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.done.Go(s.evict)
	return s, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Interactions has what came in since the server was made, if Config.Watch is set. It is closed by Close.
func (s *Server) Interactions() <-chan Interaction { return s.seen }

// Dropped says how many interactions were not kept because their session, or the server, had no room for them, and
// how many were not sent to Interactions because nobody read it in time.
func (s *Server) Dropped() (kept, watched int) {
	s.store.sizeMu.Lock()
	defer s.store.sizeMu.Unlock()
	return s.store.dropped, int(s.missed.Load())
}

// record stores an interaction for each of the identifiers.
func (s *Server) record(ids []found, one Interaction) {
	if len(ids) == 0 && !s.config.Watch {
		return
	}
	one.RawRequest, one.RawResponse, one.Timestamp = cut(one.RawRequest), cut(one.RawResponse), s.store.now().UTC()
	for _, id := range ids {
		one.UniqueID, one.FullID = id.id, id.full
		s.store.add(one)
		s.show(one)
	}
	if len(ids) == 0 {
		s.show(one)
	}
}

func (s *Server) show(one Interaction) {
	if !s.config.Watch {
		return
	}
	select {
	case s.seen <- one:
	default:
		s.missed.Add(1)
	}
}

// name is how the server calls itself.
func (s *Server) name() string {
	if s.config.Domain == "" {
		return "localhost"
	}
	return s.config.Domain
}

// Listen opens a listener and serves it until Close. where is PROTOCOL://HOST:PORT with the protocol http, https, dns
// (UDP and TCP), smtp, smtps, ldap, ldaps, ftp, ftps, tcp or tls. It returns the address, with the port that 0 became.
func (s *Server) Listen(where string) (string, error) {
	protocol, addr, ok := strings.Cut(where, "://")
	if _, _, err := net.SplitHostPort(addr); !ok || err != nil {
		return "", fmt.Errorf("%q is no address to listen on: it must be PROTOCOL://HOST:PORT, such as http://:80", where)
	}
	if protocol == "dns" {
		return s.listenDNS(addr)
	}
	serve, secure := s.protocol(protocol)
	if serve == nil {
		return "", fmt.Errorf("%q: the protocol must be http, https, dns, smtp, smtps, ldap, ldaps, ftp, ftps, tcp or tls", where)
	}
	l, err := new(net.ListenConfig).Listen(s.ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	bound := l.Addr().String()
	l = netutil.LimitListener(l, maxConns)
	if secure {
		l = tls.NewListener(l, s.tls)
	}
	s.closes(l)
	s.done.Go(func() { serve(l) })
	return bound, nil
}

// protocol is what serves the listeners of a protocol, and whether it is within TLS.
func (s *Server) protocol(name string) (serve func(net.Listener), secure bool) {
	switch name {
	case "http", "https":
		return s.serveHTTP, name == "https"
	case "smtp", "smtps":
		return s.each(s.serveSMTP), name == "smtps"
	case "ldap", "ldaps":
		return s.each(s.serveLDAP), name == "ldaps"
	case "ftp", "ftps":
		return s.each(s.serveFTP), name == "ftps"
	case "tcp", "tls":
		return s.each(s.serveTCP), name == "tls"
	}
	return nil, false
}

func (s *Server) serveHTTP(l net.Listener) {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: maxLast / 3, ReadTimeout: maxLast, WriteTimeout: maxLast, IdleTimeout: maxLast,
		MaxHeaderBytes: maxRaw, ErrorLog: log.New(io.Discard, "", 0),
	}
	s.closes(server)
	_ = server.Serve(l) // it ends when Close closes it
}

// each serves every connection of a listener by itself.
func (s *Server) each(serve func(net.Conn)) func(net.Listener) {
	return func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
					return
				}
				s.pause()
				continue
			}
			s.done.Go(func() {
				defer s.forget(c)
				if s.ctx.Err() == nil && s.remember(c) && c.SetDeadline(time.Now().Add(maxLast)) == nil {
					serve(c)
				}
			})
		}
	}
}

// pause waits a moment after an error of Accept, such as too many open files.
func (s *Server) pause() {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
	case <-timer.C:
	}
}

func (s *Server) remember(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return s.ctx.Err() == nil
}

func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	_ = c.Close() // it is over either way
}

// listenDNS opens UDP and TCP at the same port.
func (s *Server) listenDNS(addr string) (string, error) {
	packets, stream, err := s.bothPorts(addr)
	if err != nil {
		return "", err
	}
	for _, server := range []*dns.Server{
		{PacketConn: packets, Handler: s},
		{
			Listener: netutil.LimitListener(stream, maxConns), Handler: s, MaxTCPQueries: maxTurns,
			ReadTimeout: maxLast / 3, WriteTimeout: maxLast / 3,
			IdleTimeout: func() time.Duration { return maxLast / 3 },
		},
	} {
		ready := make(chan struct{})
		server.NotifyStartedFunc = func() { close(ready) }
		s.done.Go(func() { _ = server.ActivateAndServe() }) // it ends when Close closes it
		<-ready
		s.closes(closer(func() error { return server.ShutdownContext(ended()) }))
	}
	return packets.LocalAddr().String(), nil
}

// bothPorts binds UDP and TCP. The port that stands for 0 over UDP may be taken over TCP: then another one is tried.
func (s *Server) bothPorts(addr string) (net.PacketConn, net.Listener, error) {
	for tries := 1; ; tries++ {
		packets, err := new(net.ListenConfig).ListenPacket(s.ctx, "udp", addr)
		if err != nil {
			return nil, nil, err
		}
		if udp, ok := packets.(*net.UDPConn); ok {
			_ = udp.SetReadBuffer(packetBuffer) // the kernel may allow less, and then more is lost in bursts
		}
		stream, err := new(net.ListenConfig).Listen(s.ctx, "tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, stream, nil
		}
		_ = packets.Close() // the other error is the one to tell
		if !strings.HasSuffix(addr, ":0") || tries == 20 {
			return nil, nil, err
		}
	}
}

// closer is a function as an io.Closer.
type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// ended is a context that is over: a server that is closed waits for nobody.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (s *Server) closes(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, c)
	if s.ctx.Err() != nil {
		_ = c.Close() // the server was closed meanwhile
	}
}

// evict ends idle sessions until the server is closed.
func (s *Server) evict() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.store.evict()
		}
	}
}

// Close ends all listeners and connections, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	s.cancel()
	closers := s.closers
	for c := range s.conns {
		_ = c.Close() // it is over either way
	}
	s.mu.Unlock()
	for _, c := range closers {
		_ = c.Close() // it is over either way
	}
	s.done.Wait()
	close(s.seen)
}

// hostOf is the address without its port.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

func remote(c net.Conn) string { return hostOf(c.RemoteAddr().String()) }
