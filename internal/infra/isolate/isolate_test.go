package isolate_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
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
