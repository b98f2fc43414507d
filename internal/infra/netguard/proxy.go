package netguard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"golang.org/x/net/proxy"
)

// Proxy is a SOCKS5 proxy (RFC 1928) that a user names. It is asked for addresses only, never for names: what a name
// means is decided here, so that a scope and the networks that an operator denies hold as they do without a proxy.
type Proxy struct {
	addr string // host:port
	host host   // of addr
	user *url.Userinfo
}

const (
	socksPort     = "1080" // where a URL has none
	maxCredential = 255    // bytes of a user name or a password (RFC 1929)
)

// ParseProxy reads a proxy of the form socks5://user:password@host:port. The user, the password and the port may be
// missing. An error is an *errs.Error without a Param, and never shows the text, which may have a password.
func ParseProxy(text string) (*Proxy, error) {
	bad := errs.New(errs.Invalid, "invalid_proxy", "it must be a URL such as socks5://user:password@proxy.example.com:1080.")
	if len(text) > maxURL {
		return nil, bad
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "socks5" || u.Opaque != "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, bad
	}
	h, ok := parseHost(u.Hostname())
	port, valid := parsePort(cmp.Or(u.Port(), socksPort))
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
	return &Proxy{addr: net.JoinHostPort(name, strconv.Itoa(int(port))), host: h, user: u.User}, nil
}

// URL is the proxy with its password, which ParseProxy reads again.
func (p *Proxy) URL() string { return p.url().String() }

// Masked is URL with the password replaced by xxxxx.
func (p *Proxy) Masked() string { return p.url().Redacted() }

func (p *Proxy) url() *url.URL { return &url.URL{Scheme: "socks5", Host: p.addr, User: p.user} }

// HasPassword reports whether the proxy has a password, and whether that is the mask of Masked.
func (p *Proxy) HasPassword() (has, masked bool) {
	password, has := p.user.Password()
	return has, password == "xxxxx"
}

// Dialer connects to host:port.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// CheckProxy returns a *Denied when the proxy is an address that the guard would not dial. A name is checked when it is
// dialled.
func (g *Guard) CheckProxy(p *Proxy) error {
	if p.host.name != "" {
		return nil
	}
	return g.Check(p.host.addr)
}

// Through connects to addresses through a proxy, which the guard dials. The caller has decided about the address: the
// guard does not. The remote address of a connection is that address.
func (g *Guard) Through(p *Proxy) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(addr)
		if err != nil || network != "tcp" && network != "tcp4" && network != "tcp6" {
			return nil, denied(CodeBlocked, addr, "a SOCKS5 proxy is asked for TCP connections to addresses only")
		}
		var auth *proxy.Auth
		if p.user != nil {
			password, _ := p.user.Password()
			auth = &proxy.Auth{User: p.user.Username(), Password: password}
		}
		d, err := proxy.SOCKS5("tcp", p.addr, auth, guarded{g})
		if err != nil {
			return nil, err
		}
		dialer, ok := d.(proxy.ContextDialer)
		if !ok {
			return nil, denied(CodeBlocked, addr, "the proxy cannot be dialled")
		}
		conn, err := dialer.DialContext(ctx, "tcp", to.String())
		if err != nil {
			return nil, err
		}
		return &proxied{conn, net.TCPAddrFromAddrPort(to)}, nil
	}
}

// greetTimeout is how long a proxy may take to greet.
const greetTimeout = 10 * time.Second

// Greet dials a proxy and logs in (RFC 1928, RFC 1929), and asks it for no connection.
func (g *Guard) Greet(ctx context.Context, p *Proxy) error {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	conn, err := g.Dial(ctx, "tcp", p.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
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

// guarded is a guard in the form that package proxy takes.
type guarded struct{ *Guard }

// DialContext implements proxy.ContextDialer.
func (g guarded) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return g.Guard.Dial(ctx, network, addr)
}

// Dial implements proxy.Dialer.
func (g guarded) Dial(network, addr string) (net.Conn, error) {
	return g.DialContext(context.Background(), network, addr)
}

// proxied is a connection through a proxy.
type proxied struct {
	net.Conn

	remote net.Addr
}

// RemoteAddr is the address of the target, not that of the proxy.
func (p *proxied) RemoteAddr() net.Addr { return p.remote }
