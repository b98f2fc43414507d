// Package har writes HTTP exchanges as HAR files (HTTP Archive 1.2), which browsers, proxies and scanners read.
package har

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Begin and End stand around the entries of a file; commas stand between them.
const (
	Begin = `{"log":{"version":"1.2","creator":{"name":"Vedette","version":"1"},"entries":[`
	End   = "]}}\n"
)

type (
	// Entry is a request with its answer.
	Entry struct {
		Started  string   `json:"startedDateTime"`
		Time     float64  `json:"time"`
		Request  Request  `json:"request"`
		Response Response `json:"response"`
		Cache    struct{} `json:"cache"`
		Timings  Timings  `json:"timings"`
		IP       string   `json:"serverIPAddress,omitempty"`
		ID       string   `json:"_id,omitempty"`   // of a network event
		Tool     string   `json:"_tool,omitempty"` // that sent it
		Error    string   `json:"_error,omitempty"`
		Cut      bool     `json:"_truncated,omitempty"`
	}
	// Request is what was sent.
	Request struct {
		Method      string `json:"method"`
		URL         string `json:"url"`
		Version     string `json:"httpVersion"`
		Cookies     []Pair `json:"cookies"`
		Headers     []Pair `json:"headers"`
		Query       []Pair `json:"queryString"`
		PostData    *Post  `json:"postData,omitempty"`
		HeadersSize int    `json:"headersSize"`
		BodySize    int    `json:"bodySize"`
	}
	// Post is the body of a request.
	Post struct {
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"_encoding,omitempty"`
	}
	// Response is what was answered.
	Response struct {
		Status      int     `json:"status"`
		StatusText  string  `json:"statusText"`
		Version     string  `json:"httpVersion"`
		Cookies     []Pair  `json:"cookies"`
		Headers     []Pair  `json:"headers"`
		Content     Content `json:"content"`
		RedirectURL string  `json:"redirectURL"`
		HeadersSize int     `json:"headersSize"`
		BodySize    int     `json:"bodySize"`
	}
	// Content is the body of an answer.
	Content struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
	}
	// Timings are milliseconds.
	Timings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	// Pair is a header line or a parameter.
	Pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

const version = "HTTP/1.1"

// Message is a request or an answer in its parts.
type Message struct {
	First  string // line
	Fields []Pair
	Head   int // bytes before the body
	Body   []byte
}

// Parse takes a message apart, as far as it is one.
func Parse(message []byte) (p Message) {
	end, gap := bytes.Index(message, []byte("\r\n\r\n")), 4
	if end < 0 {
		end, gap = len(message), 0
	}
	p.Head, p.Body = end+gap, message[end+gap:]
	for i, line := range strings.Split(string(message[:end]), "\r\n") {
		if i == 0 {
			p.First = line
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			p.Fields = append(p.Fields, Pair{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return p
}

// Header is the first value of a header line; empty without one.
func (p Message) Header(name string) string {
	for _, f := range p.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func (p Message) shown() []Pair {
	out := []Pair{}
	for _, f := range p.Fields {
		out = append(out, Pair{strings.ToValidUTF8(f.Name, "\uFFFD"), strings.ToValidUTF8(f.Value, "\uFFFD")})
	}
	return out
}

// textOf is a body for JSON: as it is, or in base64.
func textOf(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// Exchange is a request with its answer, as they were sent: a first line, header lines and a body.
type Exchange struct {
	At                time.Time
	TookMS            float64
	IP                string // of the server
	Method, URL       string
	Status            int // 0: there was no answer
	Request, Response []byte
}

// New is the entry of an exchange. What is no text is written in base64.
func New(x Exchange) Entry {
	sent, got := Parse(x.Request), Parse(x.Response)
	e := Entry{
		Started: x.At.UTC().Format(time.RFC3339Nano), Time: x.TookMS, IP: x.IP, Timings: Timings{Wait: x.TookMS},
		Request: Request{
			Method: x.Method, URL: strings.ToValidUTF8(x.URL, "\uFFFD"), Version: version, Cookies: []Pair{}, Headers: sent.shown(),
			Query: []Pair{}, HeadersSize: sent.Head, BodySize: len(sent.Body),
		},
		Response: Response{
			Status: x.Status, StatusText: http.StatusText(x.Status), Version: version, Cookies: []Pair{}, Headers: got.shown(),
			RedirectURL: strings.ToValidUTF8(got.Header("Location"), "\uFFFD"), HeadersSize: got.Head, BodySize: len(got.Body),
			Content: Content{Size: len(got.Body), MimeType: strings.ToValidUTF8(got.Header("Content-Type"), "\uFFFD")},
		},
	}
	if u, err := url.Parse(x.URL); err == nil {
		for field := range strings.SplitSeq(u.RawQuery, "&") {
			if name, value, _ := strings.Cut(field, "="); name != "" {
				e.Request.Query = append(e.Request.Query, Pair{unescape(name), unescape(value)})
			}
		}
	}
	if len(sent.Body) > 0 {
		post := Post{MimeType: strings.ToValidUTF8(sent.Header("Content-Type"), "\uFFFD")}
		post.Text, post.Encoding = textOf(sent.Body)
		e.Request.PostData = &post
	}
	e.Response.Content.Text, e.Response.Content.Encoding = textOf(got.Body)
	return e
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		text = plain
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
