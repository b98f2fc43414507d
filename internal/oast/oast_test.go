package oast_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/smtp"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/vedette-sec/vedette/internal/oast"
)

// serve makes a server and lets it listen for each of the protocols on a port of the loopback.
func serve(t *testing.T, c oast.Config, protocols ...string) (*oast.Server, []string) {
	t.Helper()
	s, err := oast.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	at := make([]string, len(protocols))
	for i, protocol := range protocols {
		if at[i], err = s.Listen(protocol + "://127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	return s, at
}

func client(t *testing.T, at, token string) *oast.Client {
	t.Helper()
	c, err := oast.NewClient(t.Context(), http.DefaultClient, "http://"+at, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// next waits for an interaction on the server's channel, which is the signal that it is stored.
func next(t *testing.T, s *oast.Server) oast.Interaction {
	t.Helper()
	select {
	case one := <-s.Interactions():
		return one
	case <-t.Context().Done():
		t.Fatal("no interaction")
		return oast.Interaction{}
	}
}

func poll(t *testing.T, c *oast.Client) []oast.Interaction {
	t.Helper()
	all, err := c.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// dial sends text and reads until the other side ends or n lines have come.
func dial(t *testing.T, at, text string, n int) string {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	in := bufio.NewReader(c)
	for range n {
		line, err := in.ReadString('\n')
		got.WriteString(line)
		if err != nil {
			break
		}
	}
	return got.String()
}

func TestHTTPByNameAndByAddress(t *testing.T) {
	s, at := serve(t, oast.Config{Domain: "oast.example", Watch: true}, "http", "https")
	c := client(t, at[0], "")
	id, byAddress := c.URL()
	if byAddress != at[0]+"/"+id {
		t.Fatalf("the address is %q", byAddress)
	}
	get := func(url, host string) string {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("a body"))
		req.Host = host
		trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		resp, err := trusting.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return string(raw)
	}
	backwards := []byte(id)
	for i := range backwards {
		backwards[i] = id[len(id)-1-i]
	}
	if body := get("http://"+byAddress+"?q=1", ""); body != "<html><head></head><body>"+string(backwards)+"</body></html>" {
		t.Errorf("the answer is %q", body)
	}
	if body := get("https://"+at[1]+"/poll", strings.ToUpper("x."+id)+".oast.example:8443"); !strings.Contains(body, string(backwards)) {
		t.Errorf("a target that asks for /poll under its own name gets %q", body)
	}
	get("http://"+at[0]+"/nothing", "")
	for range 3 {
		next(t, s)
	}
	all := poll(t, c)
	if len(all) != 2 {
		t.Fatalf("%d interactions: %+v", len(all), all)
	}
	first, second := all[0], all[1]
	if first.Protocol != "http" || first.UniqueID != id || first.FullID != id || first.RemoteAddress != "127.0.0.1" ||
		!strings.HasPrefix(first.RawRequest, "POST /"+id+"?q=1 HTTP/1.1\r\nHost: "+at[0]) ||
		!strings.HasSuffix(first.RawRequest, "\r\n\r\na body") || !strings.Contains(first.RawResponse, string(backwards)) {
		t.Errorf("by address: %+v", first)
	}
	if second.Protocol != "https" || second.UniqueID != id || second.FullID != "x."+id {
		t.Errorf("by name: %+v", second)
	}
	if again := poll(t, c); len(again) != 0 {
		t.Errorf("polled twice: %+v", again)
	}
}

func TestDNS(t *testing.T) {
	s, at := serve(t, oast.Config{
		Domain: "Oast.Example.", Watch: true,
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")},
	}, "http", "dns")
	c := client(t, at[0], "")
	id, _ := c.URL()
	ask := func(network, name string, qtype uint16) *dns.Msg {
		m := new(dns.Msg).SetQuestion(name, qtype)
		got, _, err := (&dns.Client{Net: network}).ExchangeContext(t.Context(), m, at[1])
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, one := range []struct {
		name, want string
		qtype      uint16
	}{
		{"a.B." + id + ".oast.example.", "192.0.2.7", dns.TypeA},
		{id + ".oast.example.", "2001:db8::7", dns.TypeAAAA},
		{id + ".OAST.example.", "mail.oast.example.", dns.TypeMX},
		{"oast.example.", "ns1.oast.example.", dns.TypeNS},
		{"oast.example.", "admin.oast.example.", dns.TypeSOA},
		{"oast.example.", "v=spf1", dns.TypeTXT},
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got := ask(network, one.name, one.qtype); len(got.Answer) == 0 || !strings.Contains(got.Answer[0].String(), one.want) {
				t.Errorf("%s over %s: %v, want %s", one.name, network, got, one.want)
			}
			next(t, s)
		}
	}
	if got := ask("udp", id+".elsewhere.example.", dns.TypeA); got.Rcode != dns.RcodeRefused {
		t.Errorf("another domain: %v", got)
	}
	all := poll(t, c)
	if len(all) != 6 {
		t.Fatalf("%d interactions: %+v", len(all), all)
	}
	if one := all[0]; one.Protocol != "dns" || one.QType != "A" || one.UniqueID != id || one.FullID != "a.b."+id ||
		!strings.Contains(one.RawRequest, "QUESTION SECTION") || !strings.Contains(one.RawResponse, "192.0.2.7") {
		t.Errorf("%+v", one)
	}
}

// A client that takes every offer of TLS and verifies certificates, as net/smtp does, is heard by a server that signed its
// own: it is offered none.
func TestMailOfAClientThatVerifies(t *testing.T) {
	_, at := serve(t, oast.Config{Domain: "oast.example"}, "http", "smtp")
	c := client(t, at[0], "")
	id, _ := c.URL()
	to := []string{"x@" + id + ".oast.example"}
	if err := smtp.SendMail(at[1], nil, "ann@target.example", to, []byte("Subject: hello\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if all := poll(t, c); len(all) != 1 || all[0].UniqueID != id {
		t.Errorf("%+v", all)
	}
}

func TestMail(t *testing.T) {
	s, at := serve(t, oast.Config{Domain: "oast.example", Watch: true}, "http", "smtp", "smtps")
	c := client(t, at[0], "")
	id, _ := c.URL()
	to := []string{"x@" + id + ".oast.example"}
	// Whoever asks for TLS gets it, although it is not offered.
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at[1])
	if err != nil {
		t.Fatal(err)
	}
	m, err := smtp.NewClient(conn, "oast.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return m.StartTLS(&tls.Config{InsecureSkipVerify: true}) },
		func() error { return m.Mail("ann@target.example") },
		func() error { return m.Rcpt(to[0]) },
		func() error {
			w, err := m.Data()
			if err != nil {
				return err
			}
			_, _ = io.WriteString(w, "Subject: hello\r\n\r\n"+strings.Repeat("long ", 1000)+"\r\n.a dot\r\n")
			return w.Close()
		},
		m.Quit,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	next(t, s)
	// Who only asks whether the address exists is recorded, too.
	said := dial(t, at[1], "HELO t\r\nMAIL FROM:<b@t.example>\r\nRCPT TO:<"+to[0]+">\r\nQUIT\r\n", 9)
	if !strings.HasPrefix(said, "220 oast.example ESMTP\r\n250 oast.example\r\n250 fine\r\n250 fine\r\n221 ") {
		t.Errorf("said %q", said)
	}
	next(t, s)
	all := poll(t, c)
	if len(all) != 2 {
		t.Fatalf("%d interactions: %+v", len(all), all)
	}
	if one := all[0]; one.Protocol != "smtp" || one.UniqueID != id || one.SMTPFrom != "ann@target.example" ||
		!strings.Contains(one.RawRequest, "Subject: hello") {
		t.Errorf("%+v", one)
	}
	if one := all[1]; one.SMTPFrom != "b@t.example" || !strings.Contains(one.RawRequest, "RCPT TO:") {
		t.Errorf("%+v", one)
	}
}

// What a JNDI client sends: a bind, a search below "ID/a", an unbind.
func TestLDAPAndFTPAndTCP(t *testing.T) {
	s, at := serve(t, oast.Config{Watch: true}, "http", "ldap", "ftp", "tcp")
	c := client(t, at[0], "")
	id, _ := c.URL()
	base := id + "/a"
	search := append([]byte{0x04, byte(len(base))}, base...)
	search = append(search, 0x0a, 1, 0, 0x0a, 1, 3, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0x87, 11)
	search = append(search, "objectClass0\x00"...)
	search = append([]byte{0x02, 1, 2, 0x63, byte(len(search))}, search...)
	search = append([]byte{0x30, byte(len(search))}, search...)
	bind := []byte{0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at[1])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(append(append(bind, search...), 0x30, 5, 2, 1, 3, 0x42, 0))
	got, _ := io.ReadAll(conn)
	want := []byte{
		0x30, 12, 2, 1, 1, 0x61, 7, 0x0a, 1, 0, 4, 0, 4, 0,
		0x30, 12, 2, 1, 2, 0x65, 7, 0x0a, 1, 0, 4, 0, 4, 0,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("LDAP answers % x", got)
	}
	said := dial(t, at[2], "USER x\r\nPASS y\r\nCWD "+id+"\r\nEPSV\r\nQUIT\r\n", 9)
	if said != "220 ready\r\n331 send any password\r\n230 logged in\r\n250 fine\r\n425 no data connection\r\n221 bye\r\n" {
		t.Errorf("FTP answers %q", said)
	}
	dial(t, at[3], "ping "+id, 0)
	seen := map[string]oast.Interaction{}
	for len(seen) < 3 {
		if one := next(t, s); one.UniqueID != "" {
			seen[one.Protocol] = one
		}
	}
	all := poll(t, c)
	if len(all) != 3 {
		t.Fatalf("%d interactions: %+v", len(all), all)
	}
	if one := seen["ldap"]; one.UniqueID != id || !strings.Contains(one.RawRequest, `Type=Search`) || !strings.Contains(one.RawRequest, base) {
		t.Errorf("%+v", one)
	}
	if one := seen["ftp"]; one.UniqueID != id || !strings.HasSuffix(one.RawRequest, "CWD "+id+"\r\n") {
		t.Errorf("%+v", one)
	}
	if one := seen["tcp"]; one.UniqueID != id || one.RawRequest != "ping "+id {
		t.Errorf("%+v", one)
	}
}

func TestClientsAreRefused(t *testing.T) {
	s, at := serve(t, oast.Config{Token: "a secret", Sessions: 1}, "http")
	if _, err := oast.NewClient(t.Context(), http.DefaultClient, "http://"+at[0], "wrong"); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a wrong token: %v", err)
	}
	c := client(t, at[0], "a secret")
	if _, err := oast.NewClient(t.Context(), http.DefaultClient, "http://"+at[0], "a secret"); err == nil || !strings.Contains(err.Error(), "too many sessions") {
		t.Errorf("one session too many: %v", err)
	}
	for _, one := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"POST", "/register", `{`, "could not decode json body", 400},
		{"POST", "/register", `{"correlation-id":"short","secret-key":"x","public-key":"x"}`, "correlation-id must", 400},
		{"POST", "/register", `{"correlation-id":"c0000000000000000000","public-key":"x"}`, "secret-key must", 400},
		{"POST", "/register", `{"correlation-id":"c0000000000000000000","secret-key":"x","public-key":"x"}`, "public-key is no RSA key", 400},
		{"POST", "/register", `"` + strings.Repeat("x", 1<<20), "too large", 413},
		{"POST", "/deregister", `{"correlation-id":"c0000000000000000000"}`, "could not get correlation-id from cache", 400},
		{"GET", "/register", "", "use POST", 405},
		{"GET", "/poll", "", "no id specified for poll", 400},
		{"GET", "/poll?id=c0000000000000000000", "", "no secret specified for poll", 400},
		{"GET", "/poll?id=c0000000000000000000&secret=x", "", "could not get correlation-id from cache", 400},
	} {
		r := httptest.NewRequest(one.method, one.path, strings.NewReader(one.body))
		r.Header.Set("Authorization", "a secret")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var got struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != one.status || !strings.Contains(got.Error, one.want) {
			t.Errorf("%s %s %.60s: %d %s, want %d %s", one.method, one.path, one.body, w.Code, w.Body, one.status, one.want)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Poll(t.Context()); !errors.Is(err, oast.ErrSession) {
		t.Errorf("a poll after the end: %v", err)
	}
	client(t, at[0], "a secret")
}

func TestWrongListenersAreRefused(t *testing.T) {
	s, _ := serve(t, oast.Config{})
	for _, where := range []string{"", ":80", "http://", "http://host", "gopher://:70", "http://127.0.0.1:99999"} {
		if _, err := s.Listen(where); err == nil {
			t.Errorf("%q is taken", where)
		}
	}
	if _, err := oast.NewServer(oast.Config{Domain: "a..b"}); err == nil {
		t.Error("a wrong domain is taken")
	}
}

// A flood for one session leaves room for the others, and is counted.
func TestAFloodKeepsTheFirst(t *testing.T) {
	s, at := serve(t, oast.Config{Bytes: 64 << 10}, "http")
	flooded, honest := client(t, at[0], ""), client(t, at[0], "")
	send := func(c *oast.Client, path string) {
		id, _ := c.URL()
		r := httptest.NewRequest(http.MethodGet, "/"+id+path, nil)
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	for i := range 100 {
		send(flooded, fmt.Sprintf("/%d", i))
	}
	send(honest, "")
	all := poll(t, flooded)
	dropped, _ := s.Dropped()
	if len(all) == 0 || len(all)+dropped != 100 || !strings.Contains(all[0].RawRequest, "/0 HTTP") {
		t.Errorf("%d kept, %d dropped", len(all), dropped)
	}
	if len(poll(t, honest)) != 1 {
		t.Error("the honest one lost its interaction")
	}
	send(flooded, "/again")
	if len(poll(t, flooded)) != 1 {
		t.Error("after a poll there is no room")
	}
}

// 1,000 targets at once, each with an identifier of its own, in sessions of several clients: nothing is lost, and
// nothing is given to another.
func TestNothingIsAttributedToAnother(t *testing.T) {
	s, at := serve(t, oast.Config{Domain: "oast.example"}, "http", "dns")
	clients := make([]*oast.Client, 10)
	for i := range clients {
		clients[i] = client(t, at[0], "")
	}
	owner, marks := map[string]*oast.Client{}, map[string]string{}
	for i := range 1000 {
		c := clients[i%len(clients)]
		id, _ := c.URL()
		owner[id], marks[id] = c, fmt.Sprintf("mark-%d-", i)
	}
	if len(owner) != 1000 {
		t.Fatal("an identifier was made twice")
	}
	var all sync.WaitGroup
	for id, mark := range marks {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/"+mark, nil)
			r.Host = mark + "." + id + ".oast.example"
			s.ServeHTTP(httptest.NewRecorder(), r)
			r = httptest.NewRequest(http.MethodGet, "/"+id+"/"+mark, nil)
			s.ServeHTTP(httptest.NewRecorder(), r)
			s.ServeDNS(sink{}, new(dns.Msg).SetQuestion(mark+"."+id+".oast.example.", dns.TypeA))
		})
	}
	all.Wait()
	got := map[string]int{}
	for _, c := range clients {
		for _, one := range poll(t, c) {
			if owner[one.UniqueID] != c || !strings.Contains(one.RawRequest, marks[one.UniqueID]) {
				t.Fatalf("attributed to the wrong one: %+v", one)
			}
			got[one.UniqueID]++
		}
	}
	for id := range owner {
		if got[id] != 3 {
			t.Fatalf("%d of 3 interactions of %s", got[id], id)
		}
	}
}

// sink is the other side of a question, which throws the answer away.
type sink struct{ dns.ResponseWriter }

func (sink) RemoteAddr() net.Addr    { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5353} }
func (sink) WriteMsg(*dns.Msg) error { return nil }
