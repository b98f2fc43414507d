package dynamic

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
)

// ProgramRequest is the body of POST /api/v1/dynamic-tools.
type ProgramRequest struct {
	ToolID       string         `json:"tool_id" minLength:"1" maxLength:"128" pattern:"^[a-z][a-z0-9_-]*$" doc:"What models call it."`
	ToolkitID    string         `json:"toolkit_id,omitempty" maxLength:"63" doc:"A toolkit of yours; global when absent."`
	Description  string         `json:"description" minLength:"1" maxLength:"2000" doc:"What it does, for models and people."`
	WhenToUse    string         `json:"when_to_use,omitempty" maxLength:"2000"`
	Code         string         `json:"code" minLength:"1" maxLength:"262144" doc:"In TypeScript or JavaScript an ES module that exports run(input); in Python a function run(input). It may be asynchronous."`
	InputSchema  map[string]any `json:"input_schema,omitempty" doc:"JSON Schema of the input: an object."`
	OutputSchema map[string]any `json:"output_schema,omitempty" doc:"JSON Schema of what run returns; anything when absent."`
	Timeout      int64          `json:"timeout,omitempty" minimum:"1000" maximum:"300000" doc:"How long a call may take, in milliseconds; 30,000 when absent."`
	Shared       bool           `json:"shared,omitempty" doc:"For all tasks of the team, always with your secrets. Only an admin of the team may set it."`
}

// ProgramPatch is the body of PATCH /api/v1/dynamic-tools/{dynamic_tool_id}.
type ProgramPatch struct {
	Description  *string         `json:"description,omitempty" minLength:"1" maxLength:"2000"`
	WhenToUse    *string         `json:"when_to_use,omitempty" maxLength:"2000"`
	Code         *string         `json:"code,omitempty" minLength:"1" maxLength:"262144" doc:"The program, as when it is created."`
	InputSchema  *map[string]any `json:"input_schema,omitempty" doc:"JSON Schema of the input: an object."`
	OutputSchema *map[string]any `json:"output_schema,omitempty" doc:"JSON Schema of what run returns."`
	Timeout      *int64          `json:"timeout,omitempty" minimum:"1000" maximum:"300000" doc:"How long a call may take, in milliseconds."`
	Enabled      *bool           `json:"enabled,omitempty"`
	Shared       *bool           `json:"shared,omitempty"`
}

