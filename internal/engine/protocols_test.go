package engine_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// TestProtocols runs every case of testdata/protocols: templates of other protocols than HTTP against services that
// lab starts. A case names its targets, a line each, in the comment of the archive: "target: TCP", or text with the
// names of services, which stand for their addresses. A template names them as {{TCP}} and so on.
func TestProtocols(t *testing.T) {
	eachCase(t, "testdata/protocols/*.txtar", protocolCase)
}

func protocolCase(t *testing.T, file string, archive *txtar.Archive) {
	t.Parallel()
	services := lab(t)
	var names []string
	for name, address := range services {
		names = append(names, name, address)
	}
	write := strings.NewReplacer(names...)
	scan := engine.Scan{Vars: services}
	folder := t.TempDir()
	got := map[string][]string{}
	for _, f := range archive.Files {
		switch {
		case strings.HasPrefix(f.Name, "files/"):
			path := filepath.Join(folder, strings.TrimPrefix(f.Name, "files/"))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		case strings.HasSuffix(f.Name, ".yaml"):
			p, err := compile(f.Name, f.Data)
			if err != nil {
				got["refused"] = append(got["refused"], err.Error())
				continue
			}
			scan.Programs = append(scan.Programs, p)
		}
	}
	cfg := engine.Config{Timeout: time.Minute, Resolvers: []string{services["DNS"]}, Files: true}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "target":
			scan.Targets = append(scan.Targets, strings.ReplaceAll(write.Replace(value), "FOLDER", folder))
		case "self-contained":
			scan.SelfContained = true
		case "no files":
			cfg.Files = false
		}
	}
	if len(scan.Programs) > 0 {
		runProtocols(t, cfg, scan, services, folder, got)
	}
	checkCase(t, file, archive, got)
}

func runProtocols(
	t *testing.T, cfg engine.Config, scan engine.Scan, services map[string]string, folder string, got map[string][]string,
) {
	e := engine.New(cfg)
	defer e.Close()
	scan.OnEvent = func(ev engine.Event) { got["events"] = append(got["events"], steadyText(t, ev, services, folder)) }
	var last engine.Progress
	scan.OnProgress = func(p engine.Progress) { last = p }
	var events []engine.Event
	write := scan.OnEvent
	scan.OnEvent = func(ev engine.Event) { write(ev); events = append(events, ev) }
	report, err := e.Run(context.Background(), scan)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events { // each is confirmed by a second look
		i := slices.IndexFunc(scan.Programs, func(p *program.Program) bool { return p.ID == ev.TemplateID })
		if _, shown, err := e.Confirm(t.Context(), ev.Target, scan.Programs[i], ev); err != nil || !shown {
			t.Errorf("%s at %s is not confirmed: %v", ev.TemplateID, ev.MatchedAt, err)
		}
	}
	for cell := range report.Cells() {
		got["cells"] = append(got["cells"], steadyWords(
			strings.TrimSpace(fmt.Sprintf("%s %s %s", cell.Template, cell.State, cell.Reason)), services, folder))
	}
	for _, target := range report.Targets {
		if scan.Targets[0] != "" && target.Matched > 0 && !target.Alive && cfg.Files && target.Target != "" {
			t.Errorf("%s has findings and is not alive", target.Target)
		}
	}
	if last.Done != last.Total && !slices.ContainsFunc(scan.Programs, isFile) {
		t.Errorf("%d of %d requests at the end", last.Done, last.Total)
	}
	slices.Sort(got["events"])
}

func isFile(p *program.Program) bool { return p.Requests() == 0 }

// steadyText is an event as JSON without what differs from run to run.
func steadyText(t *testing.T, ev engine.Event, services map[string]string, folder string) string {
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"timestamp", "info", "template-path", "matcher-status"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("event without %s: %s", name, data)
		}
		delete(fields, name)
	}
	if ev.Type == "dns" || ev.Type == "ssl" || ev.Type == "http" {
		delete(fields, "request")
		delete(fields, "response")
		delete(fields, "curl-command")
	}
	if fields["port"] != nil {
		fields["port"] = "PORT"
	}
	data, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return steadyWords(string(data), services, folder)
}

