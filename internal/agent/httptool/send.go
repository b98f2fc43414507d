package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const maxAnswer, maxPointer = 1 << 20, 50

// Answer is the answer to a request.
type Answer struct {
	Status int
	Text   string // status line, and the body or its wanted part
	Failed bool   // no success status
}

type filled struct {
	url     *url.URL
	headers map[string]string
	body    []byte
}

func (r *Request) fill(v values) (f filled, err error) {
	path, err := v.fill(r.path, inPath)
	if err != nil {
		return f, err
	}
	if hasDotSegment(path) {
		return f, errors.New(`an argument must not make a segment of the path "." or ".."`)
	}
	var query []string
	for _, q := range r.query {
		name, noValue := strings.CutSuffix(q.name, "\x00")
		if noValue {
			query = append(query, name)
			continue
		}
		if v.absent(q.value) {
			continue
		}
		value, err := v.fill(q.value, inQuery)
		if err != nil {
			return f, err
		}
		query = append(query, name+"="+value)
	}
	raw := r.origin + path
	if len(query) > 0 {
		raw += "?" + strings.Join(query, "&")
	}
	if f.url, err = url.Parse(raw); err != nil || !r.sameHost(f.url) {
		return f, errors.New("the arguments make no URL of this host")
	}
	if f.headers, err = r.headers.fill(v); err != nil {
		return f, err
	}
	f.body, err = r.encode(v)
	return f, err
}

// Send makes one request and reads up to 1 MiB of its answer. args is a JSON object. An error contains no secret.
func (r *Request) Send(
	ctx context.Context, client *http.Client, args json.RawMessage, secrets map[string]string,
) (Answer, error) {
	v := values{args: map[string]any{}, secrets: secrets}
	if err := decode(args, &v.args); err != nil {
		return Answer{}, fmt.Errorf("the arguments: %w", err)
	}
	f, err := r.fill(v)
	if err != nil {
		return Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, f.url.String(), bytes.NewReader(f.body))
	if err != nil {
		return Answer{}, errors.New("the arguments make no request")
	}
	req.Header.Set("User-Agent", "Vedette")
	if r.hasBody {
		req.Header.Set("Content-Type", r.media.name)
	}
	for name, value := range f.headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		if why := (*url.Error)(nil); errors.As(err, &why) { // its URL may have a secret
			err = why.Err
		}
		return Answer{}, fmt.Errorf("%s %s: %w", r.method, r.origin, err)
	}
	defer resp.Body.Close()
	share := membudget.Process().Share()
	defer share.Release()
	body, err := share.ReadAll(ctx, resp.Body, maxAnswer+1)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	return r.answer(resp, body), nil
}

// answer is the text for the model and the person.
func (r *Request) answer(resp *http.Response, body []byte) Answer {
	a := Answer{Status: resp.StatusCode, Failed: resp.StatusCode >= http.StatusMultipleChoices}
	head := "HTTP " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	if location := resp.Header.Get("Location"); location != "" && a.Failed {
		head += "\nLocation: " + location
	}
	cut := len(body) > maxAnswer
	if !r.whole && !a.Failed {
		part, err := pick(body[:min(len(body), maxAnswer)], r.pointer)
		if cut {
			err = errors.New("the answer is too large to take a part of it")
		}
		if err != nil {
			return Answer{Status: a.Status, Failed: true, Text: head + "\n" + err.Error()}
		}
		a.Text = head + "\n\n" + part
		return a
	}
	if cut {
		body = body[:maxAnswer]
		for !utf8.Valid(body[len(body)-utf8.UTFMax:]) && len(body) > maxAnswer-utf8.UTFMax {
			body = body[:len(body)-1]
		}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "" {
		head += "\nContent-Type: " + kind
	}
	if !utf8.Valid(body) {
		a.Text = fmt.Sprintf("%s\n\n[%d bytes that are no text]", head, len(body))
		return a
	}
	a.Text = head + "\n\n" + strings.ReplaceAll(string(body), "\x00", "\ufffd")
	if cut {
		a.Text += "\n… (cut)"
	}
	return a
}

func pointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, "/")
	if parts[0] != "" || len(parts) > maxPointer {
		return nil, errs.Field("response_path", `response_path must be a JSON pointer, such as /items/0/name, or empty.`)
	}
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts[1:], nil
}

// pick returns a part of a JSON document: a string as it is, anything else as JSON.
func pick(body []byte, path []string) (string, error) {
	var doc any
	if decode(body, &doc) != nil {
		return "", errors.New("the answer is not JSON")
	}
	for _, name := range path {
		if object, ok := doc.(map[string]any); ok {
			doc = object[name]
			continue
		}
		list, _ := doc.([]any)
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(list) {
			return "", fmt.Errorf("the answer has no %.100q there", name)
		}
		doc = list[i]
	}
	if text, ok := doc.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(doc)
	return string(text), err
}
