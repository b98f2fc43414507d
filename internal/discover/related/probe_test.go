package related

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/vedette-sec/vedette/internal/discover"
)

// sites are web sites by host name, over HTTP; nothing answers over TLS.
func sites(t *testing.T, handlers map[string]http.Handler) *http.Client {
	t.Helper()
	addrs := map[string]string{}
	for host, h := range handlers {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		addrs[host+":80"] = server.Listener.Addr().String()
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to, ok := addrs[addr]
			if !ok {
				return nil, fmt.Errorf("nobody is at %s", addr)
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		}},
	}
}

// nameServer is a name server with TXT and A records.
func nameServer(t *testing.T, records map[string][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		kind := dns.TypeToString[q.Question[0].Qtype]
		values, ok := records[kind+" "+strings.ToLower(q.Question[0].Name)]
		if !ok {
			m.Rcode = dns.RcodeNameError
		}
		for _, v := range values {
			if v == "SERVFAIL" {
				m.Rcode = dns.RcodeServerFailure
				break
			}
			if rr, err := dns.NewRR(fmt.Sprintf("%s 60 IN %s %s", q.Question[0].Name, kind, v)); err == nil {
				m.Answer = append(m.Answer, rr)
			}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestProbe(t *testing.T) {
	p := Prober{
		HTTP: sites(t, map[string]http.Handler{
			"up.com":    text("<html><head><TITLE>\n Acme &amp; Co \x1b[31m</title>"),
			"moved.com": http.RedirectHandler("https://elsewhere.com/x", http.StatusMovedPermanently),
			"big.com":   text("<title>" + strings.Repeat("long ", 1<<20)),
			"error.com": http.NotFoundHandler(),
		}),
		Resolver: nameServer(t, map[string][]string{
			"A up.com.": {"192.0.2.7"}, "TXT 7.2.0.192.origin.asn.test.": {`"64500 64501 | 192.0.2.0/24 | ZZ | test | 2020-01-01"`},
			"TXT as64500.asn.test.": {`"64500 | ZZ | test | 2020-01-01 | ACME-NET Acme, ZZ"`},
		}),
		Origin: "origin.asn.test",
	}
	got := map[string]discover.Evidence{}
	p.Probe(t.Context(), []string{"up.com", "moved.com", "big.com", "error.com", "gone.com"},
		func(domain string, e discover.Evidence) { got[domain] = e })
	yes, no := true, false
	for domain, want := range map[string]discover.Evidence{
		"up.com": {Active: &yes, StatusCode: 200, Title: "Acme & Co [31m", Probe: "http://up.com/", ASNumber: 64500,
			ASName: "ACME-NET Acme, ZZ"},
		"moved.com": {Active: &yes, StatusCode: 301, Probe: "http://moved.com/", Location: "https://elsewhere.com/x"},
		"error.com": {Active: &yes, StatusCode: 404, Probe: "http://error.com/"},
		"gone.com":  {Active: &no, Probe: "http://gone.com/"},
	} {
		have := got[domain]
		if have.Active == nil || *have.Active != *want.Active {
			t.Fatalf("%s: %+v", domain, have)
		}
		have.Active, want.Active = nil, nil
		if have != want {
			t.Errorf("%s: %+v, want %+v", domain, have, want)
		}
	}
	if title := got["big.com"].Title; len(title) > maxText+10 || !strings.HasPrefix(title, "long long") {
		t.Errorf("a long title has %d bytes", len(title))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Probe(ctx, []string{"up.com"}, func(string, discover.Evidence) { t.Error("told after the end") })
}

func TestVerify(t *testing.T) {
	const token = "0123456789abcdefghijABCDEFGHIJ01"
	meta := func(name, content string) string {
		return fmt.Sprintf(`<!doctype html><html><head><meta charset=utf-8><META content=%q NAME=%q/></head><body>x`, content,
			name)
	}
	file := func(path, body string) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET "+path, text(body))
		return mux
	}
	v := Verifier{
		HTTP: sites(t, map[string]http.Handler{
			"meta.com":      text(meta(ProofName, token)),
			"othermeta.com": text(meta(ProofName, token+"x")),
			"body.com":      text(`<html><head></head><body><meta name="` + ProofName + `" content="` + token + `">`),
			"comment.com":   text(`<!-- <meta name="` + ProofName + `" content="` + token + `"> --><p>`),
			"nohead.com":    text(`<body><meta name="` + ProofName + `" content="` + token + `">`),
			"apex.com":      http.RedirectHandler("http://www.apex.com/", http.StatusFound),
			"www.apex.com":  text(meta(ProofName, token)),
			"sent.com":      http.RedirectHandler("http://meta.com/", http.StatusFound),
			"sub.com":       http.RedirectHandler("http://users.sub.com/", http.StatusFound),
			"users.sub.com": text(meta(ProofName, token)),
			"loop.com":      http.RedirectHandler("http://loop.com/", http.StatusFound),
			"file.com":      file("/.well-known/vedette-verification.txt", "\ufeff"+token+"\r\n"),
			"root.com":      file("/vedette-verification.txt", ProofName+"="+token),
			"within.com":    file("/vedette-verification.txt", "you said "+token),
			"empty.com":     file("/vedette-verification.txt", ""),
			"error.com":     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); _, _ = io.WriteString(w, token) }),
		}),
		Resolver: nameServer(t, map[string][]string{
			"TXT txt.com.":   {`"v=spf1 -all"`, `"vedette-verification=` + token[:10] + `" "` + token[10:] + `"`},
			"TXT wrong.com.": {`"vedette-verification=` + strings.ToLower(token) + `"`}, "TXT other.com.": {`"x"`},
			"TXT down.com.": {"SERVFAIL"},
		}),
	}
	const txt, tag, upload = discover.ProofTXT, discover.ProofMeta, discover.ProofFile
	for _, c := range []struct {
		domain string
		by     discover.ProofType
		ok     bool
		says   string
	}{
		{"txt.com", txt, true, "is there"}, {"wrong.com", txt, false, "another token"},
		{"other.com", txt, false, "None of the 1"}, {"gone.com", txt, false, "no TXT"},
		{"down.com", txt, false, "could not be read"},
		{"meta.com", tag, true, "is there"}, {"othermeta.com", tag, false, "without"}, {"body.com", tag, false, "without"},
		{"comment.com", tag, false, "without"}, {"nohead.com", tag, false, "without"},
		{"apex.com", tag, true, "is there"}, {"sent.com", tag, false, "did not show"},
		{"sub.com", tag, false, "did not show"}, {"loop.com", tag, false, "did not show"},
		{"gone.com", tag, false, "does not answer"},
		{"file.com", upload, true, "is there"}, {"root.com", upload, true, "is there"},
		{"within.com", upload, false, "without"}, {"empty.com", upload, false, "without"},
		{"error.com", upload, false, "did not show"},
		{"txt.com", tag, false, ""}, {"meta.com", txt, false, ""}, {"txt.com", "other", false, "no such way"},
	} {
		ok, says := v.Verify(t.Context(), c.domain, c.by, token)
		if ok != c.ok || !strings.Contains(says, c.says) {
			t.Errorf("%s by %s: %v, %q", c.domain, c.by, ok, says)
		}
	}
}
