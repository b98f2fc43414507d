// Package sockstest has proxies on loopback for tests: SOCKS5, and HTTP with CONNECT. They record what they were asked
// for, and the addresses from which they connected.
package sockstest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
)

// Server is a proxy. With a user it requires that one and the password.
type Server struct {
	Addr string // host:port

	user, password string

	mu    sync.Mutex
	asked []string // targets as they were sent: an address and a port, or name:port
	used  []string // local addresses of the connections to targets
}

// Start serves SOCKS5 until the test ends.
func Start(t testing.TB, user, password string) *Server {
	t.Helper()
	return start(t, user, password, (*Server).serve)
}

// StartHTTP serves CONNECT until the test ends.
func StartHTTP(t testing.TB, user, password string) *Server {
	t.Helper()
	return start(t, user, password, (*Server).serveHTTP)
}

func start(t testing.TB, user, password string, serve func(*Server, net.Conn) error) *Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &Server{Addr: l.Addr().String(), user: user, password: password}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = serve(s, conn)
			}()
		}
	}()
	return s
}

// Asked are the targets that clients asked for.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Made reports whether a connection came from the proxy: its address as the target sees it.
func (s *Server) Made(remote string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.used, remote)
}

func (s *Server) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	if err := s.greet(conn, in); err != nil {
		return err
	}
	target, err := readTarget(in)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.asked = append(s.asked, target)
	s.mu.Unlock()
	out, err := s.connect(target)
	if err != nil {
		_, err = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	defer out.Close()
	if _, err := conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	return join(conn, in, out)
}

// serveHTTP answers one CONNECT.
func (s *Server) serveHTTP(conn net.Conn) error {
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	login := "Basic " + base64.StdEncoding.EncodeToString([]byte(s.user+":"+s.password))
	if s.user != "" && req.Header.Get("Proxy-Authorization") != login {
		_, err := io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		return err
	}
	if req.Method != http.MethodConnect {
		_, err := io.WriteString(conn, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
		return err
	}
	s.mu.Lock()
	s.asked = append(s.asked, req.Host)
	s.mu.Unlock()
	out, err := s.connect(req.Host)
	if err != nil {
		_, err = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return err
	}
	defer out.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		return err
	}
	return join(conn, in, out)
}

// join copies both ways until the target has ended.
func join(conn net.Conn, in io.Reader, out net.Conn) error {
	go func() {
		_, _ = io.Copy(out, in)
		if t, ok := out.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	}()
	_, err := io.Copy(conn, out)
	return err
}

// connect holds the lock until the address is recorded: the target may ask Made at once.
func (s *Server) connect(target string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err == nil {
		s.used = append(s.used, out.LocalAddr().String())
	}
	return out, err
}

// greet agrees on a method and reads the credentials.
func (s *Server) greet(conn net.Conn, in io.Reader) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(in, methods); err != nil {
		return err
	}
	method := byte(0)
	if s.user != "" {
		method = 2
	}
	if !bytes.Contains(methods, []byte{method}) {
		_, _ = conn.Write([]byte{5, 0xff})
		return io.EOF
	}
	if _, err := conn.Write([]byte{5, method}); err != nil || method == 0 {
		return err
	}
	var sent [2][]byte
	length := make([]byte, 2)
	if _, err := io.ReadFull(in, length[:1]); err != nil {
		return err
	}
	for i := range sent {
		if _, err := io.ReadFull(in, length[1:]); err != nil {
			return err
		}
		sent[i] = make([]byte, length[1])
		if _, err := io.ReadFull(in, sent[i]); err != nil {
			return err
		}
	}
	if string(sent[0]) != s.user || string(sent[1]) != s.password {
		_, _ = conn.Write([]byte{1, 1})
		return io.EOF
	}
	_, err := conn.Write([]byte{1, 0})
	return err
}

// readTarget reads a request to connect.
func readTarget(in io.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return "", err
	}
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	if head[3] == 3 {
		length := make([]byte, 1)
		if _, err := io.ReadFull(in, length); err != nil {
			return "", err
		}
		size = int(length[0])
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(in, rest); err != nil {
		return "", err
	}
	port := binary.BigEndian.Uint16(rest[size:])
	if a, ok := netip.AddrFromSlice(rest[:size]); ok && head[3] != 3 {
		return netip.AddrPortFrom(a, port).String(), nil
	}
	return net.JoinHostPort(string(rest[:size]), netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()[8:]), nil
}
