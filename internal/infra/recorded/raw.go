package recorded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxQuoted bounds what an error repeats.
const maxQuoted = 60

// connectionHeaders belong to a connection, or say how the body was framed and coded there.
var connectionHeaders = map[string]bool{
	"connection": true, "proxy-connection": true, "keep-alive": true, "transfer-encoding": true, "content-length": true,
	"accept-encoding": true, "te": true, "trailer": true, "upgrade": true, "expect": true,
}

// parseRaw parses a request as text: a request line, header lines, an empty line and a body. at is its URL; "" means
// that of the request line and the Host line.
func parseRaw(raw, at string) (Request, error) {
	line, rest := cutLine(strings.TrimLeft(raw, "\r\n"))
	parts := strings.Fields(line)
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && !strings.HasPrefix(parts[2], "HTTP/") {
		return Request{}, fmt.Errorf("%q is not a request line such as \"GET /path HTTP/1.1\"", errs.Clip(line, maxQuoted))
	}
	q := Request{Method: parts[0], URL: at}
	host, length, chunked, ended := "", -1, false, false
	for rest != "" {
		if line, rest = cutLine(rest); line == "" {
			ended = true
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if pseudo := name == "" && ok; pseudo { // of HTTP/2, such as :authority
			continue
		}
		if !ok || !isToken(strings.TrimRight(name, " \t")) {
			return q, fmt.Errorf("%q is not a header line", errs.Clip(line, maxQuoted))
		}
		name, value = strings.TrimRight(name, " \t"), strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "host":
			if host == "" {
				host = value
			}
		case "content-length":
			length, _ = strconv.Atoi(value)
		case "transfer-encoding":
			chunked = strings.EqualFold(value, "chunked")
		}
		q.header(name, value)
	}
	if ended {
		q.Body = bodyOf(rest, length, chunked)
	}
	if q.URL == "" {
		q.URL = urlOf(parts[1], host)
	}
	if q.URL == "" {
		return q, errors.New("it names no host: neither its request line nor a Host line does")
	}
	q.dropHost(host)
	return q, nil
}

// header adds a header unless it belongs to the connection.
func (q *Request) header(name, value string) {
	if !connectionHeaders[strings.ToLower(name)] {
		q.Headers = append(q.Headers, Header{Name: name, Value: value})
	}
}

// dropHost removes the Host lines when they only repeat the URL.
func (q *Request) dropHost(host string) {
	l, err := locate(q.URL)
	if err != nil || host != "" && !strings.EqualFold(l.host, host) {
		return
	}
	kept := q.Headers[:0]
	for _, h := range q.Headers {
		if !strings.EqualFold(h.Name, "Host") {
			kept = append(kept, h)
		}
	}
	q.Headers = kept
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// bodyOf is the body of a text. Editors end the last line of a file, so one line break more than the header says, or
// where it says nothing, is no part of it.
func bodyOf(text string, length int, chunked bool) []byte {
	if chunked {
		in := io.LimitReader(httputil.NewChunkedReader(strings.NewReader(text)), maxBody+1)
		if plain, err := io.ReadAll(in); err == nil {
			return plain
		}
	}
	if length >= 0 && length <= len(text) && strings.TrimRight(text[length:], "\r\n") == "" {
		return nonEmpty(text[:length])
	}
	return nonEmpty(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
}

func nonEmpty(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// urlOf is the URL of a request target and a Host line; without a scheme unless the target has one.
func urlOf(target, host string) string {
	if strings.Contains(target, "://") && !strings.HasPrefix(target, "/") {
		return target
	}
	if host == "" {
		return ""
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return host + target
}

// rawSeparator begins the next request in a file of several, as in files of editors for HTTP.
const rawSeparator = "###"

// readRaw reads requests as text. Lines that begin with ### stand between them.
func readRaw(r *reader) error {
	var current bytes.Buffer
	begin, number := 1, 0
	flush := func() error {
		text := current.String()
		current.Reset()
		if strings.TrimSpace(text) == "" {
			return nil
		}
		for strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "\r\n") {
			text, begin = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n"), begin+1
		}
		q, err := parseRaw(text, "")
		return r.add(fmt.Sprintf("%s:%d", r.file, begin), q, err)
	}
	for line := range bytes.Lines(r.text) {
		if number++; !bytes.HasPrefix(line, []byte(rawSeparator)) {
			current.Write(line)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		begin = number + 1
	}
	return flush()
}

// fromParts makes a request of a URL, a method, headers by name and a body.
func fromParts(method, at string, headers []Header, body []byte) (Request, error) {
	q := Request{URL: at, Method: method, Body: body}
	if len(body) == 0 {
		q.Body = nil
	}
	if q.Method == "" {
		q.Method = "GET"
	}
	if _, err := url.Parse(at); at == "" || err != nil {
		return q, fmt.Errorf("%q is not a URL", errs.Clip(at, maxQuoted))
	}
	host := ""
	for _, h := range headers {
		if strings.HasPrefix(h.Name, ":") {
			continue
		}
		if !isToken(h.Name) || strings.ContainsAny(h.Value, "\r\n\x00") {
			return q, fmt.Errorf("%q is not a header", errs.Clip(h.Name, maxQuoted))
		}
		if strings.EqualFold(h.Name, "Host") {
			host = h.Value
		}
		q.header(h.Name, h.Value)
	}
	q.dropHost(host)
	return q, nil
}
