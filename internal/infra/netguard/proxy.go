package netguard

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"golang.org/x/net/proxy"
)

// Proxy is a proxy that a user names: SOCKS5 (RFC 1928), or HTTP with CONNECT (RFC 9110, 9.3.6). It is asked for
// addresses, so that a scope and the networks that an operator denies hold as they do without a proxy; only one of
// the scheme socks5h is asked for names.
type Proxy struct {
	scheme string
	addr   string // host:port
	host   host   // of addr
	user   *url.Userinfo
}

// The schemes of proxies.
const (
	schemeSOCKS      = "socks5"
	schemeSOCKSNames = "socks5h"
	schemeHTTP       = "http"
)

// proxyPorts are the ports of proxies whose URLs have none.
var proxyPorts = map[string]string{schemeSOCKS: "1080", schemeSOCKSNames: "1080", schemeHTTP: "8080"}

const maxCredential = 255 // bytes of a user name or a password (RFC 1929)

// ParseProxy reads a proxy of the form socks5://user:password@host:port. The user, the password and the port may be
// missing. An error is an *errs.Error without a Param, and never shows the text, which may have a password.
func ParseProxy(text string) (*Proxy, error) {
	return parseProxy(text, "socks5://user:password@proxy.example.com:1080", schemeSOCKS)
}

// ParseAnyProxy is ParseProxy for whoever scans from their own machine: the scheme is socks5, socks5h or http.
func ParseAnyProxy(text string) (*Proxy, error) {
	return parseProxy(text, "socks5://proxy.example.com:1080, socks5h://… or http://proxy.example.com:8080",
		schemeSOCKS, schemeSOCKSNames, schemeHTTP)
}

func parseProxy(text, example string, schemes ...string) (*Proxy, error) {
	bad := errs.New(errs.Invalid, "invalid_proxy", "it must be a URL such as %s.", example)
	if len(text) > maxURL {
		return nil, bad
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, bad
	}
	h, ok := parseHost(u.Hostname())
	port, valid := parsePort(cmp.Or(u.Port(), proxyPorts[u.Scheme]))
	if !ok || !valid {
		return nil, bad
	}
	if u.User != nil {
		password, _ := u.User.Password()
		if name := u.User.Username(); name == "" || len(name) > maxCredential || len(password) > maxCredential {
			return nil, errs.New(errs.Invalid, "invalid_proxy", "a user name has 1 to %d bytes, a password at most as many.",
				maxCredential)
		}
	}
	name := h.name
	if name == "" {
		name = normalize(h.addr).String()
	}
	return &Proxy{u.Scheme, net.JoinHostPort(name, strconv.Itoa(int(port))), h, u.User}, nil
}

// URL is the proxy with its password, which ParseProxy reads again.
func (p *Proxy) URL() string { return p.url().String() }

// Masked is URL with the password replaced by xxxxx.
func (p *Proxy) Masked() string { return p.url().Redacted() }

func (p *Proxy) url() *url.URL { return &url.URL{Scheme: p.scheme, Host: p.addr, User: p.user} }

// HasPassword reports whether the proxy has a password, and whether that is the mask of Masked.
func (p *Proxy) HasPassword() (has, masked bool) {
	password, has := p.user.Password()
	return has, password == "xxxxx"
}

// LooksUp reports whether the proxy is asked for names, and looks them up.
func (p *Proxy) LooksUp() bool { return p.scheme == schemeSOCKSNames }

// Dialer connects to host:port.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// ProxyFault is a connection that was not made because of the proxy itself: it cannot be reached, or it is none, or it
// refuses the login. Find it with errors.As.
type ProxyFault struct {
	Proxy string // its URL with the password masked
	Err   error
}

func (f *ProxyFault) Error() string {
	return "the proxy " + f.Proxy + " does not work: " + f.Err.Error()
}

// Unwrap returns the reason.
func (f *ProxyFault) Unwrap() error { return f.Err }

func (p *Proxy) fault(err error) error { return &ProxyFault{p.Masked(), err} }

// CheckProxy returns a *Denied when the proxy is an address that the guard would not dial. A name is checked when it is
// dialled.
func (g *Guard) CheckProxy(p *Proxy) error {
	if p.host.name != "" {
		return nil
	}
	return g.Check(p.host.addr)
}

// Through connects to addresses through a proxy, which the guard dials; also to names when the proxy looks them up. The
// caller has decided about the target: the guard does not. The remote address of a connection is that of the target.
// An error is a *ProxyFault when the proxy is to blame, and a *Denied when it does not allow the target.
func (g *Guard) Through(p *Proxy) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(addr)
		if err != nil && !p.LooksUp() || network != "tcp" && network != "tcp4" && network != "tcp6" {
			return nil, denied(CodeBlocked, addr, "a proxy is asked for TCP connections to addresses only")
		}
		first, err := g.Dial(ctx, "tcp", p.addr)
		if err != nil {
			if ctx.Err() != nil { // the caller gave up first
				return nil, err
			}
			return nil, p.fault(err)
		}
		connect := p.socks
		if p.scheme == schemeHTTP {
			connect = p.tunnel
		}
		conn, err := connect(ctx, first, addr)
		if err != nil {
			first.Close()
			return nil, err
		}
		if to.IsValid() {
			return &proxied{conn, net.TCPAddrFromAddrPort(to)}, nil
		}
		return conn, nil
	}
}

