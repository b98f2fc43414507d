// Package prompts serves the area Prompts of the agent-task API, and fills in the prompts that tasks and schedules
// name.
package prompts

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/prompt"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Variable is a variable of a prompt.
type Variable struct {
	Name        string   `json:"name" minLength:"1" maxLength:"64" pattern:"^[a-z][a-z0-9_]*$" doc:"As in the text, where it is {{name}}."`
	Description string   `json:"description,omitempty" maxLength:"2000" doc:"What to fill in, for people."`
	Default     string   `json:"default,omitempty" maxLength:"8192" doc:"Its value when none is given; without one, it is required."`
	Required    bool     `json:"required,omitempty" readOnly:"true" doc:"Whether it has no default; of answers."`
	Choices     []string `json:"choices,omitempty" maxItems:"50" doc:"Its only values; any when absent."`
}

// Request is the body of POST and PATCH /api/v1/prompts; absent fields stay.
type Request struct {
	Name        *string     `json:"name,omitempty" minLength:"1" maxLength:"128" doc:"One line, unique among your prompts. Required for a new one."`
	Description *string     `json:"description,omitempty" maxLength:"2000" doc:"What it is for."`
	Text        *string     `json:"text,omitempty" minLength:"1" maxLength:"32768" doc:"The instruction; {{name}} is a variable. Required for a new one."`
	Variables   *[]Variable `json:"variables,omitempty" maxItems:"50" doc:"What is to be said of the variables of the text; those that are left out are required."`
	Tags        *[]string   `json:"tags,omitempty" maxItems:"50"`
	Shared      *bool       `json:"shared,omitempty" doc:"Whether the team may use it; only you change it."`
}

func (r Request) change() prompt.Change {
	c := prompt.Change{Name: r.Name, Description: r.Description, Text: r.Text, Tags: r.Tags, Shared: r.Shared}
	if r.Variables != nil {
		list := rest.Each(*r.Variables, func(v Variable) prompt.Variable { return prompt.Variable(v) })
		c.Variables = &list
	}
	return c
}

