package network

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The parts of a HAR file (HTTP Archive 1.2).
type (
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		IP       string      `json:"serverIPAddress,omitempty"`
		ID       string      `json:"_id"`   // of the event
		Tool     string      `json:"_tool"` // that sent it
		Error    string      `json:"_error,omitempty"`
		Cut      bool        `json:"_truncated,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		Version     string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		PostData    *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harPost struct {
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"_encoding,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		Version     string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harContent struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

const harVersion = "HTTP/1.1"

// parsed is a message in its parts.
type parsed struct {
	first  string // line
	fields []harPair
	head   int // bytes
	body   []byte
}

// parse takes a message apart, as far as it is one.
func parse(message []byte) (p parsed) {
	end, gap := bytes.Index(message, []byte("\r\n\r\n")), 4
	if end < 0 {
		end, gap = len(message), 0
	}
	p.head, p.body = end+gap, message[end+gap:]
	for i, line := range strings.Split(string(message[:end]), "\r\n") {
		if i == 0 {
			p.first = line
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			p.fields = append(p.fields, harPair{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return p
}

func (p parsed) header(name string) string {
	for _, f := range p.fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func (p parsed) shown() []harPair {
	out := []harPair{}
	for _, f := range p.fields {
		out = append(out, harPair{strings.ToValidUTF8(f.Name, "\uFFFD"), strings.ToValidUTF8(f.Value, "\uFFFD")})
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

// entryOf is an event for a HAR file; doc has its texts as they are shown.
func entryOf(d Detail, doc document) harEntry {
	sent, got := parse(doc.Request), parse(doc.Response)
	e := harEntry{
		Started: d.SentAt.UTC().Format(time.RFC3339Nano), Time: d.DurationMS, IP: d.IP,
		ID: d.ID, Tool: d.Tool, Error: d.Error,
		Cut: d.RequestCut || d.ResponseCut, Timings: harTimings{Wait: d.DurationMS},
		Request: harRequest{
			Method: d.Method, URL: strings.ToValidUTF8(d.URL, "\uFFFD"), Version: harVersion, Cookies: []harPair{}, Headers: sent.shown(),
			Query: []harPair{}, HeadersSize: sent.head, BodySize: len(sent.body),
		},
		Response: harResponse{
			Status: d.Status, StatusText: http.StatusText(d.Status), Version: harVersion,
			Cookies: []harPair{}, Headers: got.shown(),
			RedirectURL: strings.ToValidUTF8(got.header("Location"), "\uFFFD"), HeadersSize: got.head, BodySize: len(got.body),
			Content: harContent{Size: len(got.body), MimeType: strings.ToValidUTF8(got.header("Content-Type"), "\uFFFD")},
		},
	}
	if u, err := url.Parse(d.URL); err == nil {
		for field := range strings.SplitSeq(u.RawQuery, "&") {
			if name, value, _ := strings.Cut(field, "="); name != "" {
				e.Request.Query = append(e.Request.Query, harPair{unescape(name), unescape(value)})
			}
		}
	}
	if len(sent.body) > 0 {
		post := harPost{MimeType: strings.ToValidUTF8(sent.header("Content-Type"), "\uFFFD")}
		post.Text, post.Encoding = textOf(sent.body)
		e.Request.PostData = &post
	}
	e.Response.Content.Text, e.Response.Content.Encoding = textOf(got.body)
	return e
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		text = plain
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// maxExported bounds the events of one file.
const maxExported = 50_000

const atOnce = 100

// HAR writes the events of a task or a scan as a HAR file, the oldest first; those of one that the caller does not
// see are none. Unmasked is as in Find. What may be refused is refused before the file begins.
func (es *Events) HAR(
	ctx context.Context, taskID, scanID string, unmasked bool,
) (write func(io.Writer) error, err error) {
	c, err := reader(ctx, unmasked)
	if err != nil {
		return nil, err
	}
	if (taskID == "") == (scanID == "") {
		return nil, errs.Field("task_id", "Send exactly one of task_id and scan_id.")
	}
	f := Filter{TaskID: taskID, ScanID: scanID}
	s, err := es.shower(ctx, c, unmasked)
	if err != nil {
		return nil, err
	}
	return func(out io.Writer) error {
		if _, err := io.WriteString(out, `{"log":{"version":"1.2","creator":{"name":"Vedette","version":"1"},"entries":[`); err != nil {
			return err
		}
		after := ""
		for n := 0; n < maxExported; {
			w := f.where(c)
			w.And("e.id > ?", after)
			found, err := db.Select(ctx, es.db, scanEvent, eventQuery+"e.sealed FROM network_event e"+w.String()+
				` ORDER BY e.id LIMIT ?`, append(w.Args, atOnce)...)
			if err != nil {
				return err
			}
			for _, e := range found {
				after = e.ID
				if err := es.writeEntry(out, e, s, n > 0); err != nil {
					return err
				}
				n++
			}
			if len(found) < atOnce {
				break
			}
		}
		_, err := io.WriteString(out, "]}}\n")
		return err
	}, nil
}

func (es *Events) writeEntry(out io.Writer, e Event, s *shower, comma bool) error {
	d, doc, err := es.detail(e, s)
	if err != nil {
		return err
	}
	text, err := json.Marshal(entryOf(d, doc))
	if err != nil {
		return err
	}
	if comma {
		text = append([]byte(",\n"), text...)
	}
	_, err = out.Write(text)
	return err
}
