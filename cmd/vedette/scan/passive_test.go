package scan

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// A stored response is read however it was kept: with or without its request, of any version of HTTP, and framed as its
// header says or not.
func TestReadStored(t *testing.T) {
	for name, c := range map[string]struct{ text, body, request string }{
		"plain":        {"HTTP/1.1 200 OK\r\nServer: x\r\n\r\nhello", "hello", ""},
		"only newline": {"HTTP/1.1 200 OK\nServer: x\n\nhello", "hello", ""},
		"with request": {"GET /a HTTP/1.1\r\nHost: h\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n\r\nhello", "hello",
			"GET /a HTTP/1.1\r\nHost: h"},
		"keyword in the body": {"HTTP/1.1 200 OK\r\nServer: x\r\n\r\nHTTP/1.1 is old", "HTTP/1.1 is old", ""},
		"http/2":              {"HTTP/2 200\r\nserver: x\r\n\r\nhello", "hello", ""},
		"chunks":              {"HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", ""},
		"chunks, decoded":     {"HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\r\nhello", "hello", ""},
		"cut off":             {"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 99\r\n\r\nhello", "hello", ""},
		"longer":              {"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello\n", "hello", ""},
		"no body":             {"HTTP/1.1 200 OK\r\nServer: x", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "response.txt")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readStored(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got.Response)), nil)
		if err != nil {
			t.Errorf("%s: %v in %q", name, err, got.Response)
			continue
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != c.body || r.StatusCode != 200 || r.Header.Get("Server") != "x" ||
			string(got.Request) != c.request {
			t.Errorf("%s: %v %q, request %q", name, err, got.Response, got.Request)
		}
	}
	for name, text := range map[string]string{"empty": "", "no response": "GET / HTTP/1.1\r\n\r\n"} {
		file := filepath.Join(t.TempDir(), "response.txt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readStored(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzReadStored(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/2 200\n\n"))
	f.Add([]byte("HTTP/2 200"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "response.txt")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readStored(file); err == nil {
			r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got.Response)), nil)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			if err != nil && bytes.Contains(got.Response, []byte("\r\nContent-Length: ")) && r != nil {
				t.Errorf("%v: %q", err, got.Response)
			}
		}
	})
}
