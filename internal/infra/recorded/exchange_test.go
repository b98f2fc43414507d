package recorded_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

func TestReadExchange(t *testing.T) {
	for name, c := range map[string]struct{ text, want, response string }{
		"a request": {"POST /a?b=c HTTP/1.1\nHost: x.example\nX-A: b\n\nbody", "POST http://x.example/a?b=c [X-A: b] body", ""},
		"with its response": {"GET / HTTP/1.1\r\nHost: x.example\r\n\r\nHTTP/1.1 201 Created\r\n\r\nyes",
			"GET http://x.example/ []", "HTTP/1.1 201 Created\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes"},
		"curl": {`curl 'https://x.example/a' -XPUT -H 'X-A: b' \` + "\n" + ` --data-raw $'a\'b' -sk --compressed`,
			"PUT https://x.example/a [X-A: b; Content-Type: application/x-www-form-urlencoded] a'b", ""},
		"curl, more": {`curl --url x.example/q?z=1 -G -d a=1 --data-urlencode "b=c d" -b "s=1" -u "a:b"`,
			"GET http://x.example/q?z=1&a=1&b=c+d [Cookie: s=1; Authorization: Basic YTpi]", ""},
		"curl, json": {`curl "https://x.example/" --json "{\"a\": \"\$b\"}"`,
			`POST https://x.example/ [Content-Type: application/json; Accept: application/json] {"a": "$b"}`, ""},
		"curl, head": {`curl -I https://x.example/`, "HEAD https://x.example/ []", ""},
		"an entry": {`{"request": {"method": "GET", "url": "https://x.example/", "headers": [{"name": "X-A", "value": "b"}]},
			"response": {"status": 404, "statusText": "Not\nFound", "headers": [{"name": "Content-Length", "value": "9"}],
			"content": {"text": "no"}}}`, "GET https://x.example/ [X-A: b]",
			"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"},
		"an event": {`{"template-id": "a", "request": "GET /a HTTP/1.1\r\nHost: x.example\r\n\r\n", "response": "HTTP/1.1 200 OK\r\n\r\n1"}`,
			"GET http://x.example/a []", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1"},
	} {
		x, err := recorded.ReadExchange([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		headers := make([]string, len(x.Headers))
		for i, h := range x.Headers {
			headers[i] = h.Name + ": " + h.Value
		}
		got := strings.TrimSpace(x.Method + " " + x.URL + " [" + strings.Join(headers, "; ") + "] " + string(x.Body))
		if got != c.want || string(x.Response) != c.response {
			t.Errorf("%s: %s, not %s; response %q", name, got, c.want, x.Response)
		}
	}
	for _, text := range []string{"", "hello", "{}", `{"log": {"entries": []}}`, "[1]", `{"request": 7}`, "curl ", "curl 'x",
		"curl --form a=b http://x/", "curl -d @file http://x/", "curl http://x/ http://y/", "curl -H",
		"HTTP/1.1 200 OK\r\n\r\n", `{"request": {"method": "A B", "url": ""}}`} {
		if x, err := recorded.ReadExchange([]byte(text)); err == nil {
			t.Errorf("%q became %+v", text, x)
		}
	}
}

func FuzzReadExchange(f *testing.F) {
	f.Add([]byte(`curl 'https://x.example/a' -XPUT -H "X-A: \"b" --data-raw $'a\'b'`))
	f.Add([]byte(`{"log": {"entries": [{"request": {"method": "GET", "url": "https://a/"}, "response": {"status": 200}}]}}`))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = recorded.ReadExchange(text) })
}
