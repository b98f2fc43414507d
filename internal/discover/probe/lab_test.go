package probe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// tool finds a program of Debian's, or skips the test.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/", "/usr/bin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// start runs a server until the test ends, and waits until it listens.
func start(t testing.TB, addr string, cmd *exec.Cmd) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			conn.Close()
			return
		}
		select {
		case <-done:
			t.Fatalf("%s ended: %s", cmd.Path, said.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %s", cmd.Path, addr)
		}
	}
}

// freePort is a port of an address on which nothing listens.
func freePort(t testing.TB, ip string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Lab Root", Organization: []string{"Lab Authority"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, _ = x509.ParseCertificate(der)
	a.pool.AddCert(a.cert)
	return a
}

// issue writes a certificate with its chain and its key into files.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) (certFile, keyFile string) {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0x0a1b2c),
		Subject:      pkix.Name{CommonName: "www.lab.test", Organization: []string{"Lab Works"}},
		DNSNames:     []string{"www.lab.test", "lab.test"},
		NotBefore:    time.Now().Add(-time.Hour).Truncate(time.Second),
		NotAfter:     time.Now().Add(time.Hour).Truncate(time.Second),
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, _ := x509.MarshalECPrivateKey(key)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	for file, content := range map[string][]byte{certFile: chain,
		keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// look runs a batch within a real scope, and gives the assets by host:port/protocol.
func look(t testing.TB, cfg probe.Config, targets string, names ...discover.Name) map[string]discover.Asset {
	t.Helper()
	scope := scopeOf(t, targets)
	if cfg.Dial == nil {
		cfg.Dial, cfg.Admit = scope.Dial, scope.Admit
	}
	assets := map[string]discover.Asset{}
	_, err := probe.Hosts(t.Context(), cfg, names, func(a discover.Asset) {
		key := fmt.Sprintf("%s:%d/%s", a.Host, a.Port, a.Protocol)
		if _, twice := assets[key]; twice {
			t.Errorf("%s was emitted twice", key)
		}
		assets[key] = a
	})
	if err != nil {
		t.Fatal(err)
	}
	return assets
}

func scopeOf(t testing.TB, targets string) *netguard.Scope {
	t.Helper()
	var list []netguard.Target
	for text := range strings.FieldsSeq(targets) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, target)
	}
	scope, err := netguard.NewScope(list, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// name is a host name at addresses.
func name(host string, ips ...string) discover.Name {
	n := discover.Name{Host: host, Domain: "lab.test", CNAME: []string{"alias.lab.test"}, RCode: "NOERROR",
		Records: map[string][]string{"MX": {"10 mail.lab.test"}}, Sources: []discover.SourceRef{{Source: "test"}}}
	for _, ip := range ips {
		n.IP = append(n.IP, netip.MustParseAddr(ip))
	}
	return n
}

// startNginx serves a page over HTTP and HTTPS, and gives the ports.
func startNginx(t testing.TB, ip string, ca *authority) (plain, secure int) {
	binary := tool(t, "nginx")
	plain, secure = freePort(t, ip), freePort(t, ip)
	cert, key := ca.issue(t, nil)
	dir := t.TempDir()
	for file, text := range map[string]string{
		"index.html":  "<html><head><title>The  Lab &amp; Works</title><link rel='shortcut icon' href='/icon.png'></head><body><a href=/two.html>two</a> <a href='/logout'>out</a><script src=/app.js></script><form action=/search></form></body></html>",
		"two.html":    "<a href='/three.html'>three</a>",
		"icon.png":    "not really an image",
		"robots.txt":  "User-agent: *\nDisallow: /secret/\n",
		"sitemap.xml": "<urlset><url><loc>/mapped.html</loc></url></urlset>",
		"nginx.conf": fmt.Sprintf(`%[7]sdaemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events {}
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
types { text/html html; text/xml xml; text/plain txt; image/png png; }
server { listen %[2]s:%[3]d; listen %[2]s:%[4]d ssl; root %[1]s; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate %[5]s; ssl_certificate_key %[6]s;
  add_header X-Powered-By "PHP/8.2.1";
  location /logout { return 500; } } }`, dir, ip, plain, secure, cert, key,
			map[bool]string{true: "user root; "}[os.Getuid() == 0]),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, net.JoinHostPort(ip, strconv.Itoa(plain)),
		exec.Command(binary, "-p", dir, "-c", filepath.Join(dir, "nginx.conf")))
	return plain, secure
}
