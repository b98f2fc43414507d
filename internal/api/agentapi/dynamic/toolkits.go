// Package dynamic has the operations on tools that people write as programs, and on their toolkits.
package dynamic

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
)

type surface struct {
	*rest.API
	Toolkits *toolkit.Toolkits
}

// Register adds the operations to a surface.
func Register(api *rest.API, toolkits *toolkit.Toolkits) {
	s := surface{api, toolkits}
	s.toolkits()
	s.programs()
}

var op = rest.NewOp

// ToolkitRequest is the body of POST /api/v1/dynamic-toolkits.
type ToolkitRequest struct {
	ToolkitID    string            `json:"toolkit_id" minLength:"1" maxLength:"63" pattern:"^[a-z][a-z0-9-]*$" doc:"What you call it. global is the toolkit of tools that name none."`
	Name         string            `json:"name" minLength:"1" maxLength:"128"`
	Description  string            `json:"description,omitempty" maxLength:"2000"`
	Language     string            `json:"language,omitempty" enum:"typescript,javascript,python" doc:"typescript when absent."`
	Dependencies map[string]string `json:"dependencies,omitempty" doc:"Packages that the tools import: name and version, or range of versions, of each; * for any. Of npm, or of PyPI for python. At most 50. They are installed by POST …/install, and when they are first needed."`
	EnvVars      []string          `json:"env_vars,omitempty" maxItems:"50" doc:"Names of secrets of yours, which are in the environment of the tools under these names."`
	InitCode     string            `json:"init_code,omitempty" maxLength:"262144" doc:"Code that stands before each tool's."`
	Pinned       bool              `json:"pinned,omitempty" doc:"Kept. All schemas are always given to models in full."`
	Tags         []string          `json:"tags,omitempty" maxItems:"50"`
}

// ToolkitPatch is the body of PATCH /api/v1/dynamic-toolkits/{toolkit_id}.
type ToolkitPatch struct {
	Name         *string           `json:"name,omitempty" minLength:"1" maxLength:"128"`
	Description  *string           `json:"description,omitempty" maxLength:"2000"`
	Dependencies map[string]string `json:"dependencies,omitempty" doc:"Packages, in the place of all that were there."`
	EnvVars      *[]string         `json:"env_vars,omitempty" maxItems:"50" doc:"Names of secrets of yours, in the place of all that were there."`
	InitCode     *string           `json:"init_code,omitempty" maxLength:"262144" doc:"Code that stands before each tool's."`
	Pinned       *bool             `json:"pinned,omitempty" doc:"Kept, as when it is created."`
	Tags         *[]string         `json:"tags,omitempty" maxItems:"50"`
}

// Toolkit is what some tools share.
type Toolkit struct {
	ID                 string            `json:"id"`
	ToolkitID          string            `json:"toolkit_id" doc:"What its owner calls it."`
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	Language           string            `json:"language" enum:"typescript,javascript,python" doc:"What its tools are written in."`
	Dependencies       map[string]string `json:"dependencies" doc:"Packages that its tools import: name and version of each."`
	EnvVars            []string          `json:"env_vars" doc:"Names of secrets of its owner's, which are in the environment of its tools."`
	InitCode           string            `json:"init_code" doc:"Code that stands before each tool's."`
	Pinned             bool              `json:"pinned" doc:"As its owner has set it."`
	Tags               []string          `json:"tags"`
	InstallationStatus string            `json:"installation_status" enum:"not_started,installing,installed,failed" doc:"not_started: its packages are to be installed; installed: its tools can be run on the server that was asked; failed: they cannot, for the reason in installation_error."`
	InstallationError  string            `json:"installation_error" doc:"Why its tools cannot be run; empty when they can."`
	ConfigHash         string            `json:"config_hash" doc:"Changes with what its owner writes."`
	IsSystemGlobal     bool              `json:"is_system_global" doc:"It is the toolkit of tools that name none."`
	CreatedAt          time.Time         `json:"created_at"`
	UpdatedAt          time.Time         `json:"updated_at"`
}

