package trial

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"maps"
	"math/big"
	"net"
	"slices"
	"sync"
	"time"
)

// newKey makes the one key of all certificates here; RSA, for the suites with 3DES.
var newKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// kinds are the kinds of TLS that a case may name.
var kinds = map[string]func(leaf *x509.Certificate, c *tls.Config){
	"trusted":     func(*x509.Certificate, *tls.Config) {},
	"self-signed": func(*x509.Certificate, *tls.Config) {},
	"expired":     func(leaf *x509.Certificate, _ *tls.Config) { leaf.NotAfter = time.Now().Add(-time.Hour) },
	"mismatched": func(leaf *x509.Certificate, _ *tls.Config) {
		leaf.IPAddresses, leaf.DNSNames = nil, []string{"other.example"}
	},
	"1.0": func(_ *x509.Certificate, c *tls.Config) {
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	},
	"1.1": func(_ *x509.Certificate, c *tls.Config) {
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	},
	"3des": func(_ *x509.Certificate, c *tls.Config) {
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA}
	},
}

// Kinds are the kinds of TLS of a case, sorted: "trusted" has no fault (an authority of its own signed a certificate
// for 127.0.0.1), every other kind has the one fault that it is named after.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

func tlsConfig(kind string) (*tls.Config, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
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
	if kind == "self-signed" {
		parent = leaf
	}
	kinds[kind](leaf, config)
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return config, nil
}
