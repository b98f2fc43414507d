package tlsfacts_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

func TestNames(t *testing.T) {
	common := func(name string) *x509.Certificate { return &x509.Certificate{Subject: pkix.Name{CommonName: name}} }
	both := common("a.test")
	both.DNSNames = []string{"b.test"}
	for _, c := range []struct {
		cert *x509.Certificate
		host string
		want bool
	}{
		{common("a.test"), "a.test", true},
		{common("*.a.test"), "b.a.test", true},
		{common("a.test"), "b.test", false},
		{common("10.0.0.1"), "10.0.0.1", true},
		{common("10.0.0.1"), "10.0.0.2", false},
		{common(""), "a.test", false},
		{both, "a.test", false}, // other names count alone
		{both, "b.test", true},
	} {
		if got := tlsfacts.Names(c.cert, c.host); got != c.want {
			t.Errorf("%s, %v names %s: %v", c.cert.Subject.CommonName, c.cert.DNSNames, c.host, got)
		}
	}
}

func TestVersion(t *testing.T) {
	for version, want := range map[uint16]string{tls.VersionTLS10: "tls10", tls.VersionTLS13: "tls13"} {
		if got := tlsfacts.Version(version); got != want {
			t.Errorf("%x: %s", version, got)
		}
	}
}

func TestJARMOfNoServer(t *testing.T) {
	dials := 0
	refuse := func(context.Context) (net.Conn, error) { dials++; return nil, errors.New("refused") }
	if got := tlsfacts.JARM(t.Context(), "a.test", 443, time.Second, 2, refuse); got != "" || dials != 3 {
		t.Errorf("%q after %d dials", got, dials)
	}
	if got := tlsfacts.JARM(t.Context(), "a.test", 443, time.Second, 10, refuse); got != strings.Repeat("0", 62) {
		t.Errorf("%q", got)
	}
}
