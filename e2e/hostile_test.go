package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/discover/names/dnslab"
)

// A title with control sequences for terminals, HTML, a spreadsheet formula and bidirectional
// control characters.
const hostileTitle = "=cmd|' /C calc'!A0 \x1b]0;pwned\x07\x1b[31m <script>alert(1)</script>\u202e\u0000\x9b2J\r\nX"

// hostileHosts are servers that attack whoever connects, by address. Without a handler, the
// server speaks raw TCP, see startHostileHosts.
var hostileHosts = map[string]func(w http.ResponseWriter, r *http.Request){
	"127.99.0.1": func(w http.ResponseWriter, _ *http.Request) { // ten megabytes of title
		_, _ = fmt.Fprintf(w, "<title>%s</title>", strings.Repeat("long title ", 1<<20))
	},
	"127.99.0.2": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Evil", "a\x1b[2Jb")
		w.Header().Set("Server", "nginx/\x1b[31m<script>")
		_, _ = fmt.Fprintf(w, "<title>%s</title>",
			strings.NewReplacer("<", "&lt;", "\x1b", "&#27;", "\x9b", "&#x9b;").Replace(hostileTitle))
	},
	"127.99.0.3": func(w http.ResponseWriter, r *http.Request) { // a redirect loop
		http.Redirect(w, r, map[string]string{"/": "/a", "/a": "/b", "/b": "/a"}[r.URL.Path], http.StatusFound)
	},
	"127.99.0.4": func(w http.ResponseWriter, r *http.Request) { // endless redirects
		http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, "/")+"/on", http.StatusFound)
	},
	"127.99.0.5": func(w http.ResponseWriter, r *http.Request) { // an endless body
		for piece := bytes.Repeat([]byte("<a href=/x>"), 1<<10); r.Context().Err() == nil; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	},
	"127.99.0.6": nil, // a tarpit
	"127.99.0.7": nil, // sends nothing
	"127.99.0.8": nil, // sends an endless banner
	"127.99.0.9": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<title>Many names</title>") },
}

// startHostileHosts starts them, all on the same port, and a name server for lab.example whose
// answers are wrong, missing or malformed.
func startHostileHosts(t *testing.T) (port, resolver string) {
	t.Helper()
	_, port, _ = net.SplitHostPort(freeAddresses(t, 1)[0])
	s := &labNetwork{}
	for address, page := range hostileHosts {
		at := net.JoinHostPort(address, port)
		switch address {
		case "127.99.0.6":
			s.accept(t, at, func(conn net.Conn) {
				ticker := time.NewTicker(100 * time.Millisecond)
				defer ticker.Stop()
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nX-Slow: ")
				for range ticker.C {
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
				}
			})
		case "127.99.0.7":
			s.accept(t, at, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		case "127.99.0.8":
			s.accept(t, at, func(conn net.Conn) { _, _ = conn.Write(bytes.Repeat([]byte("SSH-2.0-\x1b[2J<script>"), 1<<16)) })
		case "127.99.0.9":
			many := newAuthority(t).issue(t, "many.lab.example", func(c *x509.Certificate) {
				for i := range 10_000 {
					c.DNSNames = append(c.DNSNames, fmt.Sprintf("host-%d.lab.example", i))
				}
				c.DNSNames = append(c.DNSNames, "\x1b[2J.lab.example")
			})
			serveAt(t, at, &tls.Config{Certificates: []tls.Certificate{many}, MinVersion: tls.VersionTLS12}, page)
		default:
			serveAt(t, at, nil, page)
		}
	}
	return port, dnslab.Start(t, dnslab.Generate("lab.example", 1000)).Addr
}

// harmful returns the first character that controls a terminal or the direction of text.
func harmful(text string) string {
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Sprintf("%q", r)
		}
	}
	return ""
}

// allHostileInputs are all hostile hosts, and names without a valid answer.
var allHostileInputs = []string{"127.99.0.0/28", "garbage0.lab.example", "silent0.lab.example", "loop-a.lab.example",
	"www.lab.example"}

// answeringInputs are the hosts whose answers end; a long timeout cannot slow the test down.
var answeringInputs = []string{"127.99.0.1", "127.99.0.2", "127.99.0.3", "127.99.0.4", "127.99.0.5", "127.99.0.9",
	"garbage0.lab.example"}

