package whois_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/whois"
)

// serve answers one question on loopback, unless answer is nil: then it says nothing and
// keeps the connection open.
func serve(t *testing.T, answer func(question string) string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		question, _ := bufio.NewReader(conn).ReadString('\n')
		if answer == nil {
			<-done
			return
		}
		_, _ = conn.Write([]byte(answer(question)))
	}()
	return l.Addr().String()
}

func TestAsk(t *testing.T) {
	dial := (&net.Dialer{}).DialContext
	for name, c := range map[string]struct {
		answer, want string
		err          error
	}{
		"text":    {"domain: x\r\n", "domain: x\r\n", nil},
		"Latin-1": {"name: M\xfcller", "name: Müller", nil},
		"nothing": {"", "", whois.ErrEmpty},
		"long":    {strings.Repeat("x", 101), strings.Repeat("x", 100), whois.ErrTruncated},
	} {
		text, err := whois.Query(t.Context(), dial, serve(t, func(question string) string {
			if question != "who is x\r\n" {
				t.Errorf("asked %q", question)
			}
			return c.answer
		}), "who is x", 100)
		if text != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := whois.Query(ctx, dial, serve(t, nil), "who is x", 100); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that says nothing: %v", err)
	}
}
