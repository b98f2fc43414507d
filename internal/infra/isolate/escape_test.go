package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// outside is what a program must not reach: a file, a word in the environment, servers.
type outside struct {
	env     map[string]string
	secret  string
	reached atomic.Int32
}

const canary = "canary-of-the-machine"

func newOutside(t *testing.T) *outside {
	t.Helper()
	t.Setenv("OUTSIDE", canary)
	folder, err := os.MkdirTemp("/tmp", "outside-") //nolint:usetesting // everybody may enter this one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	o := &outside{secret: filepath.Join(folder, "secret")}
	if err := errors.Join(os.WriteFile(o.secret, []byte(canary), 0o666), os.Chmod(o.secret, 0o666), os.Chmod(folder, 0o777)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	site := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			o.reached.Add(1)
			_, _ = w.Write([]byte(canary))
		})}}
	site.Start()
	t.Cleanup(site.Close)
	abstract := fmt.Sprintf("outside-%d", os.Getpid())
	a, err := net.Listen("unix", "@"+abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	go func() {
		for {
			conn, err := a.Accept()
			if err != nil {
				return
			}
			o.reached.Add(1)
			_ = conn.Close()
		}
	}()
	name, _ := os.Hostname()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, one := range all {
		if ip, ok := one.(*net.IPNet); ok && ip.IP.To4() != nil {
			addresses = append(addresses, ip.IP.String())
		}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	o.env = map[string]string{
		"SECRET": o.secret, "CANARY": "canary-of-[t]he-machine", "HOSTNAME_OUTSIDE": name, "PORT_OUTSIDE": port,
		"PID_OUTSIDE": fmt.Sprint(os.Getpid()), "ABSTRACT_OUTSIDE": abstract, "ADDRESSES_OUTSIDE": strings.Join(addresses, " "),
	}
	return o
}

// TestEscapes: no attempt of testdata/escapes.txt gets out, each ends in its time, and nothing is left of any.
func TestEscapes(t *testing.T) {
	own := t.TempDir() // what other tests, and processes that were killed, have left elsewhere is not of these programs
	if err := os.Chmod(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", own)
	o := newOutside(t)
	text, err := os.ReadFile("testdata/escapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\n== ")[1:]
	if len(cases) < 60 {
		t.Fatalf("%d cases", len(cases))
	}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("out of scope") }
	for _, c := range cases {
		name, script, _ := strings.Cut(c, "\n")
		got, err := run(t, isolate.Command{Env: o.env, Dial: refuse, Time: 20 * time.Second}, script+"\necho tried\n")
		ended := errors.Is(err, sandbox.ErrRunTime) || errors.Is(err, sandbox.ErrRunMemory)
		switch {
		case err != nil && !ended:
			t.Errorf("%s: %v", name, err)
		case err == nil && (strings.Contains(string(got.Stdout), "ESCAPED") || !strings.Contains(string(got.Stdout), "tried")):
			t.Errorf("%s: %q %q", name, got.Stdout, got.Stderr)
		}
		if n := o.reached.Swap(0); n > 0 {
			t.Errorf("%s: reached a server of the machine", name)
		}
	}
	if now, err := os.ReadFile(o.secret); err != nil || string(now) != canary {
		t.Errorf("the file outside is %q, %v", now, err)
	}
	if sandbox.Reachable() != own {
		t.Fatalf("nobody has no way into %s", own)
	}
	if left, _ := os.ReadDir(own); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
