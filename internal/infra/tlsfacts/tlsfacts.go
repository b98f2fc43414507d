// Package tlsfacts reads what TLS servers and their certificates show, for the inventory and for templates alike.
package tlsfacts

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/RumbleDiscovery/jarm-go"
)

// AllCiphers are the suites up to TLS 1.2, the broken ones last.
func AllCiphers() (ids []uint16) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		ids = append(ids, s.ID)
	}
	return ids
}

// Lenient is a TLS configuration that reaches old and broken servers; certificates are verified elsewhere. name
// is sent unless it is an address.
func Lenient(name string) *tls.Config {
	c := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // see above
		MinVersion:         tls.VersionTLS10, CipherSuites: AllCiphers(),
	}
	if _, err := netip.ParseAddr(name); err != nil {
		c.ServerName = name
	}
	return c
}

// Client makes a handshake on a connection, without judging the certificate. After an error the connection is closed.
func Client(ctx context.Context, conn net.Conn, name string) (net.Conn, error) {
	over := tls.Client(conn, Lenient(name))
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, nil
}

// Serial is a certificate's number in hexadecimal bytes with colons; at most 64 bytes of it.
func Serial(c *x509.Certificate) string {
	if c.SerialNumber == nil {
		return ""
	}
	b := c.SerialNumber.Bytes()
	return strings.ReplaceAll(fmt.Sprintf("% X", b[:min(len(b), 64)]), " ", ":")
}

// Version is a version of TLS in one word: tls12 for TLS 1.2.
func Version(v uint16) string {
	return strings.ToLower(strings.NewReplacer(" ", "", ".", "").Replace(tls.VersionName(v)))
}

// SelfSigned reports whether a certificate was signed with its own key.
func SelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) &&
		c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// Names reports whether a certificate names a host. Browsers have stopped reading the common name, but one without
// other names, as old appliances have it, is not a certificate of another host (RFC 6125, 6.4.4; nuclei agrees).
func Names(c *x509.Certificate, host string) bool {
	if name := c.Subject.CommonName; name != "" && len(c.DNSNames) == 0 && len(c.IPAddresses) == 0 {
		old := *c
		if ip := net.ParseIP(name); ip != nil {
			old.IPAddresses = []net.IP{ip}
		} else {
			old.DNSNames = []string{name}
		}
		c = &old
	}
	return c.VerifyHostname(host) == nil
}

// Dial makes one more connection to the same server.
type Dial func(ctx context.Context) (net.Conn, error)

const (
	helloBytes = 1484  // of an answer that are read
	unanswered = "|||" // for a hello without an answer
)

// JARM is the JARM fingerprint of a server, from its answers to ten hellos, each within timeout: 62 zeros when it
// answers none. It is "" when the context ends, or after more than patience failed connections in a row.
func JARM(ctx context.Context, host string, port int, timeout time.Duration, patience int, dial Dial) string {
	var answers []string
	failures := 0
	for _, probe := range jarm.GetProbes(host, port) {
		answer, ok := hello(ctx, probe, timeout, dial)
		if ok {
			failures = 0
		} else if failures++; failures > patience || ctx.Err() != nil {
			return ""
		}
		answers = append(answers, answer)
	}
	return jarm.RawHashToFuzzyHash(strings.Join(answers, ","))
}

// hello sends one hello and reads the answer. ok is false without a connection, or without an answer in time.
func hello(
	ctx context.Context, probe jarm.JarmProbeOptions, timeout time.Duration, dial Dial,
) (answer string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return unanswered, false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(jarm.BuildProbe(probe)); err != nil {
		return unanswered, true
	}
	b := make([]byte, helloBytes)
	n, err := conn.Read(b)
	if err != nil && n == 0 {
		return unanswered, ctx.Err() == nil
	}
	if answer, err = jarm.ParseServerHello(b[:n], probe); err != nil {
		return unanswered, true
	}
	return answer, true
}
