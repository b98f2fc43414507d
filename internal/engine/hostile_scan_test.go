//go:build linux

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const (
	hostileScanVar  = "VEDETTE_HOSTILE_TARGETS"
	hostileMemory   = 512 << 20 // bytes that a process which scans may have
	hostileAtOnce   = 8
	hostileTimeout  = 2 * time.Second // of the engine
	hostileScanTime = 60 * time.Second
)

// hostileResult is what a process that scanned says.
type hostileResult struct {
	Cells  map[string][]string // by target: template, state and reason
	Events map[string]int      // by target
	Dialed []string            // addresses that are no target's
	Took   time.Duration
	Bytes  int64
}

// hostileTemplates are ordinary templates: one for each way to look at an answer, and the other protocols.
var hostileTemplates = map[string]string{
	"status": "http: [{path: ['{{BaseURL}}/'], matchers: [{type: status, status: [200]}]}]",
	"word":   "http: [{path: ['{{BaseURL}}/page'], matchers: [{type: word, words: [honest]}]}]",
	"regex":  "http: [{path: ['{{BaseURL}}/page'], extractors: [{type: regex, regex: ['hon[a-z]+']}]}]",
	"xpath":  "http: [{path: ['{{BaseURL}}/page'], extractors: [{type: xpath, xpath: ['//b']}]}]",
	"json":   "http: [{path: ['{{BaseURL}}/json'], extractors: [{type: json, json: ['.a']}]}]",
	"dsl":    "http: [{path: ['{{BaseURL}}/page'], matchers: [{type: dsl, dsl: ['len(body) > 5 && contains(to_lower(body), \"honest\")']}]}]",
	"redirects": "http: [{path: ['{{BaseURL}}/from'], redirects: true, max-redirects: 20, " +
		"matchers: [{type: word, words: [honest]}]}]",
	"session": "http: [{raw: [\"GET /cookie HTTP/1.1\\nHost: {{Hostname}}\\n\\n\", \"GET /page HTTP/1.1\\nHost: {{Hostname}}\\n\\n\"], " +
		"matchers: [{type: dsl, dsl: ['status_code_1 == 200 && contains(body_2, \"honest\")']}]}]",
	"tcp": "tcp: [{host: ['{{Hostname}}'], inputs: [{data: \"GET /page HTTP/1.0\\r\\n\\r\\n\"}], read-all: true, " +
		"matchers: [{type: word, words: [honest]}]}]",
	"ssl": "ssl: [{address: '{{Host}}:{{Port}}', matchers: [{type: word, words: [zzz]}]}]",
}

func honestSite(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/from":
		http.Redirect(w, r, "/page", http.StatusFound)
	case "/json":
		fmt.Fprint(w, `{"a": "b"}`)
	case "/cookie":
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "v"})
	default:
		fmt.Fprint(w, "<html><b>honest</b></html>")
	}
}

// Hostile servers, eight at once beside an honest one, take no more than their scan's time and memory, have nothing
// sent to others, lose no finding of the honest one, and have their states.
func TestHostileServers(t *testing.T) {
	if targets := os.Getenv(hostileScanVar); targets != "" {
		hostileScanner(t, strings.Fields(targets))
		return
	}
	hostileCertificate = labCertificate(t)
	for names := range slices.Chunk(slices.Sorted(maps.Keys(hostileServers)), hostileAtOnce) {
		t.Run(names[0], func(t *testing.T) {
			honest := serve(t, honestSite)
			targets, name := []string{honest}, map[string]string{}
			for _, n := range names {
				address := listen(t, nil, hostileServers[n])
				if strings.HasPrefix(n, "tls-") {
					address = "https://" + address
				}
				targets, name[address] = append(targets, address), n
			}
			got := hostileScanOf(t, targets)
			t.Logf("%d MiB, %v", got.Bytes>>20, got.Took)
			if got.Took > hostileScanTime || got.Bytes > hostileMemory {
				t.Errorf("%v with %d MiB", got.Took, got.Bytes>>20)
			}
			if len(got.Dialed) > 0 {
				t.Errorf("dialed %q", got.Dialed)
			}
			if got.Events[honest] != len(hostileTemplates)-1 { // all but TLS
				t.Errorf("%d findings of the honest server: %q", got.Events[honest], got.Cells[honest])
			}
			for _, target := range targets[1:] {
				cells := got.Cells[target]
				t.Logf("%s: %.300q", name[target], cells)
				if len(cells) != len(hostileTemplates) {
					t.Errorf("%s has %d cells", name[target], len(cells))
				}
				for _, cell := range cells {
					fields := strings.SplitN(cell, " ", 3)
					if !slices.Contains([]string{"tested", "failed", "denied", "not_applicable"}, fields[1]) ||
						fields[1] != "tested" && fields[1] != "not_applicable" && len(fields) < 3 {
						t.Errorf("%s: %s", name[target], cell)
					}
				}
			}
		})
	}
}

// hostileScanOf scans in a process of its own.
func hostileScanOf(t *testing.T, targets []string) (got hostileResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*hostileScanTime)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestHostileServers$", "-test.timeout", "2m")
	child.Env = append(os.Environ(), hostileScanVar+"="+strings.Join(targets, " "))
	out, err := child.CombinedOutput()
	_, line, found := strings.Cut(string(out), "\nEND ")
	if !found {
		t.Fatalf("the process ended: %v: %.3000s", err, out)
	}
	line, _, _ = strings.Cut(line, "\n")
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// hostileScanner scans, and prints what came of it.
func hostileScanner(t *testing.T, targets []string) {
	membudget.Limit(hostileMemory)
	got := hostileResult{Cells: map[string][]string{}, Events: map[string]int{}}
	var mu sync.Mutex
	inScope := func(hostPort string) bool {
		return slices.ContainsFunc(targets, func(t string) bool { return strings.HasSuffix(t, hostPort) })
	}
	e := newEngine(t, engine.Config{Timeout: hostileTimeout,
		Allow: func(u *url.URL) bool { return inScope(u.Host) },
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !inScope(addr) {
				mu.Lock()
				got.Dialed = append(got.Dialed, addr)
				mu.Unlock()
				return nil, errors.New("no target")
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	scan := engine.Scan{Targets: targets, OnEvent: func(ev engine.Event) { got.Events[ev.Target]++ }}
	for _, id := range slices.Sorted(maps.Keys(hostileTemplates)) {
		p, err := compile(id+".yaml", []byte("id: "+id+"\ninfo: {name: N, author: a, severity: low}\n"+hostileTemplates[id]))
		if err != nil {
			t.Fatal(err)
		}
		scan.Programs = append(scan.Programs, p)
	}
	begin := time.Now()
	report, err := e.Run(t.Context(), scan)
	if err != nil {
		t.Fatal(err)
	}
	got.Took, got.Bytes = time.Since(begin), peak(t)
	for cell := range report.Cells() {
		got.Cells[cell.Target] = append(got.Cells[cell.Target],
			strings.TrimSpace(fmt.Sprintf("%s %s %s", cell.Template, cell.State, cell.Reason)))
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nEND %s\n", data)
}
