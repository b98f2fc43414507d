// Package templates has the operations of the platform API about templates: lists, search, a team's own and shared
// ones.
package templates

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/generate"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Services are what the operations call.
type Services struct {
	Catalog *catalog.Catalog
	Models  *model.Models
	Signers *signer.Signers
}

type area struct {
	*rest.API
	Services
}

// Register adds the operations to the API.
func Register(api *rest.API, services Services) {
	s := area{api, services}
	s.templates()
	s.keys()
}

const tag = "Templates"

// TemplatePath names a template.
type TemplatePath struct {
	ID string `path:"template_id" doc:"The template's unique id."`
}

// TemplateList is a window of a list of templates.
type TemplateList struct {
	Message string                      `json:"message"`
	Count   int                         `json:"count"`
	Total   int                         `json:"total"`
	Results []wire.Picked[TemplateData] `json:"results"`
}

// PublicTemplate is the answer about one public template.
type PublicTemplate struct {
	Message string                    `json:"message"`
	Data    wire.Picked[TemplateData] `json:"data" doc:"The template."`
}

// OneTemplate is the answer about one template.
type OneTemplate struct {
	Message  string       `json:"message"`
	Template TemplateData `json:"template" doc:"The template."`
}

// TemplateCreation is a template to be made.
type TemplateCreation struct {
	Template string `json:"template" minLength:"1"`
	Prompt   string `json:"prompt,omitempty" maxLength:"8000"`
}

// TemplateReplacement is a template's new text.
type TemplateReplacement struct {
	ID       string `json:"template_id" minLength:"1"`
	Template string `json:"template" minLength:"1"`
	Prompt   string `json:"prompt,omitempty" maxLength:"8000" doc:"The prompt that it was written from; unchanged without it."`
	Filename string `json:"filename,omitempty" maxLength:"255" doc:"Its file's name; unchanged without it."`
	Dir      string `json:"dir,omitempty" maxLength:"255" doc:"Its folder; unchanged without it."`
}

// TemplateMade says that a template was made.
type TemplateMade struct {
	Message      string       `json:"message"`
	TemplateID   string       `json:"template_id"`
	TemplateName string       `json:"template_name" doc:"Its name."`
	Template     TemplateData `json:"template" doc:"The template."`
}

// TemplateChanged says that a template was changed.
type TemplateChanged struct {
	TemplateMade
	Status bool `json:"status" doc:"Always true."`
}

// TemplateDeleted says that a template was deleted.
type TemplateDeleted struct {
	Message string `json:"message"`
	Status  bool   `json:"status" doc:"Always true."`
}

// TemplateWish is a prompt for a model.
type TemplateWish struct {
	Prompt          string   `json:"prompt" minLength:"5" maxLength:"3000" doc:"What the template should find, in words."`
	Retest          bool     `json:"retest,omitempty" doc:"Not supported: refused. Send the template to POST /v1/scans."`
	DisableAutoSave bool     `json:"disableAutoSave,omitempty" doc:"Do not keep it."`
	Images          []string `json:"images,omitempty" maxItems:"10" doc:"Not supported: refused. Models read the prompt only."`
}

// TemplateWritten is a template by a model.
type TemplateWritten struct {
	Message    string `json:"message"`
	TemplateID string `json:"template_id" doc:"The id under which it is kept; with disableAutoSave the one in its text. Empty when it is not valid."`
	Name       string `json:"name"`
	Completion string `json:"completion" doc:"Its text, or what the model answered instead."`
	CanRun     bool   `json:"canRun" doc:"The engine can run it."`
	IsValid    bool   `json:"is_valid" doc:"It is well-formed."`
	Retries    int    `json:"retry_count" doc:"How often the model was told what is wrong with it."`
	Feedback   string `json:"feedback" doc:"What is still wrong with it."`
}

type templateListInput struct {
	wire.Window
	Fields
}

func handle[I, O any](s area, op rest.Op, handler func(context.Context, *I) (*O, error)) {
	rest.Handle(s.API, op, handler)
}

func (s area) templates() {
	const path = "/v1/template"
	list := func(
		op rest.Op, message string, find func(context.Context, page.Window, bool) ([]catalog.Template, int, error),
	) {
		handle(s, op, func(ctx context.Context, in *templateListInput) (*TemplateList, error) {
			fields, raw, err := pick[TemplateData](in.Fields.Fields)
			if err != nil {
				return nil, err
			}
			found, total, err := find(ctx, in.Page(), raw)
			results := rest.Each(found, func(t catalog.Template) wire.Picked[TemplateData] {
				return wire.Picked[TemplateData]{Value: templateOf(t), Fields: fields}
			})
			return &TemplateList{message, len(found), total, results}, err
		})
	}
	list(wire.Op("list-public-templates", "GET "+path+"/public", tag, "List the public templates, by id"),
		"Public templates.", s.Catalog.Public)
	list(wire.Op("list-early-templates", "GET "+path+"/early", tag, "List the early templates, by id"),
		"Early templates.", s.Catalog.Early)
	list(wire.Op("list-templates", "GET "+path, tag, "List your team's templates, newest first"),
		"Your team's templates.", s.Catalog.Own)
	handle(s, wire.Op("get-public-template", "GET "+path+"/public/{template_id}", tag, "Get a public template", 404),
		s.publicTemplate)
	rest.Register(s.API, s.withText(wire.Op("get-early-template", "GET "+path+"/early/{id}", tag,
		"Get an early template, or its text with Accept: text/plain", 404)), s.earlyTemplate)
	rest.Register(s.API, s.withText(wire.Op("get-template", "GET "+path+"/{template_id}", tag,
		"Get a template of your team, or its text with Accept: text/plain", 404)),
		func(ctx context.Context, in *struct {
			TemplatePath
			Accept string `header:"Accept" doc:"text/plain for the text alone."`
		}) (*huma.StreamResponse, error) {
			t, err := s.Catalog.OwnByID(ctx, in.ID)
			return textOr(in.Accept, t.Raw, rest.Warned(ctx, OneTemplate{"Your team's template.", templateOf(t)})), err
		})
	handle(s, wire.Op("create-template", "POST "+path, tag, "Create a template; the engine checks it", 403),
		s.createTemplate)
	handle(s, wire.Op("update-template", "PATCH "+path, tag, "Replace the text of a template; the engine checks it", 404),
		s.updateTemplate)
	handle(s, wire.Op("delete-template", "DELETE "+path+"/{template_id}", tag,
		"Delete a template, and the link under which it is shared", 404),
		func(ctx context.Context, in *TemplatePath) (*TemplateDeleted, error) {
			return &TemplateDeleted{"The template is deleted.", true}, s.Catalog.Delete(ctx, in.ID)
		})
	handle(s, wire.Op("generate-template", "POST "+path+"/ai", tag, "Generate a template with a model"),
		s.generateTemplate)
	s.drafts()
	s.shares()
	s.search()
}

