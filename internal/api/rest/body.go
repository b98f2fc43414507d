package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxDepth is how deep a JSON document may nest.
const maxDepth = 64

// maxDrain is how many bytes of a refused body are still read.
const maxDrain = 32 << 20

// BoundBody limits the time in which a client may send a body. What the handler left unread is read and
// discarded after the answer, within that time: many clients read the answer only when they have sent
// everything. A client that asked first (Expect: 100-continue) has not sent it.
func BoundBody(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(timeout)) // a test's recorder has none
		body := &sentBody{ReadCloser: r.Body}
		r.Body = body
		next.ServeHTTP(w, r)
		if !body.ended && r.Header.Get("Expect") == "" {
			_ = control.Flush() // the client may have disconnected
			_, _ = io.CopyN(io.Discard, body, maxDrain)
		}
	})
}

// sentBody is a body that knows whether all of it was read.
type sentBody struct {
	io.ReadCloser
	ended bool
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// unread reports whether part of the body is unread. net/http would wait for it before it answers, unless the
// connection is to be closed.
func unread(r *http.Request) bool {
	body, ok := r.Body.(*sentBody)
	return ok && !body.ended
}

// readBody reads the body, bounded in size, and refuses what no field takes: text that is not UTF-8, NUL,
// deep nesting. huma reads it again from memory.
func (a *API) readBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	if err := checkURL(r.URL); err != nil {
		a.refuse(ctx, err)
		return
	}
	if ctx.Operation().RequestBody == nil {
		next(ctx)
		return
	}
	body, err := a.readAll(w, r)
	if err == nil && len(body) > 0 {
		err = checkJSON(r.Header.Get("Content-Type"), body)
	}
	if err != nil {
		a.refuse(ctx, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	next(ctx)
}

func (a *API) readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := errs.New(errs.TooLarge, "body_too_large", "The request body is larger than %d bytes.", a.MaxBody)
	if r.ContentLength > a.MaxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.MaxBody))
	if err == nil {
		return body, nil
	}
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	return nil, errs.New(errs.Invalid, "unreadable_body", "The request body could not be read.").At("body").Because(err)
}

// checkURL refuses a query that is not well-formed text.
func checkURL(u *url.URL) error {
	if !isText(u.Path) {
		return errs.Field("path", "path must be UTF-8 text without NUL.")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errs.New(errs.Invalid, "invalid_query", "The query is not well-formed.")
	}
	for name, values := range query {
		if !isText(name) {
			return errs.New(errs.Invalid, "invalid_query", "The query is not UTF-8 text without NUL.")
		}
		for _, value := range values {
			if !isText(value) {
				return errs.Field(clip(name), "%s must be UTF-8 text without NUL.", clip(name))
			}
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkJSON refuses a body that is not JSON, nests too deep, or has NUL in a string; the error names the field.
func checkJSON(contentType string, body []byte) error {
	if contentType != "" {
		media, _, err := mime.ParseMediaType(contentType)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return errs.New(errs.Unsupported, "unsupported_media_type", "Send the body as application/json.").At("Content-Type")
		}
	}
	if !utf8.Valid(body) {
		return invalidJSON("the body is not UTF-8")
	}
	w := jsonWalk{dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber()
	if err := w.value("", 0); err != nil {
		return err
	}
	if _, err := w.dec.Token(); err != io.EOF {
		return invalidJSON("something follows the document")
	}
	return nil
}

func invalidJSON(why string) error {
	return errs.New(errs.Invalid, "invalid_json", "The body is not valid JSON: %s.", why).At("body")
}

// jsonWalk visits every string of a document.
type jsonWalk struct{ dec *json.Decoder }

func (w jsonWalk) value(path string, depth int) error {
	if depth > maxDepth {
		return errs.New(errs.Invalid, "json_too_deep", "The body nests deeper than %d levels.", maxDepth).At(clip(path))
	}
	token, err := w.dec.Token()
	if err != nil {
		return invalidJSON(jsonProblem(err))
	}
	switch v := token.(type) {
	case string:
		return checkString(path, v)
	case json.Delim:
		for i := 0; w.dec.More(); i++ {
			at := fmt.Sprintf("%s[%d]", path, i)
			if v == '{' {
				key, err := w.dec.Token()
				if err != nil {
					return invalidJSON(jsonProblem(err))
				}
				name, _ := key.(string) // the decoder lets nothing else be a key
				if at = strings.TrimPrefix(path+"."+name, "."); !isText(name) {
					return checkString(clip(path), name)
				}
			}
			if err := w.value(at, depth+1); err != nil {
				return err
			}
		}
		if _, err := w.dec.Token(); err != nil { // the closing bracket
			return invalidJSON(jsonProblem(err))
		}
	}
	return nil
}

func checkString(path, s string) error {
	if strings.ContainsRune(s, 0) {
		if path == "" {
			path = "body"
		}
		return errs.Field(clip(path), "%s must not contain NUL.", clip(path))
	}
	return nil
}

func jsonProblem(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%v at byte %d", err, syntax.Offset)
	}
	return "it ends too early"
}

// clip shortens a name that the caller chose.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
