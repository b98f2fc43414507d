package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// WarningHeader has the warnings of an answer, one a header line. An answer that is a JSON object has them in its
// warnings too; a file or an array has no other place for them.
const WarningHeader = "X-Warning"

// maxHeader is how many bytes of a warning its header has.
const maxHeader = 200

// maxWarnings is how many warnings one answer has; a caller can send any number of unknown fields.
const maxWarnings = 20

// Warnf tells the caller of a request, in its answer, that something they sent has no effect. The text begins with the
// name of the parameter or field. It does nothing once the answer has begun, and after 20 warnings.
func Warnf(ctx context.Context, format string, args ...any) {
	recordOf(ctx).warn(fmt.Sprintf(format, args...))
}

func (r *record) warn(text string) {
	if len(r.warnings) >= maxWarnings {
		return
	}
	r.warnings = append(r.warnings, text)
	r.header.Add(WarningHeader, headerText(text))
}

// headerText is a text of which a header can have every character.
func headerText(text string) string {
	quoted := strconv.QuoteToASCII(errs.Clip(text, maxHeader))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// ignored is the warning about a parameter or field that nothing reads.
func ignored(name, what string) string {
	return fmt.Sprintf("%s has no effect: this operation has no such %s.", clip(name), what)
}

// addWarnings is the transformer that puts warnings into answers that are JSON objects.
func (a *API) addWarnings(ctx huma.Context, status string, body any) (any, error) {
	rec := recordOf(ctx.Context())
	if len(rec.warnings) == 0 || body == nil || status >= strconv.Itoa(http.StatusMultipleChoices) {
		return body, nil
	}
	return withWarnings{body, rec.warnings}, nil
}

// Warned is a body with the warnings of the request, for handlers that write it themselves.
func Warned(ctx context.Context, body any) any {
	if warnings := recordOf(ctx).warnings; len(warnings) > 0 {
		return withWarnings{body, warnings}
	}
	return body
}

// withWarnings is a body with warnings; one that is no object stays as it is.
type withWarnings struct {
	body     any
	warnings []string
}

// MarshalJSON implements json.Marshaler.
func (w withWarnings) MarshalJSON() ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // as in other answers
	err := encoder.Encode(w.body)
	text := bytes.TrimSpace(body.Bytes())
	if err != nil || len(text) < len("{}") || text[0] != '{' {
		return text, err
	}
	warnings, err := json.Marshal(w.warnings)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(text[:len(text)-1])
	if len(text) > len("{}") {
		out.WriteByte(',')
	}
	out.WriteString(`"warnings":`)
	out.Write(warnings)
	out.WriteByte('}')
	return out.Bytes(), nil
}

// warnOfQuery warns of the parameters of the query that an operation does not have.
func warnOfQuery(ctx huma.Context, query map[string][]string) {
	rec := recordOf(ctx.Context())
	known := map[string]bool{}
	for _, p := range ctx.Operation().Parameters {
		if p.In == "query" {
			known[p.Name] = true
		}
	}
	var unknown []string
	for name := range query {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		rec.warn(ignored(name, "parameter"))
	}
}

// fields is what the walk through a body needs to know which fields have an effect.
type fields struct {
	registry huma.Registry
	without  map[string]string // fields of the document without effect, and why
	warn     func(text string)
}

// of is the schema of an object's field, nil where any is taken, and the name that the schema has for it; unknown when
// the object has no such field.
func (f fields) of(s *huma.Schema, name string) (field *huma.Schema, known string, unknown bool) {
	if s == nil {
		return nil, "", false
	}
	if field = s.Properties[name]; field != nil {
		return f.resolved(field), name, false
	}
	if closed := s.AdditionalProperties == false; !closed {
		for known, field := range s.Properties {
			if strings.EqualFold(known, name) { // as encoding/json
				return f.resolved(field), known, false
			}
		}
	}
	if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
		return f.resolved(extra), "", false
	}
	return nil, "", len(s.Properties) > 0
}

// whyNot is why a field of the document has no effect; "" when it has one.
func (f fields) whyNot(name string) string {
	if why := f.without[name]; why != "" {
		return why
	}
	for known, why := range f.without {
		if strings.EqualFold(known, name) { // as encoding/json
			return why
		}
	}
	return ""
}

func (f fields) resolved(s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return f.registry.SchemaFromRef(s.Ref)
	}
	return s
}

// fieldsOf is the schema of an operation's JSON body, and what is known of its fields.
func (a *API) fieldsOf(ctx huma.Context) (*huma.Schema, fields) {
	f := fields{a.Huma.OpenAPI().Components.Schemas, a.Vocabulary.WithoutEffect, recordOf(ctx.Context()).warn}
	for media, content := range ctx.Operation().RequestBody.Content {
		if strings.HasSuffix(media, "json") {
			return f.resolved(content.Schema), f
		}
	}
	return nil, f
}
