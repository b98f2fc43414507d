package recorded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
)

// ErrNoResponse is the error about a text that is no response; callers say which.
var ErrNoResponse = errors.New("holds no HTTP response")

// Stored is an HTTP response as it was kept, with its request if that comes before it.
type Stored struct{ Request, Response []byte }

var (
	statusLine = regexp.MustCompile(`(?m)^HTTP/[0-9](\.[0-9])? [0-9]{3}`)
	framing    = regexp.MustCompile(`(?im)^(content-length|transfer-encoding|connection|trailer):[^\n]*\n`)
)

// ReadStored reads an HTTP message as text: a response, which a request may precede. The response is framed anew, so
// that its body is what the text has, whatever its header says of length and chunks.
func ReadStored(text []byte) (Stored, error) {
	at := statusLine.FindIndex(text)
	if at == nil {
		return Stored{}, ErrNoResponse
	}
	request, response := bytes.TrimSpace(text[:at[0]]), text[at[0]:]
	head, body := response, []byte(nil)
	if end := headEnd.FindIndex(response); end != nil {
		head, body = response[:end[0]], response[end[1]:]
	}
	line, fields, _ := bytes.Cut(head, []byte("\n"))
	_, status, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	if decoded, err := decodeStored(response); err == nil {
		body = decoded
	}
	fields = append(bytes.TrimSpace(fields), '\n')
	fields = bytes.TrimSpace(framing.ReplaceAll(fields, nil))
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %s\r\n", status)
	for field := range bytes.Lines(fields) {
		out.Write(append(bytes.TrimRight(field, "\r\n"), "\r\n"...))
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	return Stored{request, out.Bytes()}, nil
}

// headEnd is the empty line after a head.
var headEnd = regexp.MustCompile(`\r?\n\r?\n`)

// decodeStored is the body of a response whose header frames it truly: of its length, or in chunks.
func decodeStored(response []byte) ([]byte, error) {
	if at := statusLine.FindSubmatchIndex(response); at[2] < 0 { // "HTTP/2 200": net/http wants a minor version
		response = slices.Concat(response[:len("HTTP/2")], []byte(".0"), response[len("HTTP/2"):])
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if len(r.TransferEncoding) == 0 && r.ContentLength < 0 {
		return nil, io.ErrUnexpectedEOF // the body is the rest of the file
	}
	return io.ReadAll(r.Body)
}
