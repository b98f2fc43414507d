package probe_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

func TestNginxIsSeenWhole(t *testing.T) {
	t.Parallel()
	const ip = "127.20.0.1"
	ca := newAuthority(t)
	plain, secure := startNginx(t, ip, ca)
	n := name("www.lab.test", ip)
	got := look(t, probe.Config{
		Ports: fmt.Sprintf("%d,%d", plain, secure), Roots: ca.pool,
		Steps: []discover.Step{discover.PortScan, discover.TLSScan, discover.HTTPProbe, discover.EndpointCrawling},
	}, "www.lab.test", n)
	alone := got["www.lab.test:0/"]
	if alone.Domain != "lab.test" || !slices.Equal(alone.IP, []string{ip}) || alone.Records["MX"] == nil ||
		alone.CNAME == nil || len(alone.Sources) != 1 {
		t.Errorf("the name alone: %+v", alone)
	}
	if len(got) != 3 {
		t.Errorf("%d assets", len(got))
	}
	for port, scheme := range map[int]string{plain: "http", secure: "https"} {
		a := got[fmt.Sprintf("www.lab.test:%d/tcp", port)]
		base := scheme + "://www.lab.test:" + strconv.Itoa(port)
		if a.Service != scheme || a.URL != base+"/" || a.StatusCode != 200 || a.Method != "GET" ||
			!slices.Equal(a.Chain, []string{"200"}) {
			t.Errorf("%s: service %q url %q status %d chain %v notes %v", scheme, a.Service, a.URL, a.StatusCode, a.Chain,
				a.Notes)
		}
		if a.Title != "The Lab & Works" || !strings.HasPrefix(a.Webserver, "nginx/1.") ||
			!strings.HasPrefix(a.Version, "nginx 1.") {
			t.Errorf("%s: title %q webserver %q version %q", scheme, a.Title, a.Webserver, a.Version)
		}
		if a.Headers["x-powered-by"] != "PHP/8.2.1" || !strings.HasPrefix(a.Body, "<html>") || len(a.BodyHash) != 64 ||
			a.ContentLength != int64(len(a.Body)) {
			t.Errorf("%s: headers %v body %q hash %q length %d", scheme, a.Headers, a.Body, a.BodyHash, a.ContentLength)
		}
		if a.Favicon != "576441543" || a.FaviconURL != base+"/icon.png" {
			t.Errorf("%s: favicon %s at %s", scheme, a.Favicon, a.FaviconURL)
		}
		if !slices.Contains(a.Technologies, "PHP:8.2.1") || a.Details["Nginx"].Website == "" ||
			len(a.Details["Nginx"].Categories) == 0 {
			t.Errorf("%s: technologies %v %v", scheme, a.Technologies, a.Details)
		}
		var paths []string
		for _, e := range a.Endpoints {
			paths = append(paths, strings.TrimPrefix(e, base))
		}
		slices.Sort(paths)
		if want := []string{"/", "/app.js", "/logout", "/mapped.html", "/search", "/secret/", "/three.html",
			"/two.html"}; !slices.Equal(paths, want) {
			t.Errorf("%s: endpoints %v, want %v", scheme, paths, want)
		}
		if (a.TLS != nil) != (scheme == "https") {
			t.Errorf("%s: TLS %v", scheme, a.TLS)
		}
	}
	facts := got[fmt.Sprintf("www.lab.test:%d/tcp", secure)].TLS
	if facts == nil {
		t.Fatal("no TLS facts")
	}
	if facts.Version != "tls13" || facts.Cipher == "" || len(facts.JARM) != 62 || strings.Trim(facts.JARM, "0") == "" ||
		facts.Serial != "0A:1B:2C" {
		t.Errorf("TLS %+v", facts)
	}
	if facts.SubjectCN != "www.lab.test" || facts.SubjectOrg != "Lab Works" || facts.IssuerCN != "Lab Root" ||
		facts.IssuerOrg != "Lab Authority" ||
		!slices.Equal(facts.SubjectAN, []string{"www.lab.test", "lab.test"}) || facts.NotAfter.Before(facts.NotBefore) {
		t.Errorf("TLS %+v", facts)
	}
	if facts.Expired || facts.SelfSigned || facts.Mismatched || facts.Revoked || facts.Untrusted {
		t.Errorf("a good certificate is judged %+v", facts)
	}
}

func TestServicesAreNamed(t *testing.T) {
	t.Parallel()
	const ip = "127.20.0.2"
	for service, run := range map[string]func(t *testing.T) (port int, product string){
		"redis": func(t *testing.T) (int, string) {
			p := freePort(t, ip)
			start(t, net.JoinHostPort(ip, strconv.Itoa(p)),
				exec.Command(tool(t, "redis-server"), "--bind", ip, "--port", strconv.Itoa(p), "--save", "", "--dir", t.TempDir()))
			return p, "Redis "
		},
		"ssh": func(t *testing.T) (int, string) {
			binary, p, dir := tool(t, "sshd"), freePort(t, ip), t.TempDir()
			key := filepath.Join(dir, "key")
			if out, err := exec.Command(tool(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f",
				key).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if os.Getuid() == 0 { // it wants its empty folder
				if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
					t.Skip(err)
				}
			}
			start(t, net.JoinHostPort(ip, strconv.Itoa(p)), exec.Command(binary, "-D", "-e", "-f", "/dev/null", "-h", key,
				"-o", "ListenAddress="+ip, "-p", strconv.Itoa(p), "-o", "PidFile=none"))
			return p, "OpenSSH "
		},
		"http": func(t *testing.T) (int, string) {
			binary, p, dir := tool(t, "apache2"), freePort(t, ip), t.TempDir()
			conf := filepath.Join(dir, "conf")
			text := fmt.Sprintf("ServerName lab.test\nListen %s:%d\nPidFile %s/pid\nErrorLog /dev/stderr\nDocumentRoot %s\nDefaultRuntimeDir %[3]s\n", ip, p, dir, dir)
			for _, module := range []string{"mpm_event", "authz_core"} {
				text += fmt.Sprintf("LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", module)
			}
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			start(t, net.JoinHostPort(ip, strconv.Itoa(p)), exec.Command(binary, "-f", conf, "-D", "FOREGROUND"))
			return p, "Apache "
		},
	} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			port, product := run(t)
			got := look(t, probe.Config{Ports: strconv.Itoa(port),
				Steps: []discover.Step{discover.PortScan, discover.HTTPProbe}}, ip, discover.Name{Host: ip})
			a := got[fmt.Sprintf("%s:%d/tcp", ip, port)]
			if a.Service != service || !strings.HasPrefix(a.Version, product) {
				t.Errorf("seen as %q, version %q: %+v", a.Service, a.Version, a)
			}
			if len(a.Technologies) == 0 || len(a.Notes) != 0 {
				t.Errorf("technologies %v, notes %v", a.Technologies, a.Notes)
			}
		})
	}
}