// ToolkitList is the caller's toolkits.
type ToolkitList struct {
	Toolkits []Toolkit `json:"toolkits" doc:"By toolkit_id."`
	Total    int       `json:"total"`
}

func toolkitOf(k toolkit.Toolkit) Toolkit {
	return Toolkit{
		ID: k.ID, ToolkitID: k.ToolkitID, Name: k.Name, Description: k.Description, Language: string(k.Language),
		Dependencies: k.Dependencies, EnvVars: k.EnvVars, InitCode: k.InitCode, Pinned: k.Pinned, Tags: k.Tags,
		InstallationStatus: string(k.Status), InstallationError: k.Fault, ConfigHash: k.Hash(),
		IsSystemGlobal: k.ToolkitID == toolkit.Global, CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt,
	}
}

func answer(k toolkit.Toolkit, err error) (*Toolkit, error) { return new(toolkitOf(k)), err }

// ToolkitPath names a toolkit.
type ToolkitPath struct {
	ID string `path:"toolkit_id" doc:"The toolkit's id, not what its owner calls it."`
}

// toolkits are the operations on toolkits.
func (s surface) toolkits() {
	const path, tag = "/api/v1/dynamic-toolkits", "Dynamic Tools"

	create := op("create-toolkit", "POST "+path, tag, "Create a toolkit for tools that you write as programs", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "Its tools share the language, code that stands before theirs, and the secrets in their environment."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body ToolkitRequest }) (*Toolkit, error) {
		b := in.Body
		return answer(s.Toolkits.Create(ctx, b.ToolkitID, toolkit.Text{
			Name: b.Name, Description: b.Description, Language: toolkit.Language(b.Language),
			Dependencies: b.Dependencies, EnvVars: b.EnvVars, InitCode: b.InitCode, Pinned: b.Pinned, Tags: b.Tags,
		}))
	})

	rest.Handle(s.API, op("list-toolkits", "GET "+path, tag, "List your toolkits"),
		func(ctx context.Context, _ *struct{}) (*ToolkitList, error) {
			found, err := s.Toolkits.List(ctx)
			return &ToolkitList{rest.Each(found, toolkitOf), len(found)}, err
		})

	rest.Handle(s.API, op("get-toolkit", "GET "+path+"/{toolkit_id}", tag, "Get a toolkit of yours", 404),
		func(ctx context.Context, in *ToolkitPath) (*Toolkit, error) {
			return answer(s.Toolkits.Find(ctx, in.ID))
		})

	patch := op("update-toolkit", "PATCH "+path+"/{toolkit_id}", tag, "Change a toolkit of yours", 404)
	patch.Description = "What is absent stays. Its tools use the change from their next call."
	rest.Handle(s.API, patch, func(ctx context.Context, in *struct {
		ToolkitPath
		Body ToolkitPatch
	}) (*Toolkit, error) {
		b := in.Body
		return answer(s.Toolkits.Update(ctx, in.ID, toolkit.Change{
			Name: b.Name, Description: b.Description, Dependencies: b.Dependencies, EnvVars: b.EnvVars, InitCode: b.InitCode,
			Pinned: b.Pinned, Tags: b.Tags,
		}))
	})

	signin.Act(
		s.API,
		op("delete-toolkit", "DELETE "+path+"/{toolkit_id}", tag, "Delete a toolkit of yours with its tools", 404),
		"The toolkit and its tools are deleted.",
		func(ctx context.Context, in *ToolkitPath) error { return s.Toolkits.Delete(ctx, in.ID) },
	)

	rest.Handle(s.API, op("install-toolkit", "POST "+path+"/{toolkit_id}/install", tag,
		"Install the packages of a toolkit of yours, and look again whether its tools can be run", 404, 503),
		func(ctx context.Context, in *ToolkitPath) (*Toolkit, error) {
			return answer(s.Toolkits.Install(ctx, in.ID))
		})
}
