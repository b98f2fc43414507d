package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// program finds a Debian program; without it, that part of the lab is left out.
func program(t *testing.T, name string) (path string, ok bool) {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/", "/usr/lib/postfix/sbin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path, true
		}
	}
	t.Logf("%s is not installed: the lab has no such host", name)
	return "", false
}

// startDaemon runs a server until the test ends, and waits until it listens.
func startDaemon(t *testing.T, addr, program string, args ...string) {
	t.Helper()
	messages := newOutputBuffer()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = messages, messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	until(t, longWait, program+" listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, messages)
		default:
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// writeFolder creates a folder that the services' users may read.
func writeFolder(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "vedette-lab-") //nolint:usetesting // other users may not enter the parent of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// nginx serves a site over HTTP and HTTPS.
func (s *labNetwork) nginx(t *testing.T, host string, c tls.Certificate) {
	path, ok := program(t, "nginx")
	if !ok {
		return
	}
	cert, key := files(t, c)
	plain, crypted := s.address(host, web), s.address(host, secure)
	block := fmt.Sprintf(`server { listen %s; listen %s ssl; root DIR; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate %s; ssl_certificate_key %s; add_header X-Powered-By "PHP/8.2.1"; }`, plain, crypted, cert, key)
	dir := writeFolder(t, map[string]string{
		"index.html": "<html><head><title>The  Lab &amp; Works</title><link rel=icon href=/icon.zip></head><body><a href=/two.html>two</a></body></html>",
		"two.html":   "<p>two</p>", "icon.zip": "not really an image",
	})
	runNginx(t, path, dir, strings.ReplaceAll(block, "DIR", dir), []string{plain, crypted})
	page := wantFields{
		"title": "The Lab & Works", "status_code": "200", "content_length": "129", "method": "GET", "webserver": "nginx/1.*",
		"technologies": `.*Nginx:1.*PHP:8\.2\.1.*`, "chain_status_codes": `\[200\]`,
		"technology_details.Nginx.website": "http.*", "favicon": "576441543", "type": "http",
		"extended_metadata.version": "nginx 1.*", "extended_metadata.body_hash": "[0-9a-f]{64}",
		"extended_metadata.protocol": "tcp",
	}
	s.expect(host, web, page, wantFields{"extended_metadata.service": "http",
		"extended_metadata.url": "http://" + host + ":.*"})
	s.expect(host, secure, page, certificate(host),
		wantFields{"extended_metadata.service": "https", "extended_metadata.tls_version": "tls13",
			"extended_metadata.jarm": "[0-9a-f]{62}"})
}

func (s *labNetwork) apache(t *testing.T, host string) {
	path, ok := program(t, "apache2")
	if !ok {
		return
	}
	dir := writeFolder(t, map[string]string{"index.html": "<title>Shop</title>",
		"conf": fmt.Sprintf("ServerName lab\nListen %s\nPidFile DIR/pid\nErrorLog /dev/stderr\nDocumentRoot DIR\nDefaultRuntimeDir DIR\nDirectoryIndex index.html\n", s.address(host, web)) +
			modules("mpm_event", "authz_core", "dir", "mime") + "TypesConfig /dev/null\nAddType text/html .html\n"})
	startDaemon(t, s.address(host, web), path, "-f", filepath.Join(dir, "conf"), "-D", "FOREGROUND")
	s.expect(host, web, wantFields{"title": "Shop", "status_code": "200", "webserver": "Apache/2.*",
		"technologies": ".*Apache HTTP Server:2.*", "extended_metadata.service": "http"})
}

func modules(names ...string) (lines string) {
	for _, name := range names {
		lines += fmt.Sprintf("LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", name)
	}
	return lines
}

func (s *labNetwork) openSSH(t *testing.T, host string) {
	path, ok := program(t, "sshd")
	if !ok {
		return
	}
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if os.Getuid() == 0 { // sshd needs this empty folder
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	addr, port, _ := net.SplitHostPort(s.address(host, other))
	startDaemon(t, s.address(host, other), path, "-D", "-e", "-f", "/dev/null", "-h", key, "-o", "ListenAddress="+addr,
		"-p", port, "-o", "PidFile=none")
	s.expect(host, other, wantFields{"extended_metadata.service": "ssh", "extended_metadata.version": `OpenSSH \d.*`,
		"type": "port"})
}

func (s *labNetwork) redis(t *testing.T, host string) {
	path, ok := program(t, "redis-server")
	if !ok {
		return
	}
	addr, port, _ := net.SplitHostPort(s.address(host, other))
	startDaemon(t, s.address(host, other), path, "--bind", addr, "--port", port, "--save", "", "--dir", t.TempDir())
	s.expect(host, other, wantFields{"extended_metadata.service": "redis", "extended_metadata.version": `Redis \d.*`,
		"technologies": `\[Redis:\d.*\]`})
}

// postgres forwards to the tests' database server, through its socket.
func (s *labNetwork) postgres(t *testing.T, host string) {
	u, err := url.Parse(dbtest.URL(t, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	if _, err := os.Stat(socket); err != nil {
		t.Logf("PostgreSQL has no socket at %s: the lab has no such host", socket)
		return
	}
	s.accept(t, s.address(host, other), func(conn net.Conn) {
		up, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		defer up.Close()
		go func() {
			_, _ = io.Copy(up, conn) // ends with either side
			up.Close()
		}()
		_, _ = io.Copy(conn, up)
	})
	s.expect(host, other, wantFields{"extended_metadata.service": "postgresql", "type": "port"})
}

func (s *labNetwork) postfix(t *testing.T, host string) {
	path, ok := program(t, "master")
	if !ok || os.Getuid() != 0 {
		t.Log("Postfix is not installed, or the test does not run as root: the lab has no such host")
		return
	}
	dir := writeFolder(t, map[string]string{
		"main.cf": "compatibility_level = 3.6\nqueue_directory = DIR/queue\ndata_directory = DIR/data\nmyhostname = " + host +
			"\nmydestination =\ninet_interfaces = 127.0.0.1\n" +
			"inet_protocols = ipv4\nsmtpd_banner = $myhostname ESMTP Postfix\nmaillog_file = DIR/log\nmaillog_file_prefixes = /\nsmtp_dns_support_level = disabled\nalias_maps =\n",
		"master.cf": s.address(host, other) +
			" inet n - n - - smtpd\nanvil unix - - n - 1 anvil\nrewrite unix - - n - - trivial-rewrite\nproxymap unix - - n - - proxymap\npostlog unix-dgram n - n - 1 postlogd\n",
	})
	out, err := exec.Command("sh", "-c",
		"cd "+dir+" && mkdir -p queue/public queue/private queue/pid data && chown postfix data queue/public queue/private").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	startDaemon(t, s.address(host, other), path, "-c", dir, "-d")
	s.expect(host, other, wantFields{"extended_metadata.service": "smtp", "extended_metadata.version": "Postfix.*"})
}
