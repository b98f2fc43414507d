package starter_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// newKey makes the one key of all certificates here; RSA, for the suites with 3DES.
var newKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// tlsConfig is a server's TLS: "trusted" has no fault (an authority of its own signed a
// certificate for 127.0.0.1), every other kind has the one fault it is named after.
func tlsConfig(t *testing.T, kind string) *tls.Config {
	t.Helper()
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vedette test authority"},
		NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "vedette test"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, config := authority, &tls.Config{}
	switch kind {
	case "trusted":
	case "self-signed":
		parent = leaf
	case "expired":
		leaf.NotAfter = now.Add(-time.Hour)
	case "mismatched":
		leaf.IPAddresses, leaf.DNSNames = nil, []string{"other.example"}
	case "1.0":
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	case "1.1":
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	case "3des":
		config.MaxVersion = tls.VersionTLS12
		config.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA}
	default:
		t.Fatalf("no such kind of TLS: %q", kind)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return config
}