func (s area) generateTemplate(ctx context.Context, in *struct{ Body TemplateWish }) (*TemplateWritten, error) {
	switch b := in.Body; {
	case b.Retest:
		return nil, errs.Field("retest", "retest is not supported: send the template and targets to POST /v1/scans.")
	case len(b.Images) > 0:
		return nil, errs.Field("images", "images are not supported: describe in prompt what they show.")
	}
	w, err := generate.Template(ctx, s.Models, s.Catalog, in.Body.Prompt)
	if err != nil {
		return nil, err
	}
	if w.Valid {
		rest.About(ctx, w.ID)
	}
	out := &TemplateWritten{
		Message: "The template is made by " + w.Model + ". Read it before you run it.", TemplateID: w.ID, Name: w.Name,
		Completion: w.Text, CanRun: w.CanRun, IsValid: w.Valid, Retries: w.Repairs, Feedback: w.Problem,
	}
	if !w.Valid {
		out.Message = "The model wrote no valid template."
		return out, nil
	}
	if !in.Body.DisableAutoSave {
		t, err := s.Catalog.Create(ctx, catalog.NewTemplate{Text: w.Text, Prompt: in.Body.Prompt, Model: w.Model})
		if err != nil {
			return nil, err
		}
		out.TemplateID = t.ID
	}
	return out, nil
}

func (s area) publicTemplate(ctx context.Context, in *struct {
	TemplatePath
	Fields
}) (*PublicTemplate, error) {
	fields, _, err := pick[TemplateData](in.Fields.Fields)
	if err != nil {
		return nil, err
	}
	t, err := s.Catalog.PublicByID(ctx, in.ID)
	return &PublicTemplate{"A public template.", wire.Picked[TemplateData]{Value: templateOf(t), Fields: fields}}, err
}

func (s area) earlyTemplate(ctx context.Context, in *struct {
	ID     string `path:"id" doc:"The template's id."`
	Accept string `header:"Accept" doc:"text/plain for the text alone."`
}) (*huma.StreamResponse, error) {
	t, err := s.Catalog.EarlyByID(ctx, in.ID)
	return textOr(in.Accept, t.Raw, rest.Warned(ctx, OneTemplate{"An early template.", templateOf(t)})), err
}

func (s area) createTemplate(ctx context.Context, in *struct {
	Filename string `query:"filename" maxLength:"255" doc:"Its file's name; its id and .yaml without it."`
	Dir      string `query:"dir" maxLength:"255" doc:"The folder that it is in."`
	Body     TemplateCreation
}) (*TemplateMade, error) {
	t, err := s.Catalog.Create(ctx,
		catalog.NewTemplate{Text: in.Body.Template, Prompt: in.Body.Prompt, Filename: in.Filename, Dir: in.Dir})
	return &TemplateMade{"The template is made.", t.ID, t.Info.Name, templateOf(t)}, err
}

func (s area) updateTemplate(ctx context.Context, in *struct{ Body TemplateReplacement }) (*TemplateChanged, error) {
	b := in.Body
	t, err := s.Catalog.Update(ctx, b.ID,
		catalog.NewTemplate{Text: b.Template, Prompt: b.Prompt, Filename: b.Filename, Dir: b.Dir})
	return &TemplateChanged{TemplateMade{"The template is changed.", t.ID, t.Info.Name, templateOf(t)}, true}, err
}

const plainText = "text/plain; charset=utf-8"

// withText describes the answers of an operation with a template or its text.
func (s area) withText(o rest.Op) rest.Op {
	document := s.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[OneTemplate](), true, "")
	o.Responses = map[string]*huma.Response{"200": {Description: "The template, or its text.",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: document},
			"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
		}}}
	return o
}

// textOr answers with a template's text for callers that accept text/plain, else with a document.
func textOr(accept string, raw []byte, doc any) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if wantsText(accept) {
			writeText(ctx, raw)
			return
		}
		ctx.SetHeader("Content-Type", "application/json")
		_ = json.NewEncoder(ctx.BodyWriter()).Encode(doc) // the client may have disconnected
	}}
}

// wantsText reports whether an Accept header names text/plain before JSON.
func wantsText(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	media, _, _ := strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/plain")
}

func writeText(ctx huma.Context, raw []byte) {
	ctx.SetHeader("Content-Type", plainText)
	_, _ = ctx.BodyWriter().Write(raw) // the client may have disconnected
}
