package agentapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/extension"
)

// ToolRequest is the body of POST /api/v1/tools.
type ToolRequest struct {
	Name         string            `json:"name" minLength:"1" maxLength:"64" pattern:"^[a-z][a-z0-9_-]*$" doc:"What models call it."`
	Description  string            `json:"description" minLength:"1" maxLength:"2000" doc:"What it does, for models and people."`
	WhenToUse    string            `json:"when_to_use,omitempty" maxLength:"2000"`
	InputSchema  map[string]any    `json:"input_schema,omitempty" doc:"JSON Schema of the arguments: an object. Arguments are checked against it before each call."`
	Timeout      int64             `json:"timeout,omitempty" minimum:"1000" maximum:"300000" doc:"How long a call may take, in milliseconds; 30,000 when absent."`
	Method       string            `json:"method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE"`
	URL          string            `json:"url" minLength:"1" maxLength:"2000" doc:"Scheme and host are written out; in path and query {{name}} is an argument and {{$NAME}} a secret of yours."`
	Headers      map[string]string `json:"headers,omitempty" doc:"Placeholders may stand in the values. Credentials must be secrets."`
	Query        map[string]string `json:"query,omitempty"`
	Body         json.RawMessage   `json:"body,omitempty" doc:"A JSON document, in which a text that is nothing but {{name}} becomes the argument as it is; or a text, in the format that the header Content-Type names."`
	ResponsePath string            `json:"response_path,omitempty" maxLength:"500"`
	Shared       bool              `json:"shared,omitempty"`
	Trusted      bool              `json:"trusted,omitempty"`
}

// ToolPatch is the body of PATCH /api/v1/tools/{tool_id}.
type ToolPatch struct {
	Name         *string            `json:"name,omitempty" minLength:"1" maxLength:"64" pattern:"^[a-z][a-z0-9_-]*$" doc:"What models call it."`
	Description  *string            `json:"description,omitempty" minLength:"1" maxLength:"2000" doc:"What it does, for models and people."`
	WhenToUse    *string            `json:"when_to_use,omitempty" maxLength:"2000"`
	InputSchema  *map[string]any    `json:"input_schema,omitempty"`
	Timeout      *int64             `json:"timeout,omitempty" minimum:"1000" maximum:"300000" doc:"How long a call may take, in milliseconds."`
	Method       *string            `json:"method,omitempty" enum:"GET,HEAD,POST,PUT,PATCH,DELETE"`
	URL          *string            `json:"url,omitempty" minLength:"1" maxLength:"2000" doc:"Where the request goes; {{name}} is an argument and {{$NAME}} a secret."`
	Headers      *map[string]string `json:"headers,omitempty" doc:"In the place of all that were there; so are query and input_schema."`
	Query        *map[string]string `json:"query,omitempty"`
	Body         json.RawMessage    `json:"body,omitempty"`
	ResponsePath *string            `json:"response_path,omitempty" maxLength:"500"`
	Enabled      *bool              `json:"enabled,omitempty"`
	Shared       *bool              `json:"shared,omitempty"`
	Trusted      *bool              `json:"trusted,omitempty"`
}

