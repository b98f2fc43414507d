package main

import (
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// watched counts connections that did not come from a proxy, and those that did.
type watched struct {
	net.Listener
	proxies []*sockstest.Server

	mu              sync.Mutex
	direct, through int
}

func (w *watched) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	made := false
	for _, p := range w.proxies {
		made = made || p.Made(conn.RemoteAddr().String())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if made {
		w.through++
	} else {
		w.direct++
	}
	return conn, nil
}

// counted are the connections since the last call.
func (w *watched) counted() (direct, through int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	direct, through = w.direct, w.through
	w.direct, w.through = 0, 0
	return direct, through
}

// With --proxy, scan and enumerate reach their targets through the proxy alone, whatever its kind and wherever its URL
// stands; a proxy that does not work is an error, and no reason to go past it.
func TestProxyOfCommands(t *testing.T) {
	socks, web := sockstest.Start(t, "ann", "hidden"), sockstest.StartHTTP(t, "ann", "hidden")
	site := httptest.NewUnstartedServer(weaksite.New(7))
	seen := &watched{Listener: site.Listener, proxies: []*sockstest.Server{socks, web}}
	site.Listener = seen
	site.Start()
	t.Cleanup(site.Close)
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "proxy")
	if err := os.WriteFile(file, []byte("socks5://ann:hidden@"+socks.Addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scanned := []string{"scan", "-u", site.URL, "--template-id", "vedette-git-config", "--no-stdin"}
	named := []string{"scan", "-u", "http://localhost:" + port, "--template-id", "vedette-git-config", "--no-stdin"}
	found := []string{"enumerate", "127.0.0.1", "--ports", port, "--steps", "port_scan,http_probe,tls_scan", "--no-sources"}
	for _, c := range []struct {
		args             []string
		proxy, env, said string
		code             int
		out              string
	}{
		{scanned, "socks5://ann:hidden@" + socks.Addr, "", "", 0, "vedette-git-config"},
		{scanned, "http://ann:hidden@" + web.Addr, "", "", 0, "vedette-git-config"},
		{scanned, "", file, "", 0, "vedette-git-config"},
		{named, "socks5h://ann:hidden@" + socks.Addr, "", "", 0, "vedette-git-config"},
		{found, "socks5://ann:hidden@" + socks.Addr, "", "", 0, `"status_code":200`},
		{found, "http://ann:hidden@" + web.Addr, "", "", 0, `"status_code":200`},
		{found, file, "", "", 0, `"status_code":200`},
		{scanned, "socks5://ann:guess@" + socks.Addr, "", "the proxy socks5://ann:xxxxx@" + socks.Addr, cli.ExitError, ""},
		{scanned, "socks5://ann:hidden@127.0.0.1:1", "", "the proxy socks5://ann:xxxxx@127.0.0.1:1 does", cli.ExitError, ""},
		{found, "socks5://ann:guess@" + socks.Addr, "", "the proxy socks5://ann:xxxxx@" + socks.Addr, cli.ExitError, ""},
		{found, "http://ann:guess@" + web.Addr, "", "the proxy http://ann:xxxxx@" + web.Addr, cli.ExitError, ""},
		{found, "http://127.0.0.1:1", "", "the proxy http://127.0.0.1:1 does not work", cli.ExitError, ""},
		{found, "", "http://127.0.0.1:1", "the proxy http://127.0.0.1:1 does not work", cli.ExitError, ""},
		{found, "socks5h://" + socks.Addr, "", "use socks5://", cli.ExitUsage, ""},
		{append(slices.Clip(found), "--udp"), "socks5://" + socks.Addr, "", "--udp", cli.ExitUsage, ""},
		{append(slices.Clip(named), "--deny-targets", "10.0.0.0/8"), "socks5h://" + socks.Addr, "",
			"use socks5://", cli.ExitUsage, ""},
		{scanned, "ftp://ann:hidden@" + socks.Addr, "", "--proxy: it must be a URL", cli.ExitUsage, ""},
		{scanned, filepath.Join(t.TempDir(), "absent"), "", "--proxy: it is neither a URL nor a file", cli.ExitUsage, ""},
	} {
		t.Setenv("VEDETTE_PROXY", c.env)
		args := c.args
		if c.proxy != "" {
			args = append(slices.Clip(args), "--proxy", c.proxy)
		}
		code, out, talk := command(t, args...)
		direct, through := seen.counted()
		if code != c.code || !strings.Contains(talk, c.said) || direct > 0 || (through > 0) != (c.code == 0) ||
			!strings.Contains(out, c.out) || strings.Contains(out+talk, "hidden") || strings.Contains(out+talk, "guess") {
			t.Errorf("%q %s: exit %d, %d direct, %d through the proxy\n%s%s", args, c.env, code, direct, through, out, talk)
		}
	}
	asked := strings.Join(socks.Asked(), " ")
	if !strings.Contains(asked, "localhost:"+port) || !strings.Contains(asked, "127.0.0.1:"+port) {
		t.Errorf("the proxy was asked for %s", asked)
	}
	t.Setenv("VEDETTE_PROXY", "")
	command(t, found...)
	if direct, through := seen.counted(); direct == 0 || through > 0 {
		t.Errorf("without a proxy: %d direct, %d through it", direct, through)
	}
}
