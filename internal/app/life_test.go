package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// longWait is the time limit for what should happen promptly, on a loaded machine.
const longWait = time.Minute

// until polls a condition, and fails the test after longWait.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(longWait); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func (h *testServer) get(path string) answer { return h.do(h.request(http.MethodGet, path, nil, "")) }

// dial opens a connection that ends with the test.
func (h *testServer) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(longWait)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestStopIsGraceful: a stop ends streams, finishes running requests, reports 503 at /readyz until
// then, accepts no new connection, and leaves no goroutine.
func TestStopIsGraceful(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			_ = dbtest.URL(t, engine) // what the first database starts stays
			before := runtime.NumGoroutine()
			h := serve(t, engine)
			ada := h.person("ada", "", account.Admin)
			taskID, _ := h.task(ada) // no worker runs it: its stream does not end by itself

			r := h.request(http.MethodGet, "/api/v1/tasks/"+taskID+"/stream", &ada, "")
			stream, err := http.DefaultClient.Do(r.WithContext(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, ": task") {
				t.Fatalf("the stream begins with %q, %v", line, err)
			}

			// Of this request the server has everything but the body, which it has begun to read.
			half := h.dial(t)
			answers := bufio.NewReader(half)
			body := `{"task":"check http://127.0.0.1:9/","response_format":"json"}`
			fmt.Fprintf(half, "POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", ada.token, len(body))
			if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
				t.Fatalf("before the body: %q, %v", line, err)
			}
			if _, err := answers.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			kept := h.dial(t) // a connection that has been used, to ask on while the server stops
			fmt.Fprint(kept, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(kept), nil); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("before the stop: %v, %v", resp, err)
			}

			stopped := make(chan struct{})
			go func() { h.stop(); close(stopped) }()
			if _, err := io.ReadAll(stream.Body); err != nil {
				t.Errorf("the stream breaks: %v", err)
			}
			until(t, "no new connection is taken", func() bool {
				conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
				if err == nil {
					conn.Close()
				}
				return err != nil
			})
			fmt.Fprint(half, body)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil || resp.StatusCode != http.StatusAccepted {
				t.Errorf("the request under way: %v, %v", resp, err)
			}
			half.Close()
			select {
			case <-stopped:
			case <-time.After(longWait):
				t.Fatal("the server does not stop")
			}
			stream.Body.Close()
			noGoroutinesLeft(t, before)
		})
	}
}

// TestStopWaitsForNobodyWhoAskedNothing: a connection that was opened ahead of need neither delays a stop nor makes it
// an error.
func TestStopWaitsForNobodyWhoAskedNothing(t *testing.T) {
	h := serve(t, "sqlite")
	conn := h.dial(t)
	h.get("/healthz") // connections are taken in one after the other
	h.stop()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection after the stop: %v", err)
	}
}

// noGoroutinesLeft waits until there are no more goroutines than before, and prints them all on failure.
func noGoroutinesLeft(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	t.Cleanup(func() {
		if t.Failed() {
			all := make([]byte, 1<<20)
			t.Logf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)])
		}
	})
	until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestWorkersStopToo(t *testing.T) {
	for _, engine := range dbtest.Engines {
		for _, role := range []string{RoleAll, RoleWorker} {
			t.Run(engine+"/"+role, func(t *testing.T) {
				_ = dbtest.URL(t, engine) // what the first database starts stays
				before := runtime.NumGoroutine()
				h := serve(t, engine, "ROLE="+role)
				ada := h.person("ada", "", account.Admin)
				taskID, _ := h.task(ada)
				ctx := account.WithCaller(t.Context(), ada.Caller)
				until(t, "the task begins", func() bool {
					task, err := h.Tasks.Find(ctx, taskID)
					return err != nil || task.Status != "queued"
				})
				h.stop()
				noGoroutinesLeft(t, before)
			})
		}
	}
}

func TestReadiness(t *testing.T) {
	h := serve(t, "sqlite")
	word := func() string {
		t.Helper()
		got := h.get("/readyz")
		var doc struct{ Status string }
		if err := json.Unmarshal(got.body, &doc); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		return fmt.Sprint(got.status, " ", doc.Status)
	}
	if got := word(); got != "200 ready" {
		t.Errorf("at first: %s", got)
	}
	h.close()
	if got := word(); got != "503 stopping" {
		t.Errorf("while it stops: %s", got)
	}
	h.closing = context.Background()
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := word(); got != "503 database unavailable" {
		t.Errorf("without its database: %s", got)
	}
	if got := h.get("/healthz"); got.status != http.StatusOK {
		t.Errorf("the process is alive: %d %s", got.status, got.body)
	}
	r := h.request(http.MethodGet, "/api/v1/tasks", nil, "")
	r.Header.Set("X-Api-Key", "svc_sk_00000000000000000000000000000000")
	got := h.do(r)
	if message, err := got.refusal(false); err != nil || got.status != http.StatusInternalServerError ||
		message != "Internal error." {
		t.Errorf("a request without a database: %d %s (%v)", got.status, got.body, err)
	}
}

