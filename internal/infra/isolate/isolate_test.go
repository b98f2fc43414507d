package isolate_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// run runs a shell's text.
func run(t *testing.T, c isolate.Command, text string) (*isolate.Result, error) {
	t.Helper()
	if c.Args == nil {
		c.Args = []string{"sh", isolate.Files + "/program"}
		c.Files = map[string][]byte{"program": []byte(text)}
	}
	if c.Time == 0 {
		c.Time = time.Minute
	}
	got, err := isolate.Run(t.Context(), c)
	if errors.Is(err, isolate.ErrNoBubblewrap) || errors.Is(err, isolate.ErrNoNamespaces) || errors.Is(err, isolate.ErrNoSocat) {
		t.Skip(err)
	}
	return got, err
}

func TestRun(t *testing.T) {
	got, err := run(t, isolate.Command{Stdin: "in", Env: map[string]string{"A": "1 2"}},
		`cat; echo " $A"; pwd; echo x >file && cat file; id -u >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Stdout) != "in 1 2\n/work\nx\n" || got.Code != 3 || string(got.Stderr) == "0\n" {
		t.Errorf("%q %q %d", got.Stdout, got.Stderr, got.Code)
	}
}

// The only network is what the caller dials.
func TestNetwork(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("hello " + r.Host))
	}))
	defer site.Close()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "a.test:80" && addr != "b.test:443" {
			return nil, errors.New(addr + " is out of scope")
		}
		return (&net.Dialer{}).DialContext(ctx, network, site.Listener.Addr().String())
	}
	got, err := run(t, isolate.Command{Dial: dial}, `curl -s http://a.test/; echo; curl -s http://c.test/
curl -s --proxytunnel http://b.test:443/; echo; curl -s --proxytunnel http://d.test:443/ || echo refused`)
	if err != nil {
		t.Fatal(err)
	}
	want := "hello a.test\nThe connection was refused: c.test:80 is out of scope\nhello b.test:443\nrefused\n"
	if string(got.Stdout) != want {
		t.Errorf("%q %q", got.Stdout, got.Stderr)
	}
}

func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		time       time.Duration
	}{
		"time": {"while :; do :; done", "ran for too long", time.Second},
		"memory": {`python3 -c 'import os
for i in range(4):
  if os.fork() == 0: break
x = b"x" * (450 << 20)
while True: pass'`, "too much memory", time.Minute},
		"output":   {"yes", "wrote too much", time.Minute},
		"children": {"(setsid sleep 1000 >/dev/null 2>&1 &); (sleep 1000 &) >/dev/null 2>&1; echo done", "", time.Minute},
	} {
		_, err := run(t, isolate.Command{Time: c.time}, c.text)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The environment of a program is that of nothing outside of the sandbox, and a folder can be changed only where it may.
func TestSurroundings(t *testing.T) {
	got, err := run(t, isolate.Command{Env: map[string]string{"LD_PRELOAD": "/nowhere.so", "TWO": "a\nb=c"}},
		`printf %s "$TWO"`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Stdout) != "a\nb=c" || strings.Count(string(got.Stderr), "/nowhere.so") != 1 {
		t.Errorf("%q %q", got.Stdout, got.Stderr)
	}
	folder, err := os.MkdirTemp("/tmp", "kept-") //nolint:usetesting // everybody may enter this one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := errors.Join(sandbox.Give(folder), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	there := map[string]string{"/agent": folder}
	if got, err = run(t, isolate.Command{Writable: there}, `echo kept >/agent/file`); err != nil || got.Code != 0 {
		t.Fatalf("%v %q", err, got.Stderr)
	}
	got, err = run(t, isolate.Command{Folders: there}, `cat /agent/file; echo x >/agent/file || echo refused`)
	if err != nil || string(got.Stdout) != "kept\nrefused\n" {
		t.Errorf("%v %q", err, got.Stdout)
	}
	if _, err := run(t, isolate.Command{Env: map[string]string{"A": "\x00--bind"}}, "true"); err == nil {
		t.Error("a value with a zero byte is in the environment")
	}
}
