package templates

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
)

// ShareRequest shares a template under a link.
type ShareRequest struct {
	TemplateID    string   `json:"template_id" minLength:"1" doc:"The template, one of your team's."`
	ShareType     string   `json:"share_type" enum:"unlisted,organization,users" doc:"Who may read it besides your team: all who have the link, organizations, or users."`
	TTL           string   `json:"ttl,omitempty" maxLength:"20" doc:"How long: a number of s, min, h, d, w, m (months) or y, such as 1d or 1m; for ever without it."`
	Organizations []string `json:"organizations,omitempty" maxItems:"100" doc:"The organizations: ids of teams, or e-mail domains."`
	Emails        []string `json:"emails,omitempty" maxItems:"100" doc:"The users, by e-mail address; needed for share_type users."`
}

// ShareUpdateRequest changes a link (specification, Shared template update request).
type ShareUpdateRequest struct {
	TTL           *string  `json:"ttl,omitempty" maxLength:"20" doc:"How long from now, as in making it; never for ever."`
	ShareType     *string  `json:"share_type,omitempty" enum:"unlisted,organization,users"`
	Users         []int64  `json:"users,omitempty" maxItems:"100" doc:"Users by number. Users of this server have none: name them in emails."`
	Emails        []string `json:"emails,omitempty" maxItems:"100" doc:"The users, by e-mail address, instead of those of before."`
	Organizations []string `json:"organizations,omitempty" maxItems:"100" doc:"The organizations, instead of those of before."`
}

// ShareResult is how a template is shared (specification, Shared template update result).
type ShareResult struct {
	ExpiresAt     *time.Time `json:"expires_at,omitempty" doc:"When the link ends; absent when it does not."`
	Organizations []string   `json:"organizations"`
	ShareType     string     `json:"share_type" enum:"unlisted,organization,users"`
	TemplateID    string     `json:"template_id" doc:"The id under which it is shared."`
	UsersEmail    []string   `json:"users_email"`
}

// ShareAnswer says how a template is shared now.
type ShareAnswer struct {
	Message string      `json:"message"`
	Result  ShareResult `json:"result" doc:"How it is shared."`
}

// SharedTemplate is the answer about one shared template.
type SharedTemplate struct {
	Message string                          `json:"message"`
	Result  wire.Picked[SharedTemplateData] `json:"result" doc:"The template."`
}

// SharedTemplateList is a page of shared templates.
type SharedTemplateList struct {
	Message string                            `json:"message"`
	Count   int                               `json:"count"`
	Total   int                               `json:"total"`
	Results []wire.Picked[SharedTemplateData] `json:"results"`
}

func shareResult(s catalog.Share, id string) ShareResult {
	out := ShareResult{nil, rest.OrEmpty(s.Organizations), string(s.Type), id, rest.OrEmpty(s.Emails)}
	if !s.ExpiresAt.IsZero() {
		out.ExpiresAt = &s.ExpiresAt
	}
	return out
}

func (s area) shares() {
	const path = "/v1/template/share"
	const one = path + "/{template_id}"
	handle(s, wire.Op("list-shared-templates", "GET "+path, tag,
		"List the templates that your team shares, newest first"), s.listShares)
	handle(s, wire.Op("share-template", "POST "+path, tag, "Share one of your team's templates under a new link", 404,
		409),
		func(ctx context.Context, in *struct{ Body ShareRequest }) (*ShareAnswer, error) {
			kind := catalog.ShareType(in.Body.ShareType)
			made, err := s.Catalog.ShareTemplate(ctx, in.Body.TemplateID, catalog.ShareUpdate{
				Type: &kind, TTL: &in.Body.TTL, Emails: in.Body.Emails, Organizations: in.Body.Organizations,
			})
			return &ShareAnswer{"The template is shared.", shareResult(made, made.ID)}, err
		})
	handle(s, wire.Op("get-shared-template", "GET "+one, tag, "Get a template that is shared with you", 404),
		s.sharedTemplate)
	text := wire.Op("get-shared-template-text", "GET "+one+".yaml", tag,
		"Get the text of a shared template, for scanners; an unlisted one needs no key", 404)
	text.Auth = rest.Optional
	text.Responses = map[string]*huma.Response{"200": {Description: "The text.",
		Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	rest.Register(s.API, text, func(ctx context.Context, in *TemplatePath) (*huma.StreamResponse, error) {
		_, t, err := s.Catalog.Shared(ctx, in.ID)
		return &huma.StreamResponse{Body: func(hc huma.Context) { writeText(hc, t.Raw) }}, err
	})
	handle(s, wire.Op("update-shared-template", "PATCH "+one, tag, "Change how a template is shared", 404),
		func(ctx context.Context, in *struct {
			TemplatePath
			Body ShareUpdateRequest
		}) (*ShareAnswer, error) {
			b := in.Body
			made, err := s.Catalog.UpdateShare(ctx, in.ID, catalog.ShareUpdate{
				Type: (*catalog.ShareType)(b.ShareType), TTL: b.TTL, Emails: b.Emails, Organizations: b.Organizations,
			})
			return &ShareAnswer{"The sharing is changed.", shareResult(made, in.ID)}, err
		})
	handle(s, wire.Op("unshare-template", "DELETE "+one, tag, "Stop sharing a template; its link stops working for good",
		404),
		func(ctx context.Context, in *TemplatePath) (*wire.Message, error) {
			return wire.Messagef("The template is not shared any more."), s.Catalog.Unshare(ctx, in.ID)
		})
}

func (s area) sharedTemplate(ctx context.Context, in *struct {
	TemplatePath
	Fields
}) (*SharedTemplate, error) {
	fields, _, err := pick[SharedTemplateData](in.Fields.Fields)
	if err != nil {
		return nil, err
	}
	share, t, err := s.Catalog.Shared(ctx, in.ID)
	return &SharedTemplate{"A shared template.", wire.Picked[SharedTemplateData]{Value: sharedOf(share, t), Fields: fields}}, err
}

func (s area) listShares(ctx context.Context, in *struct {
	wire.Window
	Fields
	TemplateOrder
}) (*SharedTemplateList, error) {
	fields, raw, err := pick[SharedTemplateData](in.Fields.Fields)
	if err != nil {
		return nil, err
	}
	sorts, err := in.sorts()
	if err != nil {
		return nil, err
	}
	found, total, err := s.Catalog.Shares(ctx, sorts, in.Page(), raw)
	results := rest.Each(found, func(one catalog.SharedTemplate) wire.Picked[SharedTemplateData] {
		return wire.Picked[SharedTemplateData]{Value: sharedOf(one.Share, one.Template), Fields: fields}
	})
	return &SharedTemplateList{"What your team shares.", len(found), total, results}, err
}