func TestAddressInUse(t *testing.T) {
	h := serve(t, "sqlite")
	c, _, err := Load(map[string]any{"listen": strings.TrimPrefix(h.base, "http://"), "database": dbtest.URL(t, "sqlite"),
		"data_dir": t.TempDir()}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), c, c.Logger())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a second server on the same address: %v", err)
	}
}

func TestLinksOfAServerOnAllAddressesCanBeOpened(t *testing.T) {
	for address, host := range map[string]string{"[::]:0": "127.0.0.1", "0.0.0.0:0": "127.0.0.1", "127.0.0.2:0": "127.0.0.2", "[::1]:0": "::1"} {
		a := &App{config: Config{Listen: address}}
		base, err := a.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a.listener.Close()
		if u, err := url.Parse(base); err != nil || u.Hostname() != host {
			t.Errorf("a server on %s prints links to %s", address, base)
		}
	}
}

func TestSetupLinkUsesThePublicAddress(t *testing.T) {
	h := serve(t, "sqlite", "PUBLIC_URL=https://vedette.example.com/")
	link, err := h.SetupLink(t.Context(), h.base)
	if err != nil || !strings.HasPrefix(link, "https://vedette.example.com/setup?token=") {
		t.Errorf("the link is %q, %v", link, err)
	}
	h.person("ada", "", account.Admin)
	if link, err := h.SetupLink(t.Context(), h.base); link != "" || err != nil {
		t.Errorf("with a user there: %q, %v", link, err)
	}
}

// TestOddPaths: any path is answered with an error or a redirect to one of our paths.
func TestOddPaths(t *testing.T) {
	h := serve(t, "sqlite")
	for _, path := range []string{
		"//", "//evil.example/", "//api/v1/tasks", "/api//v1/tasks", "/api/v1/tasks/", "/api/", "/api", "/v1", "/v2/",
		"/v2/x",
		"/api/../../etc/passwd", "/api/v1/../../../etc/passwd", "/api/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
		"/docs/../../x", "/docs/", "/setup/..",
		"/metrics/", "/.git/HEAD", "/%00", "/api/v1/%00", "/\\evil.example", "/api/openapi.json/", "/v1/openapi.json%00", "*",
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS", "HEAD"} {
			got := h.do(h.request(method, path, nil, ""))
			to := got.header.Get("Location")
			switch {
			case got.status >= 300 && got.status < 400:
				if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\") {
					t.Errorf("%s %s leads to %q", method, path, to)
				}
			case got.status < 400 && path != "//" && method != "OPTIONS" || got.status >= 500:
				t.Errorf("%s %s answers %d %.200s", method, path, got.status, got.body)
			}
			if strings.Contains(string(got.body), "root:") {
				t.Fatalf("%s %s gives a file away", method, path)
			}
		}
	}
}

func TestHeadersBeyondTheLimit(t *testing.T) {
	h := serve(t, "sqlite")
	r := h.request(http.MethodGet, "/api/v1/tasks", nil, "")
	r.Header.Set("X-Long", strings.Repeat("x", 80<<10))
	if got := h.do(r); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("80 KB of header answer %d", got.status)
	}
	conn := h.dial(t)
	fmt.Fprint(conn, "GET /api/v1/tasks HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\x00b\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("NUL in a header: %v, %v", resp, err)
	}
}

// TestLogHasNoSecrets sends every kind of credential, and reads the log.
func TestLogHasNoSecrets(t *testing.T) {
	h := serve(t, "sqlite")
	ada := h.person("ada", "", account.Admin)
	login := h.request(http.MethodPost, "/api/v1/auth/login?q=secret-query", nil,
		`{"email":"ada@example.com","password":"correct-horse"}`)
	login.Header.Set("CF-Turnstile-Response", "secret-challenge")
	keyed := h.request(http.MethodGet, "/api/v1/teams?q=secret-query", nil, "")
	keyed.Header.Set("X-Api-Key", ada.key)
	wrong := h.request(http.MethodPost, "/api/internal/user/lookup", nil, `{"email":"ada@example.com"}`)
	wrong.Header.Set("X-Internal-API-Key", "secret-service")
	for _, r := range []*http.Request{
		login, keyed, wrong, h.request(http.MethodGet, "/api/v1/teams", &ada, ""),
		h.request(http.MethodGet, "/setup?token=secret-setup", nil, ""),
		h.request(http.MethodPatch, "/api/v1/teams", &ada,
			`{"webhook_url":"https://hooks.example.com/secret-path?secret-token"}`),
	} {
		if got := h.do(r); got.status >= 500 {
			t.Errorf("%s %s answers %d", r.Method, r.URL, got.status)
		}
	}
	for _, secret := range []string{"secret-", "correct-horse", ada.key, ada.token, serviceKey} {
		if strings.Contains(h.logs.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	if h.logs.String() == "" {
		t.Error("nothing is logged")
	}
}