// Doc is a prompt in an answer.
type Doc struct {
	ID          string     `json:"id" doc:"A uuid, or the name of one that comes with the server."`
	Name        string     `json:"name"`
	Description string     `json:"description" doc:"What it is for."`
	Text        string     `json:"text" doc:"The instruction; {{name}} is a variable."`
	Variables   []Variable `json:"variables" doc:"In the order of the text."`
	Tags        []string   `json:"tags"`
	Type        string     `json:"type" enum:"user,team,shipped" doc:"user: yours. team: a colleague's, shared. shipped: it comes with the server."`
	Shared      bool       `json:"shared" doc:"Whether the team may use it."`
	IsOwner     bool       `json:"is_owner"`
	Version     int        `json:"version" doc:"From 1; grows with each change of its text."`
	UseCount    int        `json:"use_count" doc:"Tasks and schedules of your team that were made from it."`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

func variable(v prompt.Variable) Variable { return Variable(v) }

func doc(p prompt.Prompt) Doc {
	return Doc{
		ID: p.ID, Name: p.Name, Description: p.Description, Text: p.Text.Text, Variables: rest.Each(p.Variables, variable),
		Tags: append([]string{}, p.Tags...), Type: string(p.Origin), Shared: p.Shared, IsOwner: p.Origin == sharing.Own,
		Version: p.Version, UseCount: p.Uses, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

func answer(p prompt.Prompt, err error) (*Doc, error) { return new(doc(p)), err }

// List is the prompts that the caller may use.
type List struct {
	Prompts []Doc `json:"prompts" doc:"Yours, then those that colleagues share, then those that come with the server, each by name."`
	Total   int   `json:"total"`
}

// VersionDoc is what a prompt was.
type VersionDoc struct {
	Version     int        `json:"version" doc:"From 1."`
	Name        string     `json:"name"`
	Description string     `json:"description" doc:"What it is for."`
	Text        string     `json:"text" doc:"The instruction; {{name}} is a variable."`
	Variables   []Variable `json:"variables" doc:"In the order of the text."`
	Tags        []string   `json:"tags"`
	CreatedAt   time.Time  `json:"created_at"`
}

// VersionList is the versions of a prompt.
type VersionList struct {
	Versions []VersionDoc `json:"versions" doc:"The newest first, at most 200."`
	Total    int          `json:"total"`
}

// RenderRequest is the body of POST /api/v1/prompts/{prompt_id}/render.
type RenderRequest struct {
	Version int               `json:"version,omitempty" minimum:"1" maximum:"1000000000" doc:"The version to fill in; the present one when absent."`
	Values  map[string]string `json:"values,omitempty" doc:"The values of the variables, by name."`
}

// Rendered is a prompt that is filled in.
type Rendered struct {
	PromptID string `json:"prompt_id" doc:"The prompt's id."`
	Version  int    `json:"version" doc:"The version that was filled in."`
	Text     string `json:"text" doc:"The instruction with the values."`
}

// Path names a prompt. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"prompt_id" doc:"The prompt's id."`
}

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Prompts *prompt.Prompts
}

// Register adds the operations.
func (a Area) Register() {
	const path, tag = "/api/v1/prompts", "Prompts"
	one := path + "/{prompt_id}"
	rest.Handle(a.API, rest.NewOp("list-prompts", "GET "+path, tag, "List the prompts that you may use"),
		func(ctx context.Context, in *struct {
			Search string `query:"search" maxLength:"128" doc:"Only those with this text in the name, the description or the text."`
			Tag    string `query:"tag" maxLength:"64" doc:"Only those with this tag."`
			Type   string `query:"type" enum:"user,team,shipped" doc:"Only yours, only those that colleagues share, or only those that come with the server."`
		}) (*List, error) {
			found, err := a.Prompts.FindAll(ctx, prompt.Filter{Origin: sharing.Origin(in.Type), Search: in.Search, Tag: in.Tag})
			return &List{rest.Each(found, doc), len(found)}, err
		})

	create := rest.NewOp(
		"create-prompt",
		"POST "+path,
		tag,
		"Create an instruction with variables, for tasks and schedules",
		409,
	)
	create.DefaultStatus = http.StatusCreated
	create.Description = "prompt_id and prompt_values of a task or a schedule make its instruction from it. {{$NAME}} is the " +
		"reference of a secret, and no variable."
	rest.Handle(a.API, create, func(ctx context.Context, in *struct{ Body Request }) (*Doc, error) {
		return answer(a.Prompts.Create(ctx, in.Body.change()))
	})

	rest.Handle(a.API, rest.NewOp("get-prompt", "GET "+one, tag, "Get a prompt", 404),
		func(ctx context.Context, in *Path) (*Doc, error) { return answer(a.Prompts.Find(ctx, in.ID)) })

	update := rest.NewOp("update-prompt", "PATCH "+one, tag, "Change a prompt of yours", 404, 409)
	update.Description = "A changed text is a new version. Tasks and schedules that were made from it keep theirs."
	rest.Handle(a.API, update, func(ctx context.Context, in *struct {
		Path
		Body Request
	}) (*Doc, error) {
		return answer(a.Prompts.Update(ctx, in.ID, in.Body.change()))
	})

	signin.Act(a.API, rest.NewOp("delete-prompt", "DELETE "+one, tag,
		"Delete a prompt of yours; an admin may delete a shared one", 404, 409), "The prompt is deleted.",
		func(ctx context.Context, in *Path) error { return a.Prompts.Delete(ctx, in.ID) })

	rest.Handle(a.API, rest.NewOp("list-prompt-versions", "GET "+one+"/versions", tag, "List what a prompt was", 404),
		func(ctx context.Context, in *Path) (*VersionList, error) {
			found, err := a.Prompts.Versions(ctx, in.ID)
			return &VersionList{rest.Each(found, func(v prompt.Version) VersionDoc {
				return VersionDoc{v.Version, v.Name, v.Description, v.Text.Text, rest.Each(v.Variables, variable),
					append([]string{}, v.Tags...), v.CreatedAt}
			}), len(found)}, err
		})

	rest.Handle(
		a.API,
		rest.NewOp("render-prompt", "POST "+one+"/render", tag, "Fill in a prompt, and make nothing from it", 404),
		func(ctx context.Context, in *struct {
			Path
			Body RenderRequest
		}) (*Rendered, error) {
			f, err := a.Prompts.Fill(ctx, prompt.Call{ID: in.ID, Version: in.Body.Version, Values: in.Body.Values})
			return &Rendered{f.PromptID, f.Version, f.Text}, err
		},
	)
}

// Use is the part of a request that names a prompt in the place of an instruction.
type Use struct {
	PromptID      string            `json:"prompt_id,omitempty" maxLength:"128" doc:"A prompt that the instruction is made from, in its place."`
	PromptVersion int               `json:"prompt_version,omitempty" minimum:"1" maximum:"1000000000" doc:"The version of the prompt; the present one when absent."`
	PromptValues  map[string]string `json:"prompt_values,omitempty" doc:"The values of the prompt's variables, by name."`
}

// Fill is the instruction of a request: the one that was sent in a field, or that of the prompt.
func (u Use) Fill(
	ctx context.Context,
	prompts *prompt.Prompts,
	field, instruction string,
) (string, prompt.Filled, error) {
	switch {
	case u.PromptID == "" && u.PromptValues != nil:
		return "", prompt.Filled{}, errs.Field("prompt_values", "prompt_values: name their prompt in prompt_id.")
	case u.PromptID == "" && u.PromptVersion != 0:
		return "", prompt.Filled{}, errs.Field("prompt_version", "prompt_version: name its prompt in prompt_id.")
	case u.PromptID == "":
		return instruction, prompt.Filled{}, nil
	case instruction != "":
		return "", prompt.Filled{}, errs.Field("prompt_id", "Send %s or prompt_id, not both.", field)
	}
	f, err := prompts.Fill(ctx, prompt.Call{ID: u.PromptID, Version: u.PromptVersion, Values: u.PromptValues})
	switch e := errs.From(err); {
	case err == nil:
	case e.Kind == errs.NotFound:
		err = errs.Field("prompt_id", "prompt_id: you have no prompt with the id %q.", errs.Clip(u.PromptID, 60))
	case e.Kind == errs.Invalid:
		err = errs.Field("prompt_"+e.Param, "prompt_%s", e.Message)
	}
	return f.Text, f, err
}

// Made writes down what was made from a prompt, if it was.
func Made(ctx context.Context, prompts *prompt.Prompts, f prompt.Filled, id string) error {
	if f.PromptID == "" {
		return nil
	}
	return prompts.Made(ctx, f, id)
}

// Words name the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{Names: map[reflect.Type]string{
		reflect.TypeFor[Variable]():      "PromptVariable",
		reflect.TypeFor[Request]():       "PromptRequest",
		reflect.TypeFor[Doc]():           "Prompt",
		reflect.TypeFor[List]():          "PromptList",
		reflect.TypeFor[VersionDoc]():    "PromptVersion",
		reflect.TypeFor[VersionList]():   "PromptVersionList",
		reflect.TypeFor[RenderRequest](): "PromptRenderRequest",
		reflect.TypeFor[Rendered]():      "RenderedPrompt",
	}, Words: map[string]string{}}
}
