package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/projectdiscovery/nuclei/v3/pkg/protocols/common/expressions"
)

// patience is the read timeout within a request.
const patience = 2 * time.Second

// Serve answers connections until the listener is closed.
func (s *Site) Serve(l net.Listener) {
	serve(l, func(method, target, head, body string) []byte {
		a, known := s.Answer(method, target, head, body)
		if !known {
			a = missing()
		}
		s.note(method, target, body, a.Status)
		time.Sleep(a.Delay)
		return s.wire(&a, method, l.Addr().String())
	})
}

// Serve answers connections until the listener is closed, without delays.
func (c *Crowd) Serve(l net.Listener) {
	fallback := &Site{}
	serve(l, func(method, target, head, body string) []byte {
		s := c.site(method, target, body)
		if s != nil {
			if a, known := s.Answer(method, target, head, body); known {
				return s.wire(&a, method, l.Addr().String())
			}
		}
		a := missing()
		return fallback.wire(&a, method, l.Addr().String())
	})
}

func missing() Answer {
	text := "404 page not found"
	return Answer{Status: http.StatusNotFound, Headers: []pair{{"Content-Type", "text/plain"}}, Exact: &text}
}

func serve(l net.Listener, answer func(method, target, head, body string) []byte) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go connection(conn, answer)
		}
	}
}

func connection(conn net.Conn, answer func(method, target, head, body string) []byte) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := in.Peek(1); err != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		method, target, head, body := request(in)
		if method == "" {
			return
		}
		if _, err := conn.Write(answer(method, target, head, body)); err != nil {
			return
		}
		if strings.Contains(strings.ToLower(head), "connection: close") {
			return
		}
	}
}

// request reads one request, tolerating malformed ones.
func request(in *bufio.Reader) (method, target, head, body string) {
	line, _ := in.ReadString('\n')
	for line == "\r\n" || line == "\n" {
		line, _ = in.ReadString('\n')
	}
	method, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	target = rest
	if i := strings.LastIndex(rest, " "); i >= 0 {
		target = rest[:i]
	}
	if m := absolute.FindString(target); m != "" {
		target = target[len(m):]
	}
	var lines strings.Builder
	length, chunked := 0, false
	for {
		line, err := in.ReadString('\n')
		trimmed := strings.TrimRight(line, "\r\n")
		if err != nil || trimmed == "" {
			break
		}
		lines.WriteString(trimmed + "\n")
		name, value, _ := strings.Cut(trimmed, ":")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "content-length":
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		case "transfer-encoding":
			chunked = strings.Contains(strings.ToLower(value), "chunked")
		}
	}
	if chunked {
		return method, target, lines.String(), unchunk(in)
	}
	text := make([]byte, max(0, min(length, 1<<24)))
	n, _ := io.ReadFull(in, text)
	return method, target, lines.String(), string(text[:n])
}

func unchunk(in *bufio.Reader) string {
	var body strings.Builder
	for {
		line, err := in.ReadString('\n')
		size, bad := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil || bad != nil || size <= 0 {
			_, _ = textproto.NewReader(in).ReadLine()
			return body.String()
		}
		_, _ = io.CopyN(&body, in, size)
		_, _ = in.ReadString('\n')
	}
}

func (s *Site) wire(a *Answer, method, host string) []byte {
	vars := s.values(host)
	fill := func(text string) string {
		if !strings.Contains(text, "{{") && !strings.Contains(text, "§") {
			return text
		}
		filled, err := expressions.Evaluate(text, vars)
		if err != nil && filled == "" {
			return text
		}
		return filled
	}
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if _, ok := a.header("Content-Type"); !ok {
		kind := "text/html"
		if slices.ContainsFunc(a.avoid, func(text string) bool {
			return strings.Contains("content-type: text/html",
				strings.ToLower(text))
		}) {
			kind = "text/plain"
		}
		if a.JSON != nil {
			kind = "application/json"
		}
		out.WriteString("Content-Type: " + kind + "\r\n")
	}
	for _, h := range a.Headers {
		value := strings.NewReplacer("\r", "", "\n", " ", "\x00", "").Replace(fill(h.Value))
		out.WriteString(h.Name + ": " + value + "\r\n")
	}
	body := fill(a.body())
	if status < 200 || status == http.StatusNoContent || status == http.StatusNotModified {
		body = ""
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n", len(body))
	if method != http.MethodHead {
		out.WriteString(body)
	}
	return out.Bytes()
}

// values are the values of placeholders in answers: the host's variables, the template's, and values
// from requests, which take precedence.
func (s *Site) values(host string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, port, _ := net.SplitHostPort(host)
	root := "http://" + host
	all := map[string]any{"BaseURL": root, "RootURL": root, "Hostname": host, "Host": name, "Port": port, "Scheme": "http",
		"Path": "", "File": "", "FQDN": name, "Input": root}
	if s.Template != nil {
		for _, c := range s.Template.Constants {
			all[c.Name] = c.Value
		}
		for _, v := range s.Template.Variables {
			if seen, ok := s.vars[v.Name]; ok {
				all[v.Name] = seen
				continue
			}
			if value, err := expressions.Evaluate(v.Value, all); err == nil {
				all[v.Name] = value
			}
		}
	}
	maps.Copy(all, s.vars)
	return all
}
