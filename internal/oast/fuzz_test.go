package oast

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func small(tb testing.TB) *Server {
	tb.Helper()
	s, err := NewServer(Config{Domain: "oast.example", Sessions: 4, Bytes: 1 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func FuzzFind(f *testing.F) {
	id := strings.Repeat("c", CorrelationLength) + strings.Repeat("n", NonceLength)
	f.Add("a.b." + id + ".oast.example")
	f.Add("/" + strings.ToUpper(id) + "?x=" + id + id)
	f.Fuzz(func(t *testing.T, text string) {
		all := find(text, func(c string) bool { return strings.HasPrefix(c, "cc") })
		if len(all) > maxIDs {
			t.Fatalf("%d identifiers", len(all))
		}
		for _, one := range all {
			if len(one.id) != idLength || !strings.Contains(strings.ToLower(text), one.id) || !strings.Contains(one.full, one.id) {
				t.Fatalf("%q is not in %q", one, text)
			}
		}
	})
}

func FuzzRegister(f *testing.F) {
	f.Add(`{"public-key":"LS0t","secret-key":"s","correlation-id":"c0000000000000000000"}`)
	f.Add(`[]`)
	s := small(f)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/register", "/deregister"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
				t.Fatalf("%s answers %d", path, w.Code)
			}
		}
	})
}

func FuzzLDAP(f *testing.F) {
	f.Add([]byte{0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0})
	f.Add([]byte{0x30, 0x84, 0, 0, 0, 5, 2, 1, 3, 0x42, 0})
	f.Add([]byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 2, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		content, err := readBER(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		m, err := parseLDAP(content)
		if err == nil && (len(m.id) == 0 || len(m.text()) == 0) {
			t.Fatalf("%+v", m)
		}
	})
}

func FuzzDNS(f *testing.F) {
	raw, err := new(dns.Msg).SetQuestion("x.oast.example.", dns.TypeANY).Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	s := small(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := new(dns.Msg)
		if in.Unpack(raw) != nil {
			return
		}
		out, err := s.reply(in).Pack()
		if err == nil && len(out) > len(raw)+512 {
			t.Fatalf("%d bytes are answered to %d", len(out), len(raw))
		}
	})
}

// fixed is a connection on which everything has been sent already.
type fixed struct {
	io.Reader
	io.Writer
}

func (fixed) Close() error                     { return nil }
func (fixed) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (fixed) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (fixed) SetDeadline(time.Time) error      { return nil }
func (fixed) SetReadDeadline(time.Time) error  { return nil }
func (fixed) SetWriteDeadline(time.Time) error { return nil }

func FuzzSMTPAndFTP(f *testing.F) {
	f.Add("EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nhello\r\n.\r\nQUIT\r\n")
	f.Add("USER a\nCWD b\nSTARTTLS\r\nRSET")
	s := small(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, serve := range []func(net.Conn){s.serveSMTP, s.serveFTP, s.serveTCP} {
			var said bytes.Buffer
			serve(fixed{strings.NewReader(text), &said})
			if said.Len() > 200*maxTurns {
				t.Fatalf("%d bytes are answered to %d", said.Len(), len(text))
			}
		}
	})
}

func TestSessionsAreEvicted(t *testing.T) {
	s := small(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.store.now = func() time.Time { return now }
	s.store.keep = time.Hour
	put := func(id string) {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		if !s.store.room() {
			t.Fatalf("no room for %s", id)
		}
		s.store.sessions[id] = &session{secret: "s", seen: now}
	}
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		ids[i] = strings.Repeat(id, CorrelationLength)
		put(ids[i])
	}
	s.store.add(Interaction{UniqueID: ids[0] + strings.Repeat("n", NonceLength)})
	if s.store.size == 0 {
		t.Fatal("nothing is stored")
	}
	s.store.mu.Lock()
	if s.store.room() {
		t.Error("a session that is in use was replaced")
	}
	s.store.sessions[ids[0]].seen = now.Add(-busy - 1)
	s.store.mu.Unlock()
	put("new")
	if s.store.known(ids[0]) || s.store.size != 0 {
		t.Errorf("the idle session is still there: %d bytes", s.store.size)
	}
	now = now.Add(time.Hour + 1)
	s.store.evict()
	if len(s.store.sessions) != 0 {
		t.Errorf("%d sessions are too old", len(s.store.sessions))
	}
}
