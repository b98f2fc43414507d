package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// noBody is huma's error about a request without the body that it needs.
const noBody = "request body is required"

// fromHuma converts huma's error about a request.
func fromHuma(status int, message string, details []error) *errs.Error {
	for _, detail := range details {
		if e := errs.From(detail); e != nil && e.Kind != errs.Internal {
			return e
		}
	}
	kind := errs.KindOfStatus(status)
	if kind == errs.Internal && len(details) > 0 {
		return errs.From(details[0])
	}
	e := &errs.Error{Kind: kind, Code: string(kind) + "_request", Message: message}
	if kind == errs.Invalid {
		e.Code = "invalid_request"
	}
	if message == noBody {
		e.Param, e.Message = "body", "body: it is required"
	}
	var problems []string
	for _, detail := range details {
		d, ok := detail.(huma.ErrorDetailer)
		if !ok {
			continue
		}
		field, text := problemOf(d.ErrorDetail())
		field = clip(field) // a key of the body, as long as a body may be
		if e.Param == "" {
			e.Param = field
		}
		if len(problems) < 5 {
			problems = append(problems, strings.TrimSpace(field+": "+text))
		}
	}
	if len(problems) > 0 {
		e.Message = strings.Join(problems, "; ")
	}
	return e
}

// problemOf is the wrong or missing field of a request, and why.
func problemOf(d *huma.ErrorDetail) (field, text string) {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	if name, ok := strings.CutPrefix(d.Message, before); ok && strings.HasSuffix(name, after) {
		return fieldOf(d.Location + "." + strings.TrimSuffix(name, after)), "it is required"
	}
	if name, problem, ok := strings.Cut(d.Message, fieldMark); ok && d.Location == "body" {
		return name, problem
	}
	return fieldOf(d.Location), d.Message
}

// fieldOf is the field's name without huma's prefix.
func fieldOf(location string) string {
	for _, prefix := range []string{"body.", "query.", "path.", "header.", "cookie."} {
		if rest, ok := strings.CutPrefix(location, prefix); ok {
			return rest
		}
	}
	return location
}

// failure is an error answer.
type failure struct {
	status int
	body   any
	text   string
}

func (f *failure) Error() string                { return f.text }
func (f *failure) GetStatus() int               { return f.status }
func (f *failure) MarshalJSON() ([]byte, error) { return json.Marshal(f.body) }

// explained is err as callers see it: an outage of what the server itself depends on says so.
func explained(err error) *errs.Error {
	e := errs.From(err)
	if e != nil && e.Kind == errs.Internal {
		if o := outage.OfAnswer(e); o != nil {
			return o
		}
	}
	return e
}

func failureFor(ctx huma.Context, e *errs.Error) huma.StatusError {
	e = explained(e)
	rec := recordOf(ctx.Context())
	rec.err = e
	for name, value := range errorHeaders(e) {
		ctx.SetHeader(name, value)
	}
	status := e.Kind.Status()
	return &failure{status: status, body: rec.api.Shape(status, shown(e), rec.id), text: e.Message}
}

// Fail answers with an error in the shape of the API.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	e := explained(err)
	rec := recordOf(r.Context())
	rec.err = e
	for name, value := range errorHeaders(e) {
		w.Header().Set(name, value)
	}
	body, merr := json.Marshal(a.Shape(e.Kind.Status(), shown(e), rec.id))
	if merr != nil {
		a.Logger.ErrorContext(r.Context(), "encoding an error answer", "error", merr)
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // sent at once, even while a body is read
	if unread(r) {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(e.Kind.Status())
	_, _ = w.Write(body) // the client may have disconnected
}

// shown adds the field to the message: the agent API has no other place for it.
func shown(e *errs.Error) *errs.Error {
	if e.Param == "" || strings.Contains(e.Message, e.Param) {
		return e
	}
	c := *e
	c.Message = fmt.Sprintf("%s: %s", e.Param, e.Message)
	return &c
}

// ticketHeader has the ticket for the second step of a sign-in, because the body of an error has the fields of the
// specification and no more.
const ticketHeader = "X-Sign-In-Ticket"

func errorHeaders(e *errs.Error) map[string]string {
	switch {
	case e.Extra["ticket"] != "":
		return map[string]string{ticketHeader: e.Extra["ticket"]}
	case e.Kind == errs.Unauthenticated:
		return map[string]string{"WWW-Authenticate": "Bearer"}
	case e.Extra[retryAfter] != "":
		return map[string]string{"Retry-After": e.Extra[retryAfter]}
	}
	return nil
}
