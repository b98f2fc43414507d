package recorded

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// readBurp reads the items that Burp exports as XML: a URL, and a request that may be in base64.
func readBurp(r *reader) error {
	decoder := xml.NewDecoder(bytes.NewReader(r.text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	items := false
	for {
		begin := decoder.InputOffset()
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && !items:
			return fmt.Errorf("%s: it is not an export of Burp: there is no <items>", r.file)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", r.line(decoder.InputOffset()), err)
		}
		start, ok := token.(xml.StartElement)
		switch {
		case ok && start.Name.Local == "items":
			items = true
		case ok && start.Name.Local == "item":
			if err := r.burpItem(decoder, start, r.line(begin)); err != nil {
				return err
			}
		}
	}
}

func (r *reader) burpItem(decoder *xml.Decoder, start xml.StartElement, place string) error {
	var item struct {
		URL     string `xml:"url"`
		Request struct {
			Base64 bool   `xml:"base64,attr"`
			Text   string `xml:",chardata"`
		} `xml:"request"`
	}
	if err := decoder.DecodeElement(&item, &start); err != nil {
		return fmt.Errorf("%s: %w", r.line(decoder.InputOffset()), err)
	}
	text := item.Request.Text
	if item.Request.Base64 {
		plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return r.fault(place, fmt.Errorf("its request is not base64: %w", err))
		}
		text = string(plain)
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	q, err := parseRaw(text, strings.TrimSpace(item.URL))
	return r.add(place, q, err)
}

// logged is an entry of a log of proxify, katana and their like.
type logged struct {
	URL     string `json:"url"`
	Request struct {
		Raw      string         `json:"raw"`
		Method   string         `json:"method"`
		Endpoint string         `json:"endpoint"`
		Header   map[string]any `json:"header"`
		Headers  map[string]any `json:"headers"`
		Body     string         `json:"body"`
	} `json:"request"`
}

// request is the request of an entry: its text if there is one, else its parts.
func (l *logged) request() (Request, error) {
	at := l.URL
	if at == "" {
		at = l.Request.Endpoint
	}
	if strings.TrimSpace(l.Request.Raw) != "" {
		return parseRaw(l.Request.Raw, at)
	}
	if at == "" {
		return Request{}, errors.New("it has neither request.raw nor a url")
	}
	method, headers := l.Request.Method, []Header(nil)
	given := l.Request.Header
	if given == nil {
		given = l.Request.Headers
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, isText := given[name].(string)
		switch { // proxify writes the parts of the request line among the headers
		case name == "method" && method == "":
			method = value
		case name == "method", name == "path", name == "scheme", !isText:
		default:
			headers = append(headers, Header{Name: name, Value: value})
		}
	}
	return fromParts(method, at, headers, []byte(l.Request.Body))
}

// readJSONL reads JSON objects, one after the other.
func readJSONL(r *reader) error {
	decoder := json.NewDecoder(bytes.NewReader(r.text))
	for {
		var text json.RawMessage
		err := decoder.Decode(&text)
		if errors.Is(err, io.EOF) {
			return nil
		}
		end := decoder.InputOffset()
		if err != nil {
			if s, ok := errors.AsType[*json.SyntaxError](err); ok {
				end = s.Offset
			} else if errors.Is(err, io.ErrUnexpectedEOF) {
				end = int64(len(r.text))
			}
			return fmt.Errorf("%s: %w", r.line(end), err)
		}
		place := r.line(end - int64(len(text)))
		if err := shallow(text); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		var entry logged
		if err := json.Unmarshal(text, &entry); err != nil {
			if err := r.fault(place, err); err != nil {
				return err
			}
			continue
		}
		q, err := entry.request()
		if err := r.add(place, q, err); err != nil {
			return err
		}
	}
}

// shallow refuses JSON that nests too deep to be read again and again.
func shallow(text []byte) error {
	depth, quoted, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it nests deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// readYAML reads documents with the fields of JSON lines.
func readYAML(r *reader) error {
	documents, err := yamltext.Documents(r.text)
	if err != nil {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	for _, d := range documents {
		place := fmt.Sprintf("%s:%d", r.file, d.Line)
		text, err := json.Marshal(d.Value)
		if err != nil {
			return fmt.Errorf("%s: %s", place, errs.Clip(err.Error(), maxQuoted))
		}
		var entry logged
		if err := json.Unmarshal(text, &entry); err != nil {
			if err := r.fault(place, err); err != nil {
				return err
			}
			continue
		}
		if strings.TrimSpace(entry.Request.Raw) == "" && entry.URL == "" && entry.Request.Endpoint == "" {
			continue // such as the head of a log
		}
		q, err := entry.request()
		if err := r.add(place, q, err); err != nil {
			return err
		}
	}
	return nil
}