// Tool is an HTTP tool of a user.
type Tool struct {
	ID           string            `json:"id"`
	Name         string            `json:"name" doc:"What models call it."`
	Description  string            `json:"description" doc:"What it does, for models and people."`
	WhenToUse    string            `json:"when_to_use"`
	InputSchema  any               `json:"input_schema"`
	Timeout      int64             `json:"timeout" doc:"In milliseconds."`
	Method       string            `json:"method"`
	URL          string            `json:"url" doc:"Where the request goes; {{name}} is an argument and {{$NAME}} a secret."`
	Headers      map[string]string `json:"headers" doc:"The headers of the request."`
	Query        map[string]string `json:"query"`
	Body         any               `json:"body"`
	ResponsePath string            `json:"response_path"`
	Enabled      bool              `json:"enabled"`
	Shared       bool              `json:"shared"`
	Trusted      bool              `json:"trusted"`
	IsOwner      bool              `json:"is_owner"`
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

// ToolList is the HTTP tools that the caller may see.
type ToolList struct {
	Tools []Tool `json:"tools" doc:"Yours by name, then those that are shared."`
	Total int    `json:"total"`
}

func toolOf(ctx context.Context, t extension.Tool) Tool {
	c, _ := account.From(ctx) // without a caller, nothing is found
	return Tool{
		ID: t.ID, Name: t.Name, Description: t.Description, WhenToUse: t.WhenToUse, InputSchema: rest.Document(t.InputSchema),
		Timeout: t.Timeout.Milliseconds(),
		Method:  t.Request.Method, URL: t.Request.URL, Headers: rest.OrEmptyMap(t.Request.Headers),
		Query: rest.OrEmptyMap(t.Request.Query), Body: rest.Document(t.Request.Body), ResponsePath: t.Request.ResponsePath,
		Enabled: t.Enabled, Shared: t.Shared, Trusted: t.Trusted, IsOwner: t.OwnerID == c.UserID, CreatedAt: t.CreatedAt,
		UpdatedAt: t.UpdatedAt,
	}
}

func (p ToolPatch) change() (extension.ToolChange, error) {
	out := extension.ToolChange{
		Name: p.Name, Description: p.Description, WhenToUse: p.WhenToUse, Method: p.Method, URL: p.URL, Headers: p.Headers,
		Query: p.Query, ResponsePath: p.ResponsePath,
		Enabled: p.Enabled, Shared: p.Shared, Trusted: p.Trusted,
	}
	if p.Timeout != nil {
		out.Timeout = new(time.Duration(*p.Timeout) * time.Millisecond)
	}
	if p.Body != nil {
		out.Body = &p.Body
	}
	if p.InputSchema == nil {
		return out, nil
	}
	doc, err := rest.Encoded(*p.InputSchema)
	out.InputSchema = &doc
	return out, err
}

// ToolPath names a tool.
type ToolPath struct {
	ID string `path:"tool_id" doc:"The tool's id."`
}

// tools are the operations on HTTP tools.
func (s surface) tools() {
	const path, tag = "/api/v1/tools", "Tools"

	create := op("create-tool", "POST "+path, tag, "Create a tool that makes an HTTP request", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "{{name}} stands for an argument and {{$NAME}} for a secret of yours. Each value is escaped where it is inserted; " +
		"none can choose the host, add a header or leave its segment of the path."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body ToolRequest }) (*Tool, error) {
		b := in.Body
		doc, err := rest.Encoded(b.InputSchema)
		if err != nil {
			return nil, err
		}
		made, err := s.Extensions.CreateTool(ctx,
			extension.NewTool{Shared: b.Shared, Trusted: b.Trusted, ToolText: extension.ToolText{
				Name: b.Name, Description: b.Description, WhenToUse: b.WhenToUse, InputSchema: doc,
				Timeout: time.Duration(b.Timeout) * time.Millisecond,
				Request: extension.Request{Method: b.Method, URL: b.URL, Headers: b.Headers, Query: b.Query, Body: b.Body,
					ResponsePath: b.ResponsePath},
			}})
		return new(toolOf(ctx, made)), err
	})

	rest.Handle(s.API, op("list-tools", "GET "+path, tag, "List the HTTP tools that your tasks may use"),
		func(ctx context.Context, _ *struct{}) (*ToolList, error) {
			found, err := s.Extensions.Tools(ctx)
			return &ToolList{rest.Each(found, func(t extension.Tool) Tool { return toolOf(ctx, t) }), len(found)}, err
		})

	rest.Handle(s.API, op("get-tool", "GET "+path+"/{tool_id}", tag, "Get an HTTP tool", 404),
		func(ctx context.Context, in *ToolPath) (*Tool, error) {
			found, err := s.Extensions.Tool(ctx, in.ID)
			return new(toolOf(ctx, found)), err
		})

	patch := op("update-tool", "PATCH "+path+"/{tool_id}", tag, "Change an HTTP tool of yours", 404, 409)
	patch.Description = "What is absent stays."
	rest.Handle(s.API, patch, func(ctx context.Context, in *struct {
		ToolPath
		Body ToolPatch
	}) (*Tool, error) {
		change, err := in.Body.change()
		if err != nil {
			return nil, err
		}
		changed, err := s.Extensions.UpdateTool(ctx, in.ID, change)
		return new(toolOf(ctx, changed)), err
	})

	act(s, op("delete-tool", "DELETE "+path+"/{tool_id}", tag,
		"Delete an HTTP tool of yours; an admin may delete a shared one", 404), "The tool is deleted.",
		func(ctx context.Context, in *ToolPath) error { return s.Extensions.DeleteTool(ctx, in.ID) })
}
