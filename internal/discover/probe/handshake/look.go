// Package handshake reads what a TLS server shows: protocol, cipher, certificate and JARM fingerprint, and
// verifies the certificate as a browser would.
package handshake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// Looker looks at TLS servers.
type Looker struct {
	Timeout time.Duration  // of the handshake, and of each connection of the fingerprint
	Roots   *x509.CertPool // trusted authorities; nil: the system's
	// Fetch gets OCSP answers and revocation lists from where certificates say; nil: only stapled answers are read.
	Fetch *http.Client
}

// The bounds of what is kept of a certificate.
const (
	maxNames = 1000
	maxName  = 255 // bytes
)

const jarmPatience = 2 // connections for the fingerprint that may fail in a row

// ErrNoTLS is the error of a server that speaks no TLS, or no known version.
var ErrNoTLS = errors.New("no TLS handshake")

// Look makes one handshake for name on a connection of dial, and then those of the JARM fingerprint. notes are
// oddities. The error wraps ErrNoTLS.
func (l *Looker) Look(
	ctx context.Context, name string, port uint16, dial tlsfacts.Dial,
) (facts *discover.TLS, notes []string, err error) {
	state, err := l.shake(ctx, name, dial)
	if err != nil {
		return nil, nil, err
	}
	facts, notes = l.facts(ctx, name, state)
	ctx, cancel := context.WithTimeout(ctx, 2*l.Timeout)
	defer cancel()
	facts.JARM = tlsfacts.JARM(ctx, name, int(port), l.Timeout, jarmPatience, dial)
	return facts, notes, nil
}

// shake makes a handshake. A server that wants a client certificate may refuse after it has shown everything.
func (l *Looker) shake(ctx context.Context, name string, dial tlsfacts.Dial) (tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	var state tls.ConnectionState
	conn, err := dial(ctx)
	if err != nil {
		return state, fmt.Errorf("%w: %w", ErrNoTLS, err)
	}
	defer conn.Close()
	seen := false
	config := tlsfacts.Lenient(name)
	config.VerifyConnection = func(s tls.ConnectionState) error {
		state, seen = s, true
		return nil
	}
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil && !seen {
		return state, fmt.Errorf("%w: %w", ErrNoTLS, err)
	}
	if len(state.PeerCertificates) == 0 {
		return state, fmt.Errorf("%w: the server shows no certificate", ErrNoTLS)
	}
	return state, nil
}

func (l *Looker) facts(ctx context.Context, name string, state tls.ConnectionState) (*discover.TLS, []string) {
	now := time.Now()
	leaf := state.PeerCertificates[0]
	facts := &discover.TLS{
		Version: tlsfacts.Version(state.Version), Cipher: tls.CipherSuiteName(state.CipherSuite),
		Serial:    tlsfacts.Serial(leaf),
		SubjectCN: clean(leaf.Subject.CommonName), SubjectOrg: clean(strings.Join(leaf.Subject.Organization, ", ")),
		IssuerCN: clean(leaf.Issuer.CommonName), IssuerOrg: clean(strings.Join(leaf.Issuer.Organization, ", ")),
		NotBefore: leaf.NotBefore.UTC(), NotAfter: leaf.NotAfter.UTC(),
		Expired:    now.After(leaf.NotAfter),
		SelfSigned: tlsfacts.SelfSigned(leaf),
		Mismatched: !tlsfacts.Names(leaf, name),
		Untrusted:  !l.trusted(state.PeerCertificates, now),
	}
	var notes []string
	if now.Before(leaf.NotBefore) {
		notes = append(notes, "the certificate is not valid yet")
	}
	var all int
	facts.SubjectAN, all = names(leaf)
	if all > len(facts.SubjectAN) {
		notes = append(notes, fmt.Sprintf("the certificate has %d names, of which %d are kept", all, len(facts.SubjectAN)))
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	revoked, err := tlsfacts.Revoked(ctx, state.PeerCertificates, state.OCSPResponse, now, l.Fetch)
	facts.Revoked = revoked
	if err != nil {
		notes = append(notes, "whether the certificate is revoked is not known: "+discover.Clean(err.Error(), 200))
	}
	return facts, notes
}

func clean(s string) string { return discover.Clean(s, maxName) }

// names are the names of a certificate, bounded, and their number.
func names(c *x509.Certificate) (kept []string, all int) {
	all = len(c.DNSNames) + len(c.IPAddresses)
	for _, n := range c.DNSNames[:min(len(c.DNSNames), maxNames)] {
		kept = append(kept, clean(strings.ToLower(n)))
	}
	for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), maxNames-len(kept))] {
		kept = append(kept, ip.String())
	}
	return kept, all
}

// trusted reports whether a chain leads to a trusted authority, at a time when the leaf was valid: expiry is
// reported apart.
func (l *Looker) trusted(chain []*x509.Certificate, now time.Time) bool {
	leaf := chain[0]
	if now.After(leaf.NotAfter) {
		now = leaf.NotAfter
	}
	if now.Before(leaf.NotBefore) {
		now = leaf.NotBefore
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: l.Roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err == nil
}