// runEnumerate runs vedette enumerate on some of the hostile hosts within a time limit, and
// returns its standard output and standard error.
func runEnumerate(t *testing.T, inputs []string, timeout string, args ...string) (out, messages string) {
	t.Helper()
	program := binary(t)
	port, resolver := startHostileHosts(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*longWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program,
		slices.Concat([]string{"enumerate"}, inputs,
			[]string{"--exact", "--ports", port, "--timeout", timeout, "--resolvers", resolver, "--no-sources"}, args)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 3 { // some names had no answer
		t.Fatalf("it ends with %d: %v\n%s", code, err, &e)
	}
	return o.String(), e.String()
}

// TestHostileHostsAreLookedAtUnharmed: whatever hosts and name servers send, a run ends in time,
// reports every host and what happened, and prints nothing harmful.
func TestHostileHostsAreLookedAtUnharmed(t *testing.T) {
	t.Parallel()
	t.Run("jsonl", func(t *testing.T) {
		t.Parallel()
		out, messages := runEnumerate(t, allHostileInputs, "1s")
		seen := map[string]assetDoc{}
		for line := range strings.Lines(out) {
			var a assetDoc
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			if a.field("port") != "" {
				seen[a.field("host")] = a
			}
			if len(line) > 200_000 {
				t.Errorf("%s takes %d bytes", a.field("host"), len(line))
			}
			checkHarmless(t, a, a.field("host"))
		}
		for host := range hostileHosts {
			if got := seen[host].field("protocol"); got != "tcp" {
				t.Errorf("%s: the protocol is %q", host, got)
			}
		}
		if len(seen) != len(hostileHosts) {
			t.Errorf("%d ports, not %d", len(seen), len(hostileHosts))
		}
		if what := harmful(strings.ReplaceAll(messages, "\r", "")); what != "" ||
			!strings.Contains(messages, "got no answer") {
			t.Errorf("it says %s: %s", what, messages)
		}
	})
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		out, _ := runEnumerate(t, answeringInputs, "60s", "-o", "json")
		var assets []assetDoc
		if err := json.Unmarshal([]byte(out), &assets); err != nil {
			t.Fatalf("%v: %.200s", err, out)
		}
		seen := map[string]assetDoc{}
		for _, a := range assets {
			if a.field("port") != "" {
				seen[a.field("host")] = a
			}
		}
		for host, want := range map[string]wantFields{
			"127.99.0.1": {"title": "(long title )+lon?.*"}, "127.99.0.2": {"title": "=cmd.*alert.*", "webserver": "nginx.*"},
			"127.99.0.3": {"notes": ".*circle.*", "chain_status_codes": `\[302 302 302\]`},
			"127.99.0.4": {"notes": ".*more than 10 redirects.*"},
			"127.99.0.5": {"status_code": "200"},
			"127.99.0.9": {"title": "Many names", "tls.subject_cn": "many.lab.example", "notes": ".*names.*"},
		} {
			a, found := seen[host]
			if !found {
				t.Errorf("%s is not found", host)
				continue
			}
			for field, text := range want {
				if got := a.field(field); !regexp.MustCompile(`^(?s:` + text + `)$`).MatchString(got) {
					t.Errorf("%s: %s is %.300q, and not %s", host, field, got, text)
				}
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		out, _ := runEnumerate(t, answeringInputs, "60s", "-o", "text")
		if what := harmful(out); what != "" || !strings.Contains(out, "alert(1)") {
			t.Errorf("the table has %s:\n%.2000s", what, out)
		}
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		dep := newDeployment(t, "sqlite")
		port, resolver := startHostileHosts(t)
		c := dep.serveWithUser("--resolvers", resolver, "--origin-zone", "")
		id := c.enumerate(map[string]any{
			"enrichment_inputs": []string{"127.99.0.0/28", "garbage0.lab.example", "silent0.lab.example", "www.lab.example"},
			"enumeration_ports": port,
			"steps":             []string{"dns_resolve", "port_scan", "http_probe", "tls_scan", "endpoint_crawling"},
		})
		if e := c.enumerationEnds(id, 4*longWait); e.Status != "finished" || e.Assets < 2*len(hostileHosts) {
			t.Errorf("%+v", e)
		}
		for place, a := range c.inventory(id) {
			checkHarmless(t, a, place)
		}
		resp, err := c.do(t.Context(), "GET", "/v1/asset/enumerate/"+id+"/export?format=csv", "text/csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		rows, err := csv.NewReader(resp.Body).ReadAll()
		if err != nil || len(rows) < 2*len(hostileHosts) {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if what := harmful(cell); what != "" || strings.ContainsAny(cmp.Or(cell, " ")[:1], "=+@\t") {
					t.Errorf("a cell of the CSV has %s: %.200q", what, cell)
				}
			}
		}
	})
}

// checkHarmless fails for each harmful text of a document.
func checkHarmless(t *testing.T, at any, path string) {
	t.Helper()
	switch v := at.(type) {
	case assetDoc:
		checkHarmless(t, map[string]any(v), path)
	case map[string]any:
		for key, inner := range v {
			checkHarmless(t, key, path)
			checkHarmless(t, inner, path+"."+key)
		}
	case []any:
		for _, inner := range v {
			checkHarmless(t, inner, path)
		}
	case string:
		// bodies are stored unchanged and only shown as JSON
		if what := harmful(v); what != "" && !strings.HasSuffix(path, ".body") {
			t.Errorf("%s has %s: %.200q", path, what, v)
		}
	}
}
