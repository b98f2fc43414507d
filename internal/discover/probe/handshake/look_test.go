package handshake_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/handshake"
)

var now = time.Now().Truncate(time.Second)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.cert = sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Root", Organization: []string{"Authority"}},
		NotBefore: now.AddDate(-2, 0, 0), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil, a.key.Public(), a.key)
	a.pool.AddCert(a.cert)
	return a
}

func sign(
	t testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer,
) *x509.Certificate {
	t.Helper()
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func leaf() *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(0x1234), Subject: pkix.Name{CommonName: "good.test"},
		DNSNames:  []string{"good.test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
}

// serve answers with a certificate, and gives how to dial.
func serve(t testing.TB, config *tls.Config) func(context.Context) (net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = tls.Server(conn, config).Handshake()
			}()
		}
	}()
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}
}

func TestCertificatesAreJudged(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	answers := http.NewServeMux()
	revocations := httptest.NewServer(answers)
	t.Cleanup(func() { revocations.CloseClientConnections(); revocations.Close() })
	answers.HandleFunc("/ocsp", func(w http.ResponseWriter, r *http.Request) {
		b, _ := ocsp.CreateResponse(ca.cert, ca.cert,
			ocsp.Response{Status: ocsp.Revoked, SerialNumber: big.NewInt(0x1234), ThisUpdate: now.Add(-time.Minute),
				NextUpdate: now.Add(time.Hour), RevokedAt: now}, ca.key)
		_, _ = w.Write(b)
	})
	answers.HandleFunc("/crl", func(w http.ResponseWriter, _ *http.Request) {
		b, err := x509.CreateRevocationList(rand.Reader,
			&x509.RevocationList{Number: big.NewInt(1), ThisUpdate: now, NextUpdate: now.Add(time.Hour),
				RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(0x1234), RevocationTime: now}}},
			ca.cert, ca.key)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	})
	answers.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for _, err := w.Write(make([]byte, 1<<16)); err == nil; _, err = w.Write(make([]byte, 1<<16)) {
		}
	})
	type judged struct{ expired, self, mismatched, revoked, untrusted bool }
	for name, c := range map[string]struct {
		change func(*x509.Certificate)
		signer *authority // nil: itself
		staple bool
		host   string
		want   judged
		note   string
	}{
		"good": {nil, ca, false, "good.test", judged{}, ""},
		"expired": {func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }, ca, false, "good.test",
			judged{expired: true}, ""},
		"not yet": {func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) }, ca, false, "good.test", judged{},
			"not valid yet"},
		"self-signed": {nil, nil, false, "good.test", judged{self: true, untrusted: true}, ""},
		"mismatched":  {nil, ca, false, "bad.test", judged{mismatched: true}, ""},
		"an address": {func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }, ca, false,
			"127.0.0.1", judged{}, ""},
		"common name": {func(c *x509.Certificate) { c.DNSNames = nil }, ca, false, "good.test", judged{}, ""},
		"untrusted":   {nil, other, false, "good.test", judged{untrusted: true}, ""},
		"stapled":     {nil, ca, true, "good.test", judged{revoked: true}, ""},
		"revoked (OCSP)": {func(c *x509.Certificate) { c.OCSPServer = []string{revocations.URL + "/ocsp"} }, ca, false,
			"good.test", judged{revoked: true}, ""},
		"revoked (list)": {func(c *x509.Certificate) {
			c.OCSPServer, c.CRLDistributionPoints = []string{revocations.URL + "/none"}, []string{revocations.URL + "/crl"}
		}, ca, false, "good.test", judged{revoked: true}, ""},
		"no answer": {func(c *x509.Certificate) { c.CRLDistributionPoints = []string{revocations.URL + "/endless"} }, ca,
			false, "good.test", judged{}, "not known"},
		"5,000 names": {func(c *x509.Certificate) {
			for i := range 5000 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("host-%d.good.test", i))
			}
		}, ca, false, "good.test", judged{}, "5001 names"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			template := leaf()
			if c.change != nil {
				c.change(template)
			}
			parent, signer := template, key
			if c.signer != nil {
				parent, signer = c.signer.cert, c.signer.key
			}
			cert := sign(t, template, parent, key.Public(), signer)
			chain := tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
			if c.signer != nil {
				chain.Certificate = append(chain.Certificate, c.signer.cert.Raw)
			}
			if c.staple {
				chain.OCSPStaple, _ = ocsp.CreateResponse(ca.cert, ca.cert,
					ocsp.Response{Status: ocsp.Revoked, SerialNumber: cert.SerialNumber, ThisUpdate: now,
						NextUpdate: now.Add(time.Hour), RevokedAt: now}, ca.key)
			}
			looker := &handshake.Looker{Timeout: time.Minute, Roots: ca.pool, Fetch: revocations.Client()}
			facts, notes, err := looker.Look(t.Context(), c.host, 443,
				serve(t, &tls.Config{Certificates: []tls.Certificate{chain}}))
			if err != nil {
				t.Fatal(err)
			}
			if got := (judged{facts.Expired, facts.SelfSigned, facts.Mismatched, facts.Revoked,
				facts.Untrusted}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			all := strings.Join(notes, "\n")
			if c.note == "" && all != "" || !strings.Contains(all, c.note) || len(facts.SubjectAN) > 1000 {
				t.Errorf("notes %q, want %q; %d names", all, c.note, len(facts.SubjectAN))
			}
			if facts.Serial != "12:34" || facts.Version != "tls13" || len(facts.JARM) != 62 {
				t.Errorf("%+v", facts)
			}
		})
	}
}

// A server that wants a certificate of ours has shown its own before it refuses.
func TestAServerThatWantsOurCertificate(t *testing.T) {
	ca := newAuthority(t)
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert := sign(t, leaf(), ca.cert, key.Public(), ca.key)
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS12, tls.VersionTLS13} {
		dial := serve(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version,
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool,
			Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}})
		facts, _, err := (&handshake.Looker{Timeout: time.Minute, Roots: ca.pool}).Look(t.Context(), "good.test", 443, dial)
		if err != nil || facts.SubjectCN != "good.test" || facts.Cipher == "" {
			t.Errorf("%x: %+v, %v", version, facts, err)
		}
	}
}

func TestWhatIsNoTLS(t *testing.T) {
	for name, talk := range map[string]func(net.Conn){
		"text": func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n")) },
		"silence": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Read(make([]byte, 1))
		},
		"garbage": func(c net.Conn) { _, _ = c.Write([]byte("\x16\x03\x03\xff\xff" + strings.Repeat("\x02", 70000))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var facts *discover.TLS
			_, _, err := (&handshake.Looker{Timeout: 300 * time.Millisecond}).Look(t.Context(), "a.test", 443,
				func(context.Context) (net.Conn, error) {
					here, there := net.Pipe()
					go func() { defer there.Close(); talk(there) }()
					return here, nil
				})
			if facts != nil || !errors.Is(err, handshake.ErrNoTLS) {
				t.Errorf("%+v, %v", facts, err)
			}
		})
	}
}
