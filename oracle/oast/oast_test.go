// Package oast_test tries our out-of-band server with interactsh's client, and our client with interactsh's server.
package oast_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/projectdiscovery/interactsh/pkg/client"
	"github.com/projectdiscovery/interactsh/pkg/server"
	"github.com/projectdiscovery/interactsh/pkg/storage"
)

// vedette starts the binary, which VEDETTE_BINARY names or else is built, and returns its lines.
func vedette(t *testing.T, args ...string) (out, messages *bufio.Scanner) {
	t.Helper()
	binary := os.Getenv("VEDETTE_BINARY")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "vedette")
		if raw, err := exec.Command("go", "build", "-C", "../..", "-o", binary, "./cmd/vedette").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "VEDETTE_OAST_TOKEN=t0ken")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return bufio.NewScanner(stdout), bufio.NewScanner(stderr)
}

func line(t *testing.T, from *bufio.Scanner) string {
	t.Helper()
	if !from.Scan() {
		t.Fatal("the command ended")
	}
	return from.Text()
}

// visit is the target: it asks the server at an address for a name.
func visit(t *testing.T, at, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = name
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func check(t *testing.T, one server.Interaction, id string) {
	t.Helper()
	if one.Protocol != "http" || one.UniqueID != id || one.FullId != "a."+id ||
		!strings.HasPrefix(one.RawRequest, "GET /x HTTP/1.1") || one.RemoteAddress != "127.0.0.1" {
		t.Errorf("%+v", one)
	}
}

func TestTheirClientWithOurServer(t *testing.T) {
	_, messages := vedette(t, "oast", "serve", "--domain", "oast.example", "--address", "127.0.0.1", "--listen", "http://127.0.0.1:0")
	at := strings.TrimPrefix(line(t, messages), "listening: http://")
	if _, err := client.New(&client.Options{ServerURL: "http://" + at, Token: "wrong"}); err == nil {
		t.Error("a wrong token is taken")
	}
	c, err := client.New(&client.Options{ServerURL: "http://" + at, Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(c.URL(), ".")
	visit(t, at, "a."+id+".oast.example")
	got := make(chan *server.Interaction, 10)
	if err := c.StartPolling(50*time.Millisecond, func(one *server.Interaction) { got <- one }); err != nil {
		t.Fatal(err)
	}
	select {
	case one := <-got:
		check(t, *one, id)
	case <-time.After(30 * time.Second):
		t.Fatal("no interaction")
	}
	if err := cmp.Or(c.StopPolling(), c.Close()); err != nil {
		t.Error(err)
	}
}

func TestOurClientWithTheirServer(t *testing.T) {
	kept, err := storage.New(&storage.Options{EvictionTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, port := free.Addr().String(), free.Addr().(*net.TCPAddr).Port
	free.Close()
	theirs, err := server.NewHTTPServer(&server.Options{
		Domains: []string{"oast.example"}, ListenIP: "127.0.0.1", HttpPort: port, Storage: kept, Stats: &server.Metrics{},
		CorrelationIdLength: 20, CorrelationIdNonceLength: 13, Auth: true, Token: "t0ken",
	})
	if err != nil {
		t.Fatal(err)
	}
	go theirs.ListenAndServe(nil, make(chan bool, 4), make(chan bool, 4))
	for range 250 { // nothing tells when it listens
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	out, messages := vedette(t, "oast", "watch", "--server", "http://"+at, "--every", "100ms", "-o", "json")
	id := strings.TrimPrefix(line(t, messages), at+"/")
	visit(t, at, "a."+id+".oast.example")
	var one server.Interaction
	if err := json.Unmarshal([]byte(line(t, out)), &one); err != nil {
		t.Fatal(err)
	}
	check(t, one, id)
}
