package recorded

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Exchange is a request with its response.
type Exchange struct {
	Request

	Response []byte // a whole HTTP/1.1 response, framed anew; nil without one
}

// ReadExchange reads one exchange: a curl command, an entry of a HAR (of a log, the first), an event of a scan, or a
// request as text, which its response may follow.
func ReadExchange(text []byte) (Exchange, error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) > MaxFile:
		return Exchange{}, fmt.Errorf("it has more than %d bytes", MaxFile)
	case len(text) == 0:
		return Exchange{}, errors.New("it is empty")
	case bytes.HasPrefix(text, []byte("curl ")):
		q, err := parseCurl(string(text))
		return Exchange{Request: q}, err
	case text[0] == '{':
		all, err := ReadExchanges(text)
		if err != nil {
			return Exchange{}, err
		}
		return all[0], nil
	}
	return rawExchange(string(text))
}

func rawExchange(text string) (x Exchange, err error) {
	request := text
	if s, err := ReadStored([]byte(text)); err == nil {
		request, x.Response = string(s.Request), s.Response
	}
	if request == "" {
		return x, errors.New("it has a response without its request")
	}
	if x.Request, err = parseRaw(request, ""); err == nil && !strings.Contains(x.URL, "://") {
		x.URL = "http://" + x.URL
	}
	return x, err
}

// ReadExchanges reads the exchanges of a HAR, of one entry of it, or of the events that a scan printed as JSON lines.
func ReadExchanges(text []byte) (all []Exchange, err error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var one struct {
			Log struct {
				Entries []harEntry `json:"entries"`
			} `json:"log"`
			Request  json.RawMessage `json:"request"`
			Response json.RawMessage `json:"response"`
		}
		if err := decoder.Decode(&one); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		entries := one.Log.Entries
		switch {
		case len(entries) > 0:
		case bytes.HasPrefix(one.Request, []byte(`"`)): // an event of a scan
			x, err := event(one.Request, one.Response)
			if err != nil {
				return nil, fmt.Errorf("event %d: %w", len(all)+1, err)
			}
			all = append(all, x)
			continue
		case len(one.Request) > 0:
			var entry harEntry
			if err := errors.Join(json.Unmarshal(one.Request, &entry.Request),
				json.Unmarshal(orNull(one.Response), &entry.Response)); err != nil {
				return nil, fmt.Errorf("the entry is not that of a HAR: %w", err)
			}
			entries = []harEntry{entry}
		}
		for i := range entries {
			x, err := entries[i].exchange()
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i+1, err)
			}
			all = append(all, x)
		}
		if len(all) > maxExchanges {
			return nil, fmt.Errorf("it has more than %d exchanges", maxExchanges)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no request in it: neither log.entries of a HAR, nor an event with its request")
	}
	return all, nil
}

// maxExchanges bounds a file of exchanges.
const maxExchanges = 100_000

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// event is the exchange of a scan's event, which has both as texts.
func event(request, response json.RawMessage) (Exchange, error) {
	var q, a string
	if err := errors.Join(json.Unmarshal(request, &q), json.Unmarshal(orNull(response), &a)); err != nil {
		return Exchange{}, err
	}
	x, err := rawExchange(q)
	if err != nil || a == "" {
		return x, err
	}
	s, err := ReadStored([]byte(a))
	x.Response = s.Response
	return x, err
}

type harHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// harEntry is an entry of a HAR 1.2 log.
type harEntry struct {
	Request struct {
		Method   string      `json:"method"`
		URL      string      `json:"url"`
		Headers  []harHeader `json:"headers"`
		PostData struct {
			Text     string `json:"text"`
			MimeType string `json:"mimeType"`
			Params   []struct {
				Name     string `json:"name"`
				Value    string `json:"value"`
				FileName string `json:"fileName"`
			} `json:"params"`
		} `json:"postData"`
	} `json:"request"`
	Response struct {
		Status     int         `json:"status"`
		StatusText string      `json:"statusText"`
		Headers    []harHeader `json:"headers"`
		Content    struct {
			Text     string `json:"text"`
			Encoding string `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
}

func (h *harEntry) exchange() (x Exchange, err error) {
	body, kind := []byte(h.Request.PostData.Text), ""
	if len(body) == 0 && len(h.Request.PostData.Params) > 0 {
		if body, kind, err = h.form(); err != nil {
			return x, err
		}
	}
	headers := make([]Header, 0, len(h.Request.Headers))
	for _, one := range h.Request.Headers {
		if kind == "" || !strings.EqualFold(one.Name, "Content-Type") {
			headers = append(headers, Header(one))
		}
	}
	if kind != "" {
		headers = append(headers, Header{Name: "Content-Type", Value: kind})
	}
	x.Request, err = fromParts(h.Request.Method, h.Request.URL, headers, body)
	if err != nil || h.Response.Status < http.StatusOK { // 0 is what browsers write of a request that failed
		return x, err
	}
	body = []byte(h.Response.Content.Text)
	if h.Response.Content.Encoding == "base64" {
		if body, err = base64.StdEncoding.DecodeString(h.Response.Content.Text); err != nil {
			return x, fmt.Errorf("its response is not base64: %w", err)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %03d %s\r\n", h.Response.Status, oneLine(h.Response.StatusText))
	for _, one := range h.Response.Headers {
		name := strings.ToLower(one.Name)
		if isToken(one.Name) && !connectionHeaders[name] && name != "content-encoding" { // the text is decoded
			fmt.Fprintf(&out, "%s: %s\r\n", one.Name, oneLine(one.Value))
		}
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	x.Response = out.Bytes()
	return x, nil
}

// form is a body that is recorded as parameters only, and its type.
func (h *harEntry) form() (body []byte, kind string, err error) {
	if !strings.HasPrefix(h.Request.PostData.MimeType, "multipart/") {
		var pairs []string
		for _, p := range h.Request.PostData.Params {
			pairs = append(pairs, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
		}
		return []byte(strings.Join(pairs, "&")), "application/x-www-form-urlencoded", nil
	}
	fields := make([]postmanPair, len(h.Request.PostData.Params))
	for i, p := range h.Request.PostData.Params {
		fields[i] = postmanPair{Key: p.Name, Value: p.Value}
		if p.FileName != "" {
			fields[i].Type = "file"
		}
	}
	body, err = formFields(fields, func(text string) string { return text })
	return body, "multipart/form-data; boundary=" + boundary, err
}

// readHAR reads the log of a browser or a proxy.
func readHAR(r *reader) error {
	if err := shallow(r.text); err != nil {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	var har struct {
		Log struct {
			Entries []harEntry `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(r.text, &har); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("%s: %w", r.line(s.Offset), err)
		}
		return fmt.Errorf("%s: %w", r.file, err)
	}
	for i := range har.Log.Entries {
		x, err := har.Log.Entries[i].exchange()
		if err := r.add(r.place(fmt.Sprintf("log.entries[%d]", i)), x.Request, err); err != nil {
			return err
		}
	}
	return nil
}

func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\r' || c == '\n' || c == 0 {
			return ' '
		}
		return c
	}, text)
}
