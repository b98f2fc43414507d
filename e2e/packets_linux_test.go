package e2e

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vedette-sec/vedette/internal/oast"
	"golang.org/x/sys/unix"
)

// The addresses of the test's network, all of which answer.
var (
	siteAddress     = netip.MustParseAddr("10.9.0.1")
	resolverAddress = netip.MustParseAddr("10.9.0.2")
	oastAddress     = netip.MustParseAddr("10.9.0.3")
	evilAddress     = netip.MustParseAddr("203.0.113.9")
	signalAddress   = netip.MustParseAddr("203.0.113.77") // what the test itself sends to
)

// insideNetwork is set in the process that runs in a network of its own.
const insideNetwork = "VEDETTE_TEST_NETWORK"

// A scan with templates of every protocol that try to reach others, and with a page that does, sends packets to its
// target, its resolver and its out-of-band server alone. The test runs in a network of its own, in which every address
// is local and answers, and captures all packets.
func TestPacketsStayInScope(t *testing.T) {
	if os.Getenv(insideNetwork) != "" {
		packetsStayInScope(t)
		return
	}
	t.Parallel()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip (iproute2) is not installed")
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed")
	}
	if out, err := exec.Command("unshare", "--net", "true").CombinedOutput(); err != nil {
		t.Skipf("no network of its own here: %s", out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", self, "-test.run", "^TestPacketsStayInScope$", "-test.v")
	cmd.Env = append(os.Environ(), insideNetwork+"=1", "VEDETTE_TEST_BINARY="+binary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func packetsStayInScope(t *testing.T) {
	for _, command := range []string{
		"ip link set lo up", "ip route add local default dev lo", "ip -6 route add local default dev lo",
	} {
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil && !strings.Contains(command, "-6") {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	dir := t.TempDir()
	cases, err := txtar.ParseFile("testdata/packets/templates.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	page := ""
	for _, f := range cases.Files {
		if f.Name == "page.html" {
			page = string(f.Data)
			continue
		}
		ids = append(ids, strings.TrimSuffix(f.Name, ".yaml"))
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serveNetwork(t, page)
	seen := capture(t)
	seen.signal(t) // that packets are seen at all

	vedette := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Getenv("VEDETTE_TEST_BINARY"), args...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() != 3 { // partial coverage
			t.Fatalf("vedette %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	keys := filepath.Join(dir, "keys")
	vedette("templates", "keys", "--name", "Ada", "--folder", keys, "--no-passphrase")
	vedette("templates", "sign", filepath.Join(dir, "code.yaml"), "--key", filepath.Join(keys, "vedette-key.pem"))
	var out, text string
	for _, how := range []string{"--dast", "--enable-self-contained"} { // fuzzing templates run alone
		coverage := filepath.Join(keys, "coverage.json")
		out += vedette("scan", "--target", "http://site.test:8080/?to=x", "--templates", dir, "--resolvers",
			resolverAddress.String(), "--oast", "http://"+oastAddress.String()+":8088", "--headless", "--code",
			"--template-certificate", filepath.Join(keys, "vedette-certificate.pem"), "--coverage", coverage,
			"--interactions-cooldown-period", "1", how)
		cells, err := os.ReadFile(coverage)
		if err != nil {
			t.Fatal(err)
		}
		text += string(cells)
	}
	seen.signal(t)

	for _, id := range ids {
		if !strings.Contains(text, `"`+id+`"`) {
			t.Errorf("the coverage does not name %s", id)
		}
	}
	for _, wanted := range []string{
		"10.9.0.1 tcp 8080", "10.9.0.1 tcp 443", "10.9.0.2 udp 53", "10.9.0.3 tcp 8088",
	} {
		if !slices.Contains(seen.all(), wanted) {
			t.Errorf("nothing was sent to %s", wanted)
		}
	}
	for _, to := range seen.all() {
		address := netip.MustParseAddr(strings.Fields(to)[0])
		ours := []netip.Addr{siteAddress, resolverAddress, oastAddress, signalAddress}
		if !address.IsLoopback() && !slices.Contains(ours, address) {
			t.Errorf("sent to %s", to)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("sent to %q\n%s\n%s", seen.all(), out, text)
	}
}

// serveNetwork answers on every address: HTTP and websockets on 80 and 8080, TLS on 443, lines on 9000, names on 53,
// and the out-of-band server on 8088.
func serveNetwork(t *testing.T, page string) {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://10.9.0.4:8080/redirected", http.StatusFound)
		case "/redirect-name":
			http.Redirect(w, r, "http://evil.test:8080/redirected", http.StatusTemporaryRedirect)
		case "/refresh":
			w.Header().Set("Refresh", "0; url=http://203.0.113.9:8080/refreshed")
			w.Header().Set("Alt-Svc", `h2="evil.test:443"; ma=60`)
			w.Header().Set("Link", "<http://203.0.113.9:8080/pushed>; rel=preload; as=script")
		case "/fetch":
			if resp, err := http.Get(r.FormValue("url")); err == nil { // the weakness that oast.yaml finds
				resp.Body.Close()
			}
		case "/sw.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, "fetch('http://203.0.113.9:8080/service-worker')")
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, page)
		}
	})
	serve := func(port string, on *httptest.Server, start func(*httptest.Server)) {
		l, err := net.Listen("tcp", "0.0.0.0:"+port)
		if err != nil {
			t.Fatal(err)
		}
		on.Listener, on.Config.ErrorLog = l, quiet
		start(on)
		t.Cleanup(on.Close)
	}
	serve("80", httptest.NewUnstartedServer(site), (*httptest.Server).Start)
	serve("8080", httptest.NewUnstartedServer(site), (*httptest.Server).Start)
	serve("443", httptest.NewUnstartedServer(site), (*httptest.Server).StartTLS)
	outside, err := oast.NewServer(oast.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(outside.Close)
	serve("8088", httptest.NewUnstartedServer(outside), (*httptest.Server).Start)

	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		address := map[string]netip.Addr{"site.test.": siteAddress, "evil.test.": evilAddress}[strings.ToLower(q.Question[0].Name)]
		switch {
		case !address.IsValid():
			reply.Rcode = dns.RcodeNameError
		case q.Question[0].Qtype == dns.TypeA:
			reply.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A: address.AsSlice()}}
		}
		_ = w.WriteMsg(reply)
	})
	packets, err := net.ListenPacket("udp", resolverAddress.String()+":53") // answers come from where questions went
	if err != nil {
		t.Fatal(err)
	}
	names := &dns.Server{PacketConn: packets, Handler: answer}
	go func() { _ = names.ActivateAndServe() }()
	t.Cleanup(func() { _ = names.Shutdown() })
}

// captured are the places that packets of this network were sent to.
type captured struct {
	mu   sync.Mutex
	seen map[string]bool // address, protocol, port
	more chan struct{}   // one after each
}

// capture begins to watch.
func capture(t *testing.T) *captured {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	c := &captured{seen: map[string]bool{}, more: make(chan struct{}, 100)}
	go func() {
		buffer := make([]byte, 128)
		for {
			n, from, err := unix.Recvfrom(fd, buffer, 0)
			if err != nil {
				return
			}
			if at, ok := from.(*unix.SockaddrLinklayer); ok {
				c.note(htons(at.Protocol), buffer[:n])
			}
		}
	}()
	t.Cleanup(func() {
		stats, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil || stats.Drops > 0 {
			t.Errorf("%+v packets were not seen, %v", stats, err)
		}
		_ = unix.Close(fd)
	})
	return c
}

func htons(n uint16) uint16 { return n<<8 | n>>8 }

// note notes the destination of a packet.
func (c *captured) note(kind uint16, p []byte) {
	var to netip.Addr
	var protocol, begin int
	switch {
	case kind == unix.ETH_P_IP && len(p) >= 20:
		to, protocol, begin = netip.AddrFrom4([4]byte(p[16:20])), int(p[9]), int(p[0]&15)*4
	case kind == unix.ETH_P_IPV6 && len(p) >= 40:
		to, protocol, begin = netip.AddrFrom16([16]byte(p[24:40])), int(p[6]), 40
	default:
		return
	}
	if to.IsMulticast() && protocol != unix.IPPROTO_UDP {
		return // the kernel says which groups it is in
	}
	name := map[int]string{unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp"}[protocol]
	port := 0
	if name != "" && len(p) >= begin+4 {
		port = int(p[begin+2])<<8 | int(p[begin+3])
		if from := int(p[begin])<<8 | int(p[begin+1]); from < port {
			port = from // an answer: its address is the one that was asked
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[fmt.Sprintf("%s %s %d", to, name, port)] = true
	if to == signalAddress {
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
}

// signal sends a packet of the test's own, and waits until it was seen, and with it all before.
func (c *captured) signal(t *testing.T) {
	t.Helper()
	for len(c.more) > 0 {
		<-c.more
	}
	conn, err := net.Dial("udp", signalAddress.String()+":9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "x")
	select {
	case <-c.more:
	case <-time.After(longWait):
		t.Fatal("no packet is seen")
	}
}

func (c *captured) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for to := range c.seen {
		all = append(all, to)
	}
	slices.Sort(all)
	return all
}