var dates = regexp.MustCompile(`Date: [^\\]*GMT`)

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func steadyWords(text string, services map[string]string, folder string) string {
	for _, name := range slices.Backward(slices.Sorted(func(yield func(string) bool) {
		for name := range services {
			if !yield(name) {
				return
			}
		}
	})) {
		text = strings.ReplaceAll(text, services[name], name)
	}
	text = dates.ReplaceAllString(strings.ReplaceAll(text, folder, "FOLDER"), "Date: NOW")
	return ports.ReplaceAllString(text, "127.0.0.1:PORT")
}

// lab starts the services of a case and returns their addresses by name:
//
//	TCP   greets with "READY 1.2", answers PING with PONG, "GET x" with "VALUE x", QUIT with an end
//	TLS   the same over TLS with a certificate of its own for *.lab.test
//	MUTE  accepts and closes without a word
//	GONE  a port where nothing listens
//	DNS   a resolver for lab.test
//	WS    echoes text frames in upper case, with the header X-Key before them
//	WEB   a site that answers "hello" to everything
func lab(t *testing.T) map[string]string {
	t.Helper()
	certificate := labCertificate(t)
	web := httptest.NewServer(http.HandlerFunc(labSite))
	t.Cleanup(web.Close)
	socket := httptest.NewServer(http.HandlerFunc(labSocket))
	t.Cleanup(socket.Close)
	return map[string]string{
		"TCP":  listen(t, nil, talk),
		"TLS":  listen(t, &tls.Config{Certificates: []tls.Certificate{certificate}, MaxVersion: tls.VersionTLS12}, talk),
		"MUTE": listen(t, nil, func(net.Conn) {}),
		"GONE": gone(t),
		"DNS":  labDNS(t),
		"WS":   strings.TrimPrefix(socket.URL, "http://"),
		"WEB":  strings.TrimPrefix(web.URL, "http://"),
	}
}

func gone(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func listen(t *testing.T, secure *tls.Config, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	inner := l
	if secure != nil {
		inner = tls.NewListener(l, secure)
	}
	go func() {
		for {
			conn, err := inner.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func talk(conn net.Conn) {
	fmt.Fprint(conn, "READY 1.2\r\n")
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case "GET":
			fmt.Fprintf(conn, "VALUE %s\r\n", rest)
		case "QUIT":
			return
		default:
			fmt.Fprintf(conn, "ERR %x\r\n", line)
		}
	}
}

func labCertificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0x0102ff),
		Subject:      pkix.Name{CommonName: "*.lab.test", Organization: []string{"Lab, Inc."}, Country: []string{"SE"}},
		DNSNames:     []string{"*.lab.test", "lab.test"},
		NotBefore:    time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), NotAfter: time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func labDNS(t *testing.T) string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(m)
		answer.Rcode = dns.RcodeNameError
		for _, text := range labRecords[strings.ToLower(m.Question[0].Name)] {
			rr, err := dns.NewRR(m.Question[0].Name + " 60 IN " + text)
			if err != nil {
				panic(err)
			}
			if answer.Rcode = dns.RcodeSuccess; rr.Header().Rrtype == m.Question[0].Qtype {
				answer.Answer = append(answer.Answer, rr)
			}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return conn.LocalAddr().String()
}

var labRecords = map[string][]string{
	"lab.test.":               {"A 192.0.2.1", "A 192.0.2.2", "TXT \"v=spf1 -all\"", "MX 10 mail.lab.test.", "CAA 0 issue \"ca.test\""},
	"www.lab.test.":           {"CNAME lab.test."},
	"9.2.0.192.in-addr.arpa.": {"PTR nine.lab.test."},
	"1.0.0.127.in-addr.arpa.": {"PTR localhost."},
}

func labSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		kind, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		text := r.URL.Path + " " + r.Header.Get("X-Key") + " " + strings.ToUpper(string(data))
		if err := conn.Write(r.Context(), kind, []byte(text)); err != nil {
			return
		}
	}
}

func labSite(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "hello "+r.URL.Path)
}
