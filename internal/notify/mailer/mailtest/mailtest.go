// Package mailtest is a mail server on loopback for tests. It takes what is sent to it and delivers nothing.
package mailtest

import (
	"bufio"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"strings"
	"testing"
)

// Mail is what the server took.
type Mail struct {
	From string   // of the envelope
	To   []string // of the envelope
	Head string   // the header, as it was sent
	Text string   // decoded
}

// Start serves until the test ends. Its address is host:port.
func Start(t testing.TB) (address string, mails <-chan Mail) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan Mail, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go talk(conn, got)
		}
	}()
	return l.Addr().String(), got
}

// talk takes mails from a client: enough SMTP for one without TLS and authentication.
func talk(conn net.Conn, got chan<- Mail) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	answer := func(text string) { fmt.Fprint(conn, text+"\r\n") } // a client that has gone is noticed by the next read
	answer("220 here")
	var m Mail
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb := strings.ToUpper(line)
		switch {
		case strings.HasPrefix(verb, "MAIL FROM:"):
			m = Mail{From: inside(line)}
		case strings.HasPrefix(verb, "RCPT TO:"):
			m.To = append(m.To, inside(line))
		case strings.HasPrefix(verb, "DATA"):
			answer("354 go")
			if m.Head, m.Text, err = content(r); err != nil {
				return
			}
			got <- m
		case strings.HasPrefix(verb, "QUIT"):
			answer("221 bye")
			return
		}
		answer("250 ok")
	}
}

// inside is what a line has between < and >.
func inside(line string) string {
	_, rest, _ := strings.Cut(line, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}

func content(r *bufio.Reader) (head, text string, err error) {
	var all strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		if line == ".\r\n" {
			break
		}
		all.WriteString(strings.TrimPrefix(line, "."))
	}
	head, coded, _ := strings.Cut(all.String(), "\r\n\r\n")
	plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(coded)))
	return head, string(plain), err
}