// socks asks a SOCKS5 proxy for a connection to addr.
func (p *Proxy) socks(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if p.user != nil {
		password, _ := p.user.Password()
		auth = &proxy.Auth{User: p.user.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", p.addr, auth, dialledAlready{conn})
	if err != nil {
		return nil, p.fault(err)
	}
	dialer, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, p.fault(errors.New("it cannot be dialled"))
	}
	made, err := dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		return made, nil
	}
	cause := err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		cause = op.Err
	}
	// The library has no types for what the proxy answers about the target, only this text.
	reply, aboutTarget := strings.CutPrefix(cause.Error(), "unknown error ")
	var timeout net.Error
	switch {
	case aboutTarget:
		return nil, replied(addr, reply)
	case ctx.Err() != nil, errors.As(cause, &timeout), errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return nil, err // such as a proxy that hangs up when the target does not answer
	}
	return nil, p.fault(cause)
}

// replied is the error of a reply about a target (RFC 1928, section 6).
func replied(addr, reply string) error {
	switch reply {
	case "connection refused":
		return fmt.Errorf("the proxy on %s: %w", addr, syscall.ECONNREFUSED)
	case "connection not allowed by ruleset":
		return denied(CodeOutOfScope, addr, notByProxy)
	}
	return fmt.Errorf("the proxy on %s: %s: %w", addr, reply, syscall.EHOSTUNREACH)
}

const notByProxy = "the proxy does not allow it"

// maxConnect bounds the answer of an HTTP proxy to CONNECT.
const maxConnect = 64 << 10

// tunnel asks an HTTP proxy for a connection to addr.
func (p *Proxy) tunnel(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if p.user != nil {
		password, _ := p.user.Password()
		login := base64.StdEncoding.EncodeToString([]byte(p.user.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+login)
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxConnect))
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, p.fault(errors.New("it is no HTTP proxy"))
	}
	resp.Body.Close() // CONNECT has none
	switch {
	case resp.StatusCode/100 == 2 && !stop():
		return nil, ctx.Err()
	case resp.StatusCode/100 == 2:
		early, _ := in.Peek(in.Buffered()) // what the target said meanwhile
		return &tunnelled{conn, io.MultiReader(bytes.NewReader(early), conn)}, nil
	case resp.StatusCode == http.StatusForbidden:
		return nil, denied(CodeOutOfScope, addr, notByProxy)
	case resp.StatusCode/100 == 5 && resp.StatusCode != http.StatusNotImplemented:
		return nil, fmt.Errorf("the proxy on %s: %s: %w", addr, resp.Status, syscall.EHOSTUNREACH)
	}
	return nil, p.fault(fmt.Errorf("it answers CONNECT with %s", errs.Clip(resp.Status, 100)))
}

// greetTimeout is how long a proxy may take to greet.
const greetTimeout = 10 * time.Second

// Greet dials a proxy and logs in (RFC 1928, RFC 1929), and asks it for no connection. An HTTP proxy is only dialled.
// An error is a *ProxyFault, unless ctx ended.
func (g *Guard) Greet(ctx context.Context, p *Proxy) error {
	limited, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	conn, err := g.Dial(limited, "tcp", p.addr)
	if err == nil {
		defer conn.Close()
		if p.scheme != schemeHTTP {
			err = p.greet(limited, conn)
		}
	}
	if err != nil && ctx.Err() == nil {
		err = p.fault(err)
	}
	return err
}

func (p *Proxy) greet(ctx context.Context, conn net.Conn) error {
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	ask := func(question ...byte) (answer [2]byte, err error) {
		if _, err = conn.Write(question); err == nil {
			_, err = io.ReadFull(conn, answer[:])
		}
		return answer, err
	}
	const version, none, login = 5, 0, 2 // of SOCKS; the methods
	question := []byte{version, 1, none}
	if p.user != nil {
		question = []byte{version, 2, none, login}
	}
	answer, err := ask(question...)
	switch {
	case err != nil:
		return err
	case answer == [2]byte{version, none}:
		return nil
	case answer != [2]byte{version, login} || p.user == nil:
		return errors.New("it is no SOCKS5 proxy, or wants another login")
	}
	name := p.user.Username()
	password, _ := p.user.Password()
	question = append([]byte{1, byte(len(name))}, name...) // lengths: checked by ParseProxy
	question = append(append(question, byte(len(password))), password...)
	if answer, err = ask(question...); err == nil && answer[1] != 0 {
		err = errors.New("it refuses the user or the password")
	}
	return err
}

// dialledAlready is a connection to a proxy in the form that package proxy takes.
type dialledAlready struct{ net.Conn }

// DialContext implements proxy.ContextDialer.
func (d dialledAlready) DialContext(context.Context, string, string) (net.Conn, error) {
	return d.Conn, nil
}

// Dial implements proxy.Dialer.
func (d dialledAlready) Dial(string, string) (net.Conn, error) { return d.Conn, nil }

// tunnelled is a connection through an HTTP proxy.
type tunnelled struct {
	net.Conn

	from io.Reader
}

// Read implements net.Conn.
func (t *tunnelled) Read(p []byte) (int, error) { return t.from.Read(p) }

// proxied is a connection through a proxy.
type proxied struct {
	net.Conn

	remote net.Addr
}

// RemoteAddr is the address of the target, not that of the proxy.
func (p *proxied) RemoteAddr() net.Addr { return p.remote }
