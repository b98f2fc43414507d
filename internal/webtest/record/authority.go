package record

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// authority is the authority of one recording.
type authority struct {
	certificate tls.Certificate
	pem         []byte
	pin         string // SHA-256 of its public key, in base64
}

// lifetime is how long the certificate of an authority is valid.
const lifetime = 7 * 24 * time.Hour

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "Vedette recording of " + now.UTC().Format("2006-01-02 15:04:05")},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return &authority{
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		pem:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pin:         base64.StdEncoding.EncodeToString(sum[:]),
	}, nil
}

// Authority is the certificate of the authority, as PEM, which a browser has to trust.
func (p *Proxy) Authority() []byte { return p.authority.pem }

// certificates keeps those that were made, by host: goproxy.CertStorage.
type certificates struct {
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

// Fetch implements goproxy.CertStorage.
func (c *certificates) Fetch(host string, sign func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.made[host]; known != nil {
		return known, nil
	}
	one, err := sign()
	if err != nil {
		return nil, err
	}
	if c.made == nil {
		c.made = map[string]*tls.Certificate{}
	}
	c.made[host] = one
	return one, nil
}

// Chromium are the arguments with which Chromium uses the proxy at an address, with a profile of its own in a folder,
// without trusting the authority for anything else.
func (p *Proxy) Chromium(address, profile string) []string {
	return []string{
		"--proxy-server=" + address, "--proxy-bypass-list=<-loopback>",
		"--ignore-certificate-errors-spki-list=" + p.authority.pin, "--user-data-dir=" + profile,
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	}
}
