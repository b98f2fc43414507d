package record_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/infra/har"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/record"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// application is a site; elsewhere is another host.
func application(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "1"})
		fmt.Fprint(w, `<script>fetch("/api?item=7", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"name":"x"}'})
			.then(() => document.body.append("done"))</script><body></body>`)
	case "/packed":
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		fmt.Fprint(zip, "unpacked text")
		zip.Close()
	case "/large":
		_, _ = w.Write(bytes.Repeat([]byte("x"), 9<<20))
	case "/aborted":
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "part")
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	}
}

// proxied is a proxy that records one host, and a client that uses it and trusts it.
func proxied(t *testing.T, base string) (p *record.Proxy, at, file string, client *http.Client) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "recorded.har")
	out, err := har.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	target, err := netguard.ParseTarget(base)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err = record.New(record.Config{
		Scope: scope,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !strings.HasPrefix(addr, "127.0.0.1:") { // a browser has hosts of its own that it asks
				return nil, errors.New("it is not of the test")
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
		File: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	through, _ := url.Parse(server.URL)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(p.Authority())
	transport := &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(transport.CloseIdleConnections)
	return p, server.URL, file, &http.Client{Transport: transport}
}

func entries(t *testing.T, file string) []har.Entry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Log struct {
			Entries []har.Entry `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return got.Log.Entries
}

// What goes to the application is in the file, by HTTP and by HTTPS; what goes elsewhere is not, and is answered.
func TestProxy(t *testing.T) {
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		site := start(http.HandlerFunc(application))
		defer site.Close()
		other := httptest.NewServer(http.HandlerFunc(application))
		defer other.Close()
		base, _ := url.Parse(site.URL)
		p, _, file, client := proxied(t, site.URL)
		if got := entries(t, file); len(got) != 0 {
			t.Errorf("before the first: %+v", got)
		}
		send := func(method, address, body string) string {
			t.Helper()
			r, _ := http.NewRequest(method, address, strings.NewReader(body))
			r.Header.Set("Cookie", "sid=1")
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			return string(text)
		}
		if got := send("POST", site.URL+"/form?id=1", "a=b&c=\xff"); got != "POST a=b&c=\xff" {
			t.Errorf("the answer is %q", got)
		}
		if got := send("GET", site.URL+"/packed", ""); got != "unpacked text" {
			t.Errorf("the answer is %q", got)
		}
		if got := send("GET", site.URL+"/large", ""); len(got) != 9<<20 {
			t.Errorf("the answer has %d bytes", len(got))
		}
		send("GET", site.URL+"/aborted", "")
		if got := send("PUT", other.URL+"/x", "secret-of-another"); got != "PUT secret-of-another" || p.Passed() != 1 {
			t.Errorf("elsewhere: %q, %d passed", got, p.Passed())
		}
		got := entries(t, file)
		if len(got) != 4 {
			t.Fatalf("%d entries", len(got))
		}
		form := got[0]
		if form.Request.URL != site.URL+"/form?id=1" || form.Request.Method != "POST" || form.Request.PostData.Encoding != "base64" ||
			form.Response.Status != 200 || !strings.Contains(fmt.Sprint(form.Request.Headers), "{Cookie sid=1}") ||
			strings.Contains(fmt.Sprint(form.Request.Headers), "Proxy-") {
			t.Errorf("%+v", form)
		}
		if got[1].Response.Content.Text != "unpacked text" || got[1].Cut {
			t.Errorf("%+v", got[1])
		}
		if !got[2].Cut || len(got[2].Response.Content.Text) != 8<<20 || !got[3].Cut {
			t.Errorf("what is cut is not marked: %t, %t", got[2].Cut, got[3].Cut)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		text, _ := os.ReadFile(file)
		doc, err := spec.Read("", "recorded.har", text, spec.Options{Base: base, Hosts: []string{base.Host}})
		if err != nil {
			t.Fatalf("webtest does not read it: %v", err)
		}
		if requests, _ := doc.Requests(); len(requests) != 4 {
			t.Errorf("webtest reads %d requests of it", len(requests))
		}
	}
}

// A host that does not answer is told of, and what asks the proxy itself gets the certificate of its authority.
func TestProxyAlone(t *testing.T) {
	p, at, file, client := proxied(t, "http://127.0.0.1:1")
	answer, err := client.Get("http://127.0.0.1:1/")
	if err != nil || answer.StatusCode < 500 {
		t.Errorf("%v, %v", answer, err)
	}
	if got := entries(t, file); len(got) != 1 || got[0].Response.Status != 0 || got[0].Error == "" {
		t.Errorf("%+v", got)
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{"/ca.pem": string(p.Authority()), "/": "recording proxy"} {
		answer, err := direct.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "PRIVATE") {
			t.Errorf("%s: %q", path, text)
		}
	}
}

// Chromium uses the proxy with the authority's pin, and what its scripts send is recorded.
func TestChromium(t *testing.T) {
	path, err := browser.Find("")
	if err != nil {
		t.Skip(err)
	}
	site := httptest.NewTLSServer(http.HandlerFunc(application))
	defer site.Close()
	p, at, file, _ := proxied(t, site.URL)
	args := append(p.Chromium(at, t.TempDir()), "--headless", "--no-sandbox", "--virtual-time-budget=5000", "--dump-dom", site.URL+"/")
	out, err := exec.Command(path, args...).Output()
	if err != nil || !strings.Contains(string(out), "done") {
		t.Fatalf("%v: %s", err, out)
	}
	var api *har.Entry
	for _, e := range entries(t, file) {
		if strings.HasSuffix(e.Request.URL, "/api?item=7") {
			api = &e
		}
	}
	if api == nil || api.Request.PostData.Text != `{"name":"x"}` || api.Response.Content.Text != `POST {"name":"x"}` {
		t.Errorf("%+v", api)
	}
}
