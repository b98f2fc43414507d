package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/jsontext"
	"github.com/vedette-sec/vedette/internal/infra/turn"
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
		schema, known := a.fieldsOf(ctx)
		err = checkJSON(r.Context(), r.Header.Get("Content-Type"), body, schema, known)
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
		return badQuery(u.RawQuery)
	}
	for name, values := range query {
		if !isText(name) {
			return errs.New(errs.Invalid, "invalid_query", "The query is not UTF-8 text without NUL.").At("query")
		}
		for _, value := range values {
			if !isText(value) {
				return errs.Field(clip(name), "%s must be UTF-8 text without NUL.", clip(name))
			}
		}
	}
	return nil
}

// badQuery is the error about a query that url.ParseQuery refuses; it names the parameter.
func badQuery(query string) error {
	for pair := range strings.SplitSeq(query, "&") {
		_, err := url.ParseQuery(pair)
		if err == nil {
			continue
		}
		name := pair
		if i := strings.IndexAny(pair, "=;"); i >= 0 {
			name = pair[:i]
		}
		if text, err := url.QueryUnescape(name); err == nil && text != "" && isText(text) {
			why := "has a % that no two hexadecimal digits follow"
			if strings.Contains(pair, ";") {
				why = "has a semicolon; write it as %3B, and & between parameters"
			}
			return errs.New(errs.Invalid, "invalid_query", "%s %s.", clip(text), why).At(clip(text))
		}
		return errs.New(errs.Invalid, "invalid_query", "The name of a parameter of the query is not well-formed.").At("query")
	}
	return errs.New(errs.Invalid, "invalid_query", "The query has too many parameters.").At("query")
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkJSON refuses a body that is not JSON, nests too deep, has NUL in a string or a number that no float64
// holds; the error names the field. It warns of fields that the schema does not have.
// Its work grows with the length of the body, and ends when ctx does.
func checkJSON(
	ctx context.Context, contentType string, body []byte, schema *huma.Schema, known fields,
) error {
	if contentType != "" {
		media, _, err := mime.ParseMediaType(contentType)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return errs.New(errs.Unsupported, "unsupported_media_type", "Send the body as application/json.").At("Content-Type")
		}
	}
	defer turn.Take(len(body))()
	if !utf8.Valid(body) {
		return invalidJSON("the body is not UTF-8")
	}
	w := jsonWalk{ctx: ctx, dec: json.NewDecoder(bytes.NewReader(body)), known: known}
	w.dec.UseNumber()
	if _, err := w.value(nil, schema, 0); err != nil {
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

// place is where a value is within an array or object. Its path is written only for an error.
type place struct {
	within *place   // nil: the document
	key    string   // of an object's value
	index  int      // of an array's value; -1 in an object
	seen   []string // the fields of the object's schema that were given
}

// String is the path of the value, such as a.b[1], shortened as clip does; "body" for the document.
func (p *place) String() string {
	if p == nil {
		return "body"
	}
	var up []*place
	for ; p != nil; p = p.within {
		up = append(up, p)
	}
	var path strings.Builder
	for _, p := range slices.Backward(up) {
		if p.index >= 0 {
			fmt.Fprintf(&path, "[%d]", p.index)
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(clip(p.key))
	}
	return cmp.Or(clip(path.String()), "body")
}

// jsonWalk visits every value of a document.
type jsonWalk struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call of checkJSON
	dec    *json.Decoder
	known  fields
	tokens int
}

// tokensPerLook is after how many tokens the walk looks whether the client has gone.
const tokensPerLook = 4096

func (w *jsonWalk) token() (json.Token, error) {
	if w.tokens++; w.tokens%tokensPerLook == 0 && w.ctx.Err() != nil {
		return nil, errs.New(errs.Invalid, "unreadable_body", "The client has gone.").At("body").Because(w.ctx.Err())
	}
	token, err := w.dec.Token()
	if err != nil {
		err = invalidJSON(jsonProblem(err))
	}
	return token, err
}

// value checks a value, of which s (nil: anything) is the schema; empty is whether it says nothing: null, "", [] or {}.
func (w *jsonWalk) value(at *place, s *huma.Schema, depth int) (empty bool, err error) {
	if depth > maxDepth {
		return false, errs.New(errs.Invalid, "json_too_deep", "The body nests deeper than %d levels.", maxDepth).
			At(at.String())
	}
	token, err := w.token()
	if err != nil {
		return false, err
	}
	switch v := token.(type) {
	case nil:
		return true, nil
	case string:
		return v == "", checkString(at, v)
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return false, errs.Field(at.String(), "%s is a number out of range.", at)
		}
	case json.Delim:
		empty := !w.dec.More()
		inner := place{within: at, index: -1}
		for w.dec.More() {
			inside := w.item
			if v == '{' {
				inside = w.field
			}
			if err := inside(&inner, s, depth+1); err != nil {
				return false, err
			}
		}
		_, err := w.token() // the closing bracket
		return empty, err
	}
	return false, nil
}

// item checks the next value of an array.
func (w *jsonWalk) item(at *place, array *huma.Schema, depth int) error {
	at.index++
	var s *huma.Schema
	if array != nil {
		s = w.known.resolved(array.Items)
	}
	_, err := w.value(at, s, depth)
	return err
}

// field checks the next key and value of an object. A field that is given twice is refused: its schema would be held
// against one of the values, and decoding would take the other, or parts of both.
func (w *jsonWalk) field(at *place, object *huma.Schema, depth int) error {
	key, err := w.token()
	if err != nil {
		return err
	}
	name, _ := key.(string) // the decoder lets nothing else be a key
	if !isText(name) {
		return checkString(at.within, name)
	}
	at.key = name
	s, known, unknown := w.known.of(object, name)
	if known != "" {
		if slices.Contains(at.seen, known) {
			return errs.Field(at.String(), "%s is given more than once; capitals make no other field.", at)
		}
		at.seen = append(at.seen, known)
	}
	if unknown && object.AdditionalProperties == false {
		return errs.Field(at.String(), "%s is no field of this operation, and others are not allowed.", at)
	}
	empty, err := w.value(at, s, depth)
	if err != nil || empty {
		return err
	}
	if unknown {
		w.known.warn(ignored(at.String(), "field"))
	} else if why := w.known.whyNot(name); why != "" && at.within == nil {
		w.known.warn(fmt.Sprintf("%s has no effect: %s", clip(name), why))
	}
	return nil
}

func checkString(at *place, s string) error {
	if strings.ContainsRune(s, 0) {
		return errs.Field(at.String(), "%s must not contain NUL.", at)
	}
	return nil
}

// fieldMark stands between the field and the problem in an error of decodeJSON. The library keeps only the
// text of an error; problemOf takes it apart again.
const fieldMark = "\x1f"

// decodeJSON is json.Unmarshal with an error that names the field whose value does not fit.
func decodeJSON(text []byte, v any) error {
	defer turn.Take(len(text))()
	err := json.Unmarshal(text, v)
	field, why, ok := jsontext.Mistake(text, err)
	if !ok || field == "" {
		return err
	}
	return errors.New(clip(field) + fieldMark + why)
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
