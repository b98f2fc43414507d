package templates

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
)

// TemplateDraft is a template that is not stored.
type TemplateDraft struct {
	Template string `json:"template" minLength:"1" maxLength:"1048576"`
}

// TemplateFault is what keeps a template from being run.
type TemplateFault struct {
	Line    int    `json:"line" doc:"The line, from 1; 0 for the whole template."`
	Key     string `json:"key" doc:"The key in it, such as http[0].matchers[1].type; may be empty."`
	Code    string `json:"code" doc:"Such as template_invalid or template_unsupported."`
	Message string `json:"message"`
}

// TemplateVerdict is what the engine says of a template.
type TemplateVerdict struct {
	Message  string          `json:"message"`
	Valid    bool            `json:"valid" doc:"The engine can run it."`
	Faults   []TemplateFault `json:"faults" doc:"The first fault; empty for a valid template."`
	ID       string          `json:"id" doc:"The id in its text."`
	Name     string          `json:"name"`
	Severity string          `json:"severity"`
	Type     string          `json:"type" doc:"Its protocol."`
	Requests int             `json:"requests" doc:"How many requests it sends to a target at most."`
}

// TemplateTrialRequest tests a template on one response.
type TemplateTrialRequest struct {
	TemplateDraft
	Response string `json:"response" minLength:"1" maxLength:"1048576" doc:"An HTTP response as text: status line, headers, an empty line, body. A request before it is left out."`
}

// TemplateMatch is what a template found in a response.
type TemplateMatch struct {
	Matcher   string   `json:"matcher_name" doc:"The name of the matcher; may be empty."`
	Extractor string   `json:"extractor_name" doc:"The name of the extractor; may be empty."`
	Extracted []string `json:"extracted_results" doc:"What was extracted."`
}

// TemplateTrial is how a template did on a response.
type TemplateTrial struct {
	Message  string          `json:"message"`
	Matched  bool            `json:"matched" doc:"The template matches the response."`
	Matches  []TemplateMatch `json:"matches" doc:"What it found; at most 50."`
	Requests int             `json:"requests" doc:"How many requests the engine sent, with those by which it looks at the server first; each got the response."`
	State    string          `json:"state" doc:"How the test ended, as in the coverage of a scan, such as tested or skipped."`
	Reason   string          `json:"reason" doc:"Why it was not tested; empty where it was."`
}

func (s area) drafts() {
	const path = "/v1/template"
	text := wire.Op("get-template-schema", "GET "+path+"/schema", tag,
		"Get a JSON Schema (draft 7) of the template language, for editors")
	text.Responses = map[string]*huma.Response{"200": {Description: "The schema.",
		Content: map[string]*huma.MediaType{"application/schema+json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}}
	rest.Register(s.API, text, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		body, err := catalog.Schema()
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "application/schema+json")
			_, _ = hc.BodyWriter().Write(body) // the client may have disconnected
		}}, err
	})
	handle(s, wire.Op("validate-template", "POST "+path+"/validate", tag,
		"Have the engine check a template, and store nothing", 403), s.validateTemplate)
	handle(s, wire.Op("test-template", "POST "+path+"/test", tag,
		"Test a template, which is not stored, on a response; no target is contacted", 403), s.testTemplate)
}

func (s area) validateTemplate(ctx context.Context, in *struct{ Body TemplateDraft }) (*TemplateVerdict, error) {
	v, err := s.Catalog.Validate(ctx, in.Body.Template)
	if err != nil {
		return nil, err
	}
	if f := v.Fault; f != nil {
		return &TemplateVerdict{Message: "The template cannot be run.", Faults: []TemplateFault{TemplateFault(*f)}}, nil
	}
	why, err := s.Signers.Refusal(ctx, in.Body.Template)
	if err != nil {
		return nil, err
	}
	if why != "" {
		f := TemplateFault{Key: "code", Code: "template_unsupported", Message: why}
		return &TemplateVerdict{Message: "The template cannot be run.", Faults: []TemplateFault{f}}, nil
	}
	return &TemplateVerdict{
		Message: "The template can be run.", Valid: true, Faults: []TemplateFault{}, ID: v.Template.WrittenID,
		Name: v.Template.Info.Name, Severity: string(v.Template.Info.Severity), Type: v.Template.Type, Requests: v.Requests,
	}, nil
}

func (s area) testTemplate(ctx context.Context, in *struct{ Body TemplateTrialRequest }) (*TemplateTrial, error) {
	t, err := s.Catalog.Try(ctx, in.Body.Template, in.Body.Response)
	if err != nil {
		return nil, err
	}
	out := TemplateTrial{Message: "It does not match.", Matched: len(t.Matches) > 0, Requests: t.Requests, State: t.State,
		Reason: t.Reason}
	if out.Matched {
		out.Message = "It matches."
	}
	out.Matches = rest.Each(t.Matches, func(m catalog.Match) TemplateMatch {
		return TemplateMatch{m.Matcher, m.Extractor, rest.OrEmpty(m.Extracted)}
	})
	return &out, nil
}
