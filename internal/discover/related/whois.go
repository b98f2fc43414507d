package related

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/discover"
)

// The bounds of WHOIS.
const (
	maxWhois = 256 << 10 // bytes of one answer
	maxHops  = 5         // servers that are asked for one domain
)

// whoisPort is where WHOIS is (RFC 3912).
const whoisPort = "43"

// askWhois asks for a registration, from the root server on: each server may name a
// nearer one. Of what several say, the nearest comes first. nil without an error: it is not
// registered.
func (h *hunt) askWhois(ctx context.Context, p place, domain string) (r *registration, err error) {
	server := p.base
	asked := map[string]bool{}
	for range maxHops {
		asked[server] = true
		var text string
		if text, err = p.whois(ctx, server, domain); err != nil {
			break
		}
		record := readWhois(text)
		if err = record.trouble(); err != nil {
			break
		}
		if near := record.registration(domain); near.known() {
			near.server, _, _ = net.SplitHostPort(server)
			if r.known() {
				near.fill(r)
			}
			r = near
		}
		next := p.referral(record.referral())
		if next == "" || asked[next] {
			break
		}
		server = next
	}
	if r.known() { // a nearer server that fails leaves what the others said
		return r, nil
	}
	return nil, err
}

// referral is where a server that was named can be asked: at its usual port, or at any
// when it is the operator's own. Empty: nowhere.
func (p place) referral(to string) string {
	if to == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		host, port = to, whoisPort
	}
	if port != whoisPort && !p.owns(host) {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// owns reports whether a host is the one that the operator named.
func (p place) owns(host string) bool {
	own, _, _ := net.SplitHostPort(p.base)
	return p.own && strings.EqualFold(own, host)
}

// questions are how servers want to be asked that want more than a name.
func question(server, domain string) string {
	host, _, _ := net.SplitHostPort(server)
	switch {
	case strings.HasSuffix(host, "verisign-grs.com"):
		return "domain " + domain // the name alone finds hosts too
	case host == "whois.denic.de":
		return "-T dn " + domain
	case host == "whois.jprs.jp":
		return domain + "/e"
	case host == "whois.nic.name":
		return "domain=" + domain
	case host == "whois.dk-hostmaster.dk", host == "whois.punktum.dk":
		return "--show-handles " + domain
	}
	return domain
}

// whois asks one server.
func (p place) whois(ctx context.Context, server, domain string) (string, error) {
	dial := p.dialPublic
	if host, _, _ := net.SplitHostPort(server); server == p.base || p.owns(host) {
		dial = p.dial
	}
	conn, err := dial(ctx, "tcp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// The end of ctx ends a read, by a deadline and also when it comes early.
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(conn, "%s\r\n", question(server, domain)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxWhois))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && len(text) == 0 { // some servers reset the connection behind their last byte
		return "", err
	}
	if len(text) == 0 {
		return "", said(discover.SourceFailed, "It answered nothing.")
	}
	return latin(text), nil
}

// latin is a text in UTF-8: what is not is taken for Latin-1, as old servers write.
func latin(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}
