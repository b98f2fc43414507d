// Package recorded reads HTTP requests that other tools have written down, for tests to change: exports of Burp, logs
// of proxies as JSON lines or YAML, HAR, descriptions of APIs (OpenAPI 3, Swagger 2), collections of Postman, and plain
// text.
//
// Each format is taken apart into entries; an entry is a URL and a request as text, or the parts of one. What belongs
// to a connection and not to the request (its length, coding of transfer, compression) is dropped, because every
// request is framed anew. An entry that cannot be read is an error that names the file and the place, or is left out
// and listed when Options.Lenient says so. Equal requests are kept once. A description of an API can also be read as
// operations (ReadAPI), each of which makes its request with what the answers before it taught (Values).
package recorded

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Limits of what is read.
const (
	MaxFile     = 64 << 20
	maxRequests = 100_000
	maxBody     = 8 << 20
	maxHeaders  = 200
	maxDepth    = 100 // of JSON
)

// Formats are the formats that Read knows.
var formats = map[string]func(*reader) error{
	"burp": readBurp, "jsonl": readJSONL, "yaml": readYAML, "openapi": readOpenAPI, "swagger": readSwagger,
	"postman": readPostman, "raw": readRaw, "har": readHAR,
}

// Formats are the names of the formats, sorted.
func Formats() []string {
	names := make([]string, 0, len(formats))
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Options say how to read.
type Options struct {
	Vars         map[string]string // of descriptions of APIs and of collections
	RequiredOnly bool              // parameters of descriptions
	Lenient      bool              // leave out entries with a fault, and make up values that are missing
	Base         string            // URL that servers of a description may be relative to
	Hosts        []string          // that servers of a description may name, with an unusual port; nil for all
	Values       *Values           // what was learned about the application; may be nil
}

// Request is one recorded request.
type Request struct {
	URL     string // of http or https; without a scheme where the record has none
	Method  string
	Headers []Header
	Body    []byte
}

// Header is one line of a header.
type Header struct{ Name, Value string }

// Result is what was read.
type Result struct {
	Requests []Request
	LeftOut  []string // why, with file and place; only with Options.Lenient
	Missing  []string // names of values that have none; all others of Result are empty unless Options.Lenient
}

// reader collects the requests of one file.
type reader struct {
	file   string
	text   []byte
	opts   Options
	result Result
	seen   map[string]bool
	size   int

	counted, lines int // bytes, and the lines in them
}

// Read reads a file of a format. Errors are for people, and name the file and the place in it.
func Read(format, file string, from io.Reader, o Options) (*Result, error) {
	read, ok := formats[format]
	if !ok {
		return nil, errs.Field("input-mode", "%q is none of %s.", errs.Clip(format, 40), strings.Join(Formats(), ", "))
	}
	text, err := io.ReadAll(io.LimitReader(from, MaxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(text) > MaxFile:
		return nil, fmt.Errorf("%s: it has more than %d bytes", file, MaxFile)
	case strings.TrimSpace(string(text)) == "":
		return nil, fmt.Errorf("%s: it is empty", file)
	}
	r := &reader{file: file, text: text, opts: o, seen: map[string]bool{}}
	if err := read(r); err != nil {
		return nil, err
	}
	if len(r.result.Requests) == 0 && len(r.result.Missing) == 0 && len(r.result.LeftOut) == 0 {
		return nil, fmt.Errorf("%s: there is no request in it", file)
	}
	slices.Sort(r.result.Missing)
	r.result.Missing = slices.Compact(r.result.Missing)
	return &r.result, nil
}

// place is a place in the file.
func (r *reader) place(where string) string { return r.file + ": " + where }

// line is the place of a byte. Calls with growing offsets count each line once.
func (r *reader) line(offset int64) string {
	to := int(min(max(offset, 0), int64(len(r.text))))
	if to < r.counted {
		r.counted, r.lines = 0, 0
	}
	r.lines += bytes.Count(r.text[r.counted:to], []byte("\n"))
	r.counted = to
	return fmt.Sprintf("%s:%d", r.file, 1+r.lines)
}

// errTooMany ends the reading of a file with more requests than are kept.
var errTooMany = fmt.Errorf("it has more than %d requests, or bodies of more than %d bytes together", maxRequests, MaxFile)

// add adds a request, or says what is wrong with it.
func (r *reader) add(place string, q Request, err error) error {
	if err == nil {
		err = q.check()
	}
	if err != nil {
		return r.fault(place, err)
	}
	if key := q.Key(); !r.seen[key] {
		r.seen[key] = true
		r.size += len(q.Body) + len(q.URL)
		if len(r.result.Requests) >= maxRequests || r.size > MaxFile {
			return fmt.Errorf("%s: %w", place, errTooMany)
		}
		r.result.Requests = append(r.result.Requests, q)
	}
	return nil
}

// fault is an error, or a line of what is left out.
func (r *reader) fault(place string, err error) error {
	err = fmt.Errorf("%s: %w", place, err)
	if !r.opts.Lenient {
		return err
	}
	if len(r.result.LeftOut) < maxRequests {
		r.result.LeftOut = append(r.result.LeftOut, err.Error())
	}
	return nil
}

// check refuses what cannot be sent to a target.
func (q *Request) check() error {
	q.Method = strings.ToUpper(q.Method)
	switch {
	case !isToken(q.Method) || len(q.Method) > 32:
		return fmt.Errorf("%q is not a method of HTTP", errs.Clip(q.Method, 40))
	case q.Method == http.MethodConnect:
		return errors.New("CONNECT asks a proxy, not a target")
	case len(q.Body) > maxBody:
		return fmt.Errorf("its body has more than %d bytes", maxBody)
	case len(q.Headers) > maxHeaders:
		return fmt.Errorf("it has more than %d headers", maxHeaders)
	}
	_, err := locate(q.URL)
	return err
}

// Key is equal for equal requests.
func (q *Request) Key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", q.Method, q.URL)
	for _, line := range q.Headers {
		fmt.Fprintf(h, "\n%q: %q", line.Name, line.Value)
	}
	fmt.Fprint(h, "\n\n")
	h.Write(q.Body)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Target is the request as a target of a scan: its URL, with a fragment that tells it from other requests there.
func (q *Request) Target() string {
	l, err := locate(q.URL)
	if err != nil {
		return q.URL // only of one that Read did not give
	}
	return l.String() + "#" + q.Method + "-" + q.Key()
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
