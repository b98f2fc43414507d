package app

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestClientsKeepToTheirShare: one connection too many takes the place of the one that has been idle for longest; where
// all have a request under way, it is refused in words.
func TestClientsKeepToTheirShare(t *testing.T) {
	t.Parallel()
	c := clientConns{most: func() int { return 2 }}
	open := func() (ours, theirs net.Conn) {
		ours, theirs = net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		return ours, theirs
	}
	isClosed := func(conn net.Conn) bool { return conn.SetDeadline(time.Time{}) != nil }
	one, _ := open()
	two, _ := open()
	three, _ := open()
	c.note(one, http.StateNew)
	c.note(two, http.StateNew)
	c.note(one, http.StateActive)
	c.note(one, http.StateIdle) // later than two
	c.note(three, http.StateNew)
	if isClosed(one) || !isClosed(two) || isClosed(three) {
		t.Error("the longest idle one is to be closed, and no other")
	}
	c.note(two, http.StateClosed)
	c.note(one, http.StateActive)
	c.note(three, http.StateActive)
	four, theirs := open()
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(theirs)
		said <- string(text)
	}()
	c.note(four, http.StateNew)
	text := <-said
	resp, body, _ := strings.Cut(text, "\r\n\r\n")
	if !strings.HasPrefix(resp, "HTTP/1.1 503 ") || !strings.Contains(resp, "Retry-After: 5") || len(body) != 66 ||
		isClosed(one) || isClosed(three) {
		t.Errorf("refused with %q", text)
	}
	c.note(four, http.StateClosed)
	c.note(three, http.StateClosed)
	five, _ := open()
	if c.note(five, http.StateNew); isClosed(five) || isClosed(one) {
		t.Error("an ended connection still counts")
	}
}
