package web_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// certify makes a self-signed certificate for a.example that ends an hour after a time.
func certify(t *testing.T, at time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a.example"}, DNSNames: []string{"a.example"},
		NotBefore: time.Unix(0, 0), NotAfter: at.Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	cert, key := certify(t, time.Now())
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Old and broken TLS is spoken, and its facts are told.
func TestTLSFacts(t *testing.T) {
	cert, key := certify(t, time.Date(2020, 1, 2, 2, 4, 5, 0, time.UTC))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10,
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}
	s.StartTLS()
	t.Cleanup(s.Close)
	address, _ := rawurl.Parse(s.URL)
	x, err := get(t, web.Config{}, web.Request{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"tls_version": "tls10", "tls_cipher": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "tls_self_signed": "true",
		"tls_expired":   "true",
		"tls_not_after": "2020-01-02T03:04:05Z", "tls_mismatched": "true", "tls_subject_cn": "a.example",
		"tls_issuer_cn": "a.example", "tls_other": nil,
	} {
		if got, _ := x.Named(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A certificate with nothing but a common name is for the host of that name, for templates as in the inventory.
func TestCommonNameOfCertificate(t *testing.T) {
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "old.example"}}
	for host, want := range map[string]string{"old.example": "false", "other.example": "true"} {
		address, _ := rawurl.Parse("https://" + host)
		x := &web.Exchange{
			Request: web.Request{Address: address}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}},
		}
		if got, _ := x.Named("tls_mismatched"); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// A server that speaks nothing but HTTP/2, and answers HTTP/1 with a frame, is asked in
// HTTP/2.
func TestHTTP2Only(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		var method, path, custom string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			method, path, custom = r.Method, r.RequestURI, r.Header.Get("X-Custom")
			w.Header().Set("X-Answer", "yes")
			w.Write([]byte("in two"))
		}))
		var two http.Protocols
		two.SetHTTP2(true)
		two.SetUnencryptedHTTP2(true)
		s.Config.Protocols = &two
		if s.EnableHTTP2 = scheme == "https"; s.EnableHTTP2 {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		address := listen(t, func(n int, c net.Conn) {
			if n > 0 {
				forward(c, s.Listener.Addr().String())
				return
			}
			if scheme == "https" {
				c = tls.Server(c, &tls.Config{Certificates: s.TLS.Certificates})
			}
			ask(c)
			c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
		})
		address.Scheme, address.Path, address.Query = scheme, "/a/../b", "c=d"
		c := newClient(t, web.Config{})
		x, err := c.Do(t.Context(), web.Request{Address: address, Method: "POST", Body: []byte("x"),
			Headers: []web.Header{{"X-Custom", "1"}}})
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		if x.Proto != "HTTP/2.0" || string(x.Body) != "in two" || x.Header("x-answer") != "yes" || x.IP != "127.0.0.1" ||
			(x.TLS != nil) != (scheme == "https") {
			t.Errorf("%s: %+v", scheme, x)
		}
		if method != "POST" || path != "/a/../b?c=d" || custom != "1" {
			t.Errorf("%s: %s %s %s", scheme, method, path, custom)
		}
		if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil || c.Stats().Connections != 2 {
			t.Errorf("%s: it is not remembered: %v %+v", scheme, err, c.Stats())
		}
		c.Close()
	}
}

// forward joins a connection with a new one to another place until both are over.
func forward(c net.Conn, to string) {
	other, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	go func() {
		io.Copy(other, c)
		other.Close()
	}()
	io.Copy(c, other)
	c.Close()
}