// Program is a tool that a person wrote.
type Program struct {
	ID           string    `json:"id"`
	ToolID       string    `json:"tool_id" doc:"What models call it."`
	ToolkitID    string    `json:"toolkit_id" doc:"The id of its toolkit."`
	Description  string    `json:"description"`
	WhenToUse    string    `json:"when_to_use"`
	Code         string    `json:"code" doc:"Empty for who is not its owner."`
	InputSchema  any       `json:"input_schema" doc:"JSON Schema of the input."`
	OutputSchema any       `json:"output_schema" doc:"JSON Schema of what run returns; null: anything."`
	Timeout      int64     `json:"timeout" doc:"In milliseconds."`
	Enabled      bool      `json:"enabled"`
	Shared       bool      `json:"shared"`
	IsOwner      bool      `json:"is_owner"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// ProgramList is the tools that the caller may see.
type ProgramList struct {
	Tools []Program `json:"tools" doc:"Yours by name, then those that are shared."`
	Total int       `json:"total"`
}

// ProgramTest is the body of POST /api/v1/dynamic-tools/{dynamic_tool_id}/test.
type ProgramTest struct {
	Input   map[string]any `json:"input,omitempty" doc:"What run gets; {} when absent."`
	Targets []string       `json:"targets,omitempty" maxItems:"20" doc:"What the tool may reach: hosts, addresses, ranges. Nothing when absent."`
}

// ProgramOutput is what a test came to.
type ProgramOutput struct {
	Success    bool   `json:"success" doc:"It did not fail."`
	Output     any    `json:"output" doc:"What run returned."`
	Error      string `json:"error" doc:"What it threw, or why it was ended; empty when it did not fail."`
	Logs       string `json:"logs" doc:"What it printed."`
	DurationMS int64  `json:"duration_ms"`
}

func programOf(ctx context.Context, t toolkit.Tool) Program {
	c, _ := account.From(ctx) // without a caller, nothing is found
	p := Program{
		ID: t.ID, ToolID: t.ToolID, ToolkitID: t.Toolkit, Description: t.Description, WhenToUse: t.WhenToUse, Code: t.Code,
		InputSchema: rest.Document(t.InputSchema), OutputSchema: rest.Document(t.OutputSchema),
		Timeout: t.Timeout.Milliseconds(),
		Enabled: t.Enabled, Shared: t.Shared, IsOwner: t.OwnerID == c.UserID, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	if !p.IsOwner {
		p.Code = ""
	}
	return p
}

func (p ProgramPatch) change() (toolkit.ToolChange, error) {
	out := toolkit.ToolChange{
		Description: p.Description, WhenToUse: p.WhenToUse, Code: p.Code, Enabled: p.Enabled, Shared: p.Shared,
	}
	if p.Timeout != nil {
		out.Timeout = new(time.Duration(*p.Timeout) * time.Millisecond)
	}
	for doc, to := range map[*map[string]any]**json.RawMessage{p.InputSchema: &out.InputSchema,
		p.OutputSchema: &out.OutputSchema} {
		if doc == nil {
			continue
		}
		text, err := rest.Encoded(*doc)
		if err != nil {
			return out, err
		}
		*to = &text
	}
	return out, nil
}

// ProgramPath names a tool.
type ProgramPath struct {
	ID string `path:"dynamic_tool_id" doc:"The tool's id."`
}

// programs are the operations on tools that people write.
func (s surface) programs() {
	const path, tag = "/api/v1/dynamic-tools", "Dynamic Tools"

	create := op("create-dynamic-tool", "POST "+path, tag, "Create a tool as a program", 404, 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "It runs apart from this server, which it cannot read or change, and reaches what the scope of its task allows, " +
		"through the proxy that its environment names. It gets the secrets that its toolkit names."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body ProgramRequest }) (*Program, error) {
		b := in.Body
		input, err := rest.Encoded(b.InputSchema)
		if err != nil {
			return nil, err
		}
		output, err := rest.Encoded(b.OutputSchema)
		if err != nil {
			return nil, err
		}
		made, err := s.Toolkits.CreateTool(ctx, b.ToolkitID, toolkit.ToolText{
			ToolID: b.ToolID, Description: b.Description, WhenToUse: b.WhenToUse, Code: b.Code, InputSchema: input,
			OutputSchema: output, Timeout: time.Duration(b.Timeout) * time.Millisecond, Shared: b.Shared,
		})
		return new(programOf(ctx, made)), err
	})

	rest.Handle(s.API, op("list-dynamic-tools", "GET "+path, tag, "List the programs that your tasks may use as tools"),
		func(ctx context.Context, _ *struct{}) (*ProgramList, error) {
			found, err := s.Toolkits.Tools(ctx)
			return &ProgramList{rest.Each(found, func(t toolkit.Tool) Program { return programOf(ctx, t) }), len(found)}, err
		})

	rest.Handle(s.API, op("get-dynamic-tool", "GET "+path+"/{dynamic_tool_id}", tag, "Get a tool that is a program", 404),
		func(ctx context.Context, in *ProgramPath) (*Program, error) {
			found, err := s.Toolkits.Tool(ctx, in.ID)
			return new(programOf(ctx, found)), err
		})

	patch := op(
		"update-dynamic-tool",
		"PATCH "+path+"/{dynamic_tool_id}",
		tag,
		"Change a tool of yours that is a program",
		404,
	)
	patch.Description = "What is absent stays."
	rest.Handle(s.API, patch, func(ctx context.Context, in *struct {
		ProgramPath
		Body ProgramPatch
	}) (*Program, error) {
		change, err := in.Body.change()
		if err != nil {
			return nil, err
		}
		changed, err := s.Toolkits.UpdateTool(ctx, in.ID, change)
		return new(programOf(ctx, changed)), err
	})

	signin.Act(s.API, op("delete-dynamic-tool", "DELETE "+path+"/{dynamic_tool_id}", tag,
		"Delete a tool of yours that is a program; an admin may delete a shared one", 404), "The tool is deleted.",
		func(ctx context.Context, in *ProgramPath) error { return s.Toolkits.DeleteTool(ctx, in.ID) })

	test := op("test-dynamic-tool", "POST "+path+"/{dynamic_tool_id}/test", tag, "Run a tool of yours once", 404, 409, 503)
	test.Description = "The answer comes when it has ended. It reaches the targets that are named, as a task with these targets would."
	rest.Handle(s.API, test, func(ctx context.Context, in *struct {
		ProgramPath
		Body ProgramTest
	}) (*ProgramOutput, error) {
		input, err := rest.Encoded(in.Body.Input)
		if err != nil {
			return nil, err
		}
		out, err := s.Toolkits.Test(ctx, in.ID, input, in.Body.Targets)
		return &ProgramOutput{
			Success: out.Fault == "", Output: rest.Document(out.Result), Error: out.Fault, Logs: out.Logs,
			DurationMS: out.Took.Milliseconds(),
		}, err
	})
}
