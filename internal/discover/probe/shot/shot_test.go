package shot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/shot"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestTheBrowserStaysInScope(t *testing.T) {
	var mu sync.Mutex
	outside := 0
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		outside++
	}))
	defer stranger.Close()
	page := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		_, _ = fmt.Fprintf(w, `<html><body style="background:#f00"><img src="%s/x.png"><script>
			fetch("%[1]s/y", {method: "POST", mode: "no-cors"}); new WebSocket("ws" + "%[1]s".slice(4));
			fetch("/own", {method: "POST"}); document.title = "shot"</script></body></html>`, stranger.URL)
	}
	plain, secure := httptest.NewServer(http.HandlerFunc(page)),
		httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("<body style='background:#00f'>"))
		}))
	defer plain.Close()
	defer secure.Close()
	asked := map[string]bool{}
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		mu.Lock()
		asked[addr] = true
		mu.Unlock()
		to := map[string]string{"inside.test:80": plain.Listener.Addr().String(),
			"inside.test:443": secure.Listener.Addr().String()}[addr]
		if to == "" {
			return nil, &netguard.Denied{Addr: addr, Why: "it is not in scope"}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", to)
	}
	b, err := shot.Start(t.Context(), "", dial)
	if errors.Is(err, shot.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for url, colour := range map[string][3]uint32{"http://inside.test/": {0xffff, 0, 0},
		"https://inside.test/": {0, 0, 0xffff}} {
		picture, err := b.Take(t.Context(), url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		decoded, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		if size := decoded.Bounds().Size(); size.X < 800 || size.Y < 500 {
			t.Errorf("%s: a picture of %v", url, size)
		}
		r, g, bl, _ := decoded.At(600, 400).RGBA()
		if got := [3]uint32{r, g, bl}; got != colour {
			t.Errorf("%s: the page is %v, want %v", url, got, colour)
		}
	}
	if _, err := b.Take(t.Context(), "file:///etc/passwd"); err == nil {
		t.Error("a file was shown")
	}
	mu.Lock()
	defer mu.Unlock()
	if outside != 0 {
		t.Errorf("%d requests reached a host out of scope", outside)
	}
	if !asked[strings.TrimPrefix(stranger.URL, "http://")] {
		t.Error("the proxy was not asked for the other host: it was reached some other way, or not tried")
	}
}

func TestWithoutABrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := shot.Start(t.Context(), "", nil); !errors.Is(err, shot.ErrNone) {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", "/nowhere")
	start := time.Now()
	if _, err := shot.Start(t.Context(), "/bin/true", nil); err == nil || time.Since(start) > 40*time.Second {
		t.Errorf("a program that is no browser: %v after %s", err, time.Since(start))
	}
}
