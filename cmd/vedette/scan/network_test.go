package scan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/netguard/dnstest"
)

// The name of a target is looked up by the servers of --resolvers, TLS gives the name of --sni, and the server gets the
// certificate of --client-cert.
func TestNetworkFlags(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(r.TLS.PeerCertificates) == 1 {
			seen[r.TLS.ServerName+" "+r.TLS.PeerCertificates[0].Subject.CommonName]++
		}
	}))
	site.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	site.StartTLS()
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	names := dnstest.Start(t)
	names.Set("shop.test", []string{"127.0.0.1"})
	servers := filepath.Join(t.TempDir(), "resolvers.txt")
	if err := os.WriteFile(servers, []byte("# ours\n"+names.Addr()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newScanFlags()
	f.cert, f.key = clientCertificate(t, "client.test")
	f.resolvers, f.sni = []string{servers}, "other.test"
	target := "https://" + net.JoinHostPort("shop.test", at.Port())
	config, err := f.engineConfig(&scanTargets{named: []string{target}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(config)
	t.Cleanup(e.Close)
	report, err := e.Run(t.Context(), engine.Scan{Targets: []string{target}, Programs: []*program.Program{okAtRoot(t)}})
	if err != nil || report.Events != 1 {
		t.Fatalf("%v, %+v", err, report.Targets[0])
	}
	if len(seen) != 1 || seen["other.test client.test"] == 0 || names.Asked("shop.test") == 0 {
		t.Errorf("the server saw %v, names asked %d", seen, names.Asked("shop.test"))
	}
}

// Wrong values are usage errors that name the flag.
func TestNetworkFlagsAreRead(t *testing.T) {
	for name, change := range map[string]func(f *scanFlags){
		"name as server": func(f *scanFlags) { f.resolvers = []string{"dns.example"} },
		"only a key":     func(f *scanFlags) { f.key = "x" },
		"no file":        func(f *scanFlags) { f.cert, f.key = "/nowhere", "/nowhere" },
	} {
		f := newScanFlags()
		change(f)
		if _, err := f.engineConfig(&scanTargets{named: []string{"127.0.0.1"}}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	f := newScanFlags()
	f.resolvers = []string{"192.0.2.53", "[2001:db8::53]:5353"}
	all, err := f.readResolvers()
	if err != nil || len(all) != 2 || all[0] != "192.0.2.53:53" || all[1] != "[2001:db8::53]:5353" {
		t.Error(all, err)
	}
}

// clientCertificate makes a self-signed certificate and gives the names of its files.
func clientCertificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sheet := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, sheet, sheet, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: sealed},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func okAtRoot(t *testing.T) *program.Program {
	t.Helper()
	tree, err := syntax.Parse("t.yaml", []byte("id: t\ninfo: {name: N, author: a, severity: low}\n"+
		"http: [{path: ['{{BaseURL}}'], matchers: [{type: status, status: [200]}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Compile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
