package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// authority signs the certificates of a lab.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // file with its certificate, for SSL_CERT_FILE
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), file: filepath.Join(t.TempDir(), "root.pem")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Lab Root", Organization: []string{"Lab Authority"}},
		NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err == nil {
		err = os.WriteFile(a.file, block("CERTIFICATE", der), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// issue creates a certificate for a host, valid unless change modifies it.
func (a *authority) issue(t *testing.T, host string, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0x0a1b2c), Subject: pkix.Name{CommonName: host, Organization: []string{"Lab Works"}},
		DNSNames:  []string{host},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 1, 0),
	}
	if change != nil {
		change(template)
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}
}

// alone makes a certificate that signs itself.
func (a *authority) alone(t *testing.T, host string) tls.Certificate {
	t.Helper()
	self := &authority{key: newKey(t)}
	self.cert = &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 1, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, self.cert, self.cert, self.key.Public(), self.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: self.key}
}

// revoked makes a certificate whose server says with each handshake that it was revoked.
func (a *authority) revoked(t *testing.T, host string) tls.Certificate {
	t.Helper()
	c := a.issue(t, host, nil)
	staple, err := ocsp.CreateResponse(a.cert, a.cert, ocsp.Response{
		Status: ocsp.Revoked, SerialNumber: big.NewInt(0x0a1b2c), RevokedAt: time.Now().AddDate(0, 0, -1),
		ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
	}, a.key)
	if err != nil {
		t.Fatal(err)
	}
	c.OCSPStaple = staple
	return c
}

// files are a certificate with its chain, and its key, as other servers read them.
func files(t *testing.T, c tls.Certificate) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	var chain []byte
	for _, der := range c.Certificate {
		chain = append(chain, block("CERTIFICATE", der)...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err == nil {
		err = os.WriteFile(cert, chain, 0o600)
	}
	if err == nil {
		err = os.WriteFile(key, block("PRIVATE KEY", der), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
