// Package skills serves the area Skills of the agent-task API: folders of know-how that agents load when they need it.
package skills

import (
	"context"
	"io"
	"mime"
	"net/http"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// File is a further file of a skill that is sent.
type File struct {
	Path    string `json:"path" minLength:"1" maxLength:"256" doc:"Its path in the skill's folder, such as references/headers.md."`
	Content string `json:"content" maxLength:"262144" doc:"Its text."`
}

// Fields are what a skill consists of.
type Fields struct {
	Description   *string            `json:"description,omitempty" minLength:"1" maxLength:"1024" doc:"What it does and when to use it: models choose it by this."`
	Instructions  *string            `json:"instructions,omitempty" minLength:"1" maxLength:"65536" doc:"The know-how, as Markdown."`
	License       *string            `json:"license,omitempty" maxLength:"200" doc:"Its licence."`
	Compatibility *string            `json:"compatibility,omitempty" maxLength:"500" doc:"What it needs, for people."`
	Metadata      *map[string]string `json:"metadata,omitempty" doc:"Further fields of the format, at most 32."`
	Files         *[]File            `json:"files,omitempty" maxItems:"100" doc:"Its further files, in the place of all that were there."`
	Shared        *bool              `json:"shared,omitempty" doc:"For all tasks of the team. Only an admin of the team may set it."`
}

// Request is the body of POST /api/v1/skills.
type Request struct {
	Name    string `json:"name,omitempty" maxLength:"64" pattern:"^[a-z0-9-]*$" doc:"Lower-case letters and digits in words joined by hyphens, unique among your skills. Required unless skill_md has it."`
	SkillMD string `json:"skill_md,omitempty" maxLength:"73728" doc:"The text of a SKILL.md, in the place of name, description and instructions."`

	Fields
}

// Patch is the body of PATCH /api/v1/skills/{skill_id}; absent fields stay.
type Patch struct {
	Enabled *bool `json:"enabled,omitempty" doc:"Whether tasks may load it. Of a skill that comes with the server, an admin sets it for the team, and nothing else."`

	Fields
}

func files(sent *[]File) *[]skill.File {
	if sent == nil {
		return nil
	}
	out := rest.Each(*sent, func(f File) skill.File { return skill.File{Path: f.Path, Content: []byte(f.Content)} })
	return &out
}

func (r Request) service() (n skill.NewSkill, ignored []string, err error) {
	if r.SkillMD != "" {
		if r.Name != "" || r.Description != nil || r.Instructions != nil || r.License != nil || r.Compatibility != nil ||
			r.Metadata != nil {
			return n, nil, errs.Field("skill_md", "Send skill_md, or the fields that it has, not both.")
		}
		if n.Text, ignored, err = skill.Parse(r.SkillMD); err != nil {
			return n, nil, err
		}
	} else {
		n.Name = r.Name
		for to, sent := range map[*string]*string{&n.Description: r.Description, &n.Instructions: r.Instructions,
			&n.License: r.License, &n.Compatibility: r.Compatibility} {
			if sent != nil {
				*to = *sent
			}
		}
		if r.Metadata != nil {
			n.Metadata = *r.Metadata
		}
	}
	if list := files(r.Files); list != nil {
		n.Files = *list
	}
	n.Shared = r.Shared != nil && *r.Shared
	return n, ignored, nil
}

func (p Patch) change() skill.Change {
	return skill.Change{
		Description:   p.Description,
		Instructions:  p.Instructions,
		License:       p.License,
		Compatibility: p.Compatibility,
		Metadata:      p.Metadata,
		Files:         files(p.Files),
		Shared:        p.Shared,
		Enabled:       p.Enabled,
	}
}

// FileDoc is a further file of a skill.
type FileDoc struct {
	Path string `json:"path" doc:"Its path in the skill's folder."`
	Size int    `json:"size" doc:"In bytes."`
}

// Doc is a skill in a list.
type Doc struct {
	ID            string            `json:"id" doc:"A uuid, or the name of one that comes with the server."`
	Name          string            `json:"name"`
	Description   string            `json:"description" doc:"What it does and when to use it: models choose it by this."`
	Type          string            `json:"type" enum:"user,team,shipped" doc:"user: yours. team: a colleague's, shared. shipped: it comes with the server."`
	License       string            `json:"license" doc:"Its licence."`
	Compatibility string            `json:"compatibility" doc:"What it needs, for people."`
	Metadata      map[string]string `json:"metadata" doc:"Further fields of the format."`
	Shared        bool              `json:"shared" doc:"Whether all tasks of the team may load it."`
	Enabled       bool              `json:"enabled" doc:"Whether tasks may load it."`
	IsOwner       bool              `json:"is_owner"`
	Source        string            `json:"source" doc:"The URL that it was imported from, archive, api, or server."`
	Revision      string            `json:"revision,omitempty" doc:"The commit of the git remote."`
	Version       int               `json:"version" doc:"From 1; grows with each change of its text or files."`
	Hash          string            `json:"hash" doc:"Of its text and files."`
	UseCount      int               `json:"use_count" doc:"Tasks of your team that loaded it."`
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
}

// Detail is a skill with its text.
type Detail struct {
	Doc

	Instructions string    `json:"instructions" doc:"The know-how, as Markdown."`
	Files        []FileDoc `json:"files" doc:"Its further files, by path."`
}

func doc(s skill.Skill) Doc {
	d := Doc{
		ID:            s.ID,
		Name:          s.Name,
		Description:   s.Description,
		Type:          string(s.Origin),
		License:       s.License,
		Compatibility: s.Compatibility,
		Metadata:      s.Metadata,
		Shared:        s.Shared,
		Enabled:       s.Enabled,
		IsOwner:       s.Origin == sharing.Own,
		Source:        s.Source,
		Revision:      s.Revision,
		Version:       s.Version,
		Hash:          s.Hash,
		UseCount:      s.Uses,
		CreatedAt:     s.CreatedAt,
		UpdatedAt:     s.UpdatedAt,
	}
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	return d
}

func answer(s skill.Skill, err error) (*Detail, error) {
	return &Detail{
		doc(s),
		s.Instructions,
		rest.Each(s.Files, func(f skill.File) FileDoc { return FileDoc{f.Path, f.Size} }),
	}, err
}

// List is the skills that the caller's tasks may load.
type List struct {
	Skills []Doc `json:"skills" doc:"Yours, then those that colleagues share, then those that come with the server, each by name."`
	Total  int   `json:"total"`
}

// Imported is what an import came to.
type Imported struct {
	Skills []ImportedSkill `json:"skills" doc:"Those that were found, in the order of their folders."`
	Total  int             `json:"total"`
	Left   []string        `json:"left_out" doc:"What was left out, and why."`
}

// ImportedSkill is a skill of an import.
type ImportedSkill struct {
	Doc

	Result string `json:"result" enum:"created,updated,unchanged" doc:"What became of it."`
}

func imported(i skill.Imported, err error) (*Imported, error) {
	return &Imported{
		rest.Each(i.Skills, func(f skill.Found) ImportedSkill { return ImportedSkill{doc(f.Skill), f.Result} }),
		len(i.Skills),
		append([]string{}, i.Left...),
	}, err
}

// ImportRequest is the body of POST /api/v1/skills/import-url.
type ImportRequest struct {
	URL    string `json:"url" minLength:"1" maxLength:"2048" doc:"An https or http URL of a zip, tar or tar.gz, or of a git remote."`
	Ref    string `json:"ref,omitempty" maxLength:"200" doc:"A branch, tag or commit of the git remote; default: its HEAD."`
	Shared bool   `json:"shared,omitempty" doc:"For all tasks of the team. Only an admin of the team may set it."`
}

// TaskSkill is a skill that a task loaded.
type TaskSkill struct {
	StreamID string    `json:"stream_id"`
	SkillID  string    `json:"skill_id" doc:"The skill's id, also when it is deleted."`
	Name     string    `json:"name"`
	Version  int       `json:"version" doc:"The version that was loaded first."`
	Hash     string    `json:"hash" doc:"Of its text and files then."`
	UsedAt   time.Time `json:"used_at" doc:"When it was loaded first."`
}

// TaskSkillList is the skills that a task loaded.
type TaskSkillList struct {
	Skills []TaskSkill `json:"skills" doc:"In the order of their use."`
	Total  int         `json:"total"`
}

// Path names a skill. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"skill_id" doc:"The skill's id."`
}

// Area is the area with the services that it calls.
type Area struct {
	*rest.API
	Skills *skill.Skills
	Tasks  *task.Tasks
}

const (
	all = "/api/v1/skills"
	one = all + "/{skill_id}"
	tag = "Skills"
)

// Register adds the operations.
func (a Area) Register() {
	rest.Handle(a.API, rest.NewOp("list-skills", "GET "+all, tag, "List the skills that your tasks may load"),
		func(ctx context.Context, in *struct {
			Search string `query:"search" maxLength:"128" doc:"Only those with this text in the name or the description."`
			Type   string `query:"type" enum:"user,team,shipped" doc:"Only yours, only those that colleagues share, or only those that come with the server."`
		}) (*List, error) {
			found, err := a.Skills.FindAll(ctx, skill.Filter{Origin: sharing.Origin(in.Type), Search: in.Search})
			return &List{rest.Each(found, doc), len(found)}, err
		})

	create := rest.NewOp("create-skill", "POST "+all, tag, "Write a skill for your tasks", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "A task's prompt has the names and descriptions of skills; its agent loads the one that fits with the tool " +
		"load_skill. Nothing of a skill is run."
	rest.Handle(a.API, create, func(ctx context.Context, in *struct{ Body Request }) (*Detail, error) {
		n, ignored, err := in.Body.service()
		if err != nil {
			return nil, err
		}
		if len(ignored) > 0 {
			rest.Warnf(ctx, "skill_md: the fields %s have no effect.", errs.Clip(strings.Join(ignored, ", "), 300))
		}
		return answer(a.Skills.Create(ctx, n))
	})

	rest.Handle(
		a.API,
		rest.NewOp("get-skill", "GET "+one, tag, "Get a skill with its instructions and the paths of its files", 404),
		func(ctx context.Context, in *Path) (*Detail, error) { return answer(a.Skills.Find(ctx, in.ID)) },
	)

	rest.Handle(a.API, rest.NewOp(
		"update-skill",
		"PATCH "+one,
		tag,
		"Change a skill of yours, or turn one that comes with the server on or off",
		404,
	), func(ctx context.Context, in *struct {
		Path
		Body Patch
	}) (*Detail, error) {
		return answer(a.Skills.Update(ctx, in.ID, in.Body.change()))
	})

	signin.Act(
		a.API,
		rest.NewOp("delete-skill", "DELETE "+one, tag, "Delete a skill of yours; an admin may delete a shared one", 404, 409),
		"The skill is deleted.",
		func(ctx context.Context, in *Path) error { return a.Skills.Delete(ctx, in.ID) },
	)

	a.imports()
	a.file()

	rest.Handle(a.API, rest.NewOp("list-task-skills", "GET /api/v1/tasks/{id}/skills", tag,
		"List the skills that a task loaded, with their versions", 404), func(ctx context.Context, in *struct {
		ID string `path:"id" doc:"The task's id."`
	}) (*TaskSkillList, error) {
		t, err := a.Tasks.Find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		found, err := a.Skills.Uses(ctx, t.ID)
		return &TaskSkillList{rest.Each(found, func(u skill.Use) TaskSkill {
			return TaskSkill{u.StreamID, u.SkillID, u.Name, u.Version, u.Hash, u.UsedAt}
		}), len(found)}, err
	})
}

// imports are the operations that bring skills from elsewhere.
func (a Area) imports() {
	upload := rest.NewOp("import-skills", "POST "+all+"/import", tag, "Import skills from an archive")
	upload.DefaultStatus, upload.Errors, upload.Stream = http.StatusCreated, []int{409}, true
	upload.Description = "The body is a zip, tar or tar.gz of at most 8 MiB. Each folder with a SKILL.md is a skill; one that you have " +
		"under its name is changed."
	rest.Handle(a.API, upload, func(ctx context.Context, in *struct {
		rest.Stream
		Shared bool `query:"shared" doc:"For all tasks of the team. Only an admin of the team may set it."`
	}) (*Imported, error) {
		return imported(a.Skills.ImportArchive(ctx, &in.Stream, in.Shared))
	})

	fetch := rest.NewOp("import-skills-from-url", "POST "+all+"/import-url", tag, "Import skills from a URL", 409, 424)
	fetch.DefaultStatus = http.StatusCreated
	fetch.Description = "Private and local addresses are refused, unless the operator allows their networks. Git remotes are read " +
		"without credentials, at most 64 MiB."
	rest.Handle(a.API, fetch, func(ctx context.Context, in *struct{ Body ImportRequest }) (*Imported, error) {
		return imported(a.Skills.ImportURL(ctx, in.Body.URL, in.Body.Ref, in.Body.Shared))
	})
}

// file is the operation on a file of a skill.
func (a Area) file() {
	get := rest.NewOp("download-skill-file", "GET "+one+"/file", tag, "A file of a skill", 404)
	get.Description = "Always as an attachment of type application/octet-stream, so that no browser runs it."
	get.Responses = map[string]*huma.Response{"200": {Description: "The content.", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}}
	rest.Register(a.API, get, func(ctx context.Context, in *struct {
		Path
		File string `query:"path" maxLength:"256" doc:"The path of the file; default: SKILL.md."`
	}) (*huma.StreamResponse, error) {
		s, err := a.Skills.Find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		name, content := "SKILL.md", []byte(s.Markdown())
		if in.File != "" && in.File != name {
			name = path.Base(in.File)
			if content, err = a.Skills.Content(ctx, in.ID, in.File); err != nil {
				return nil, err
			}
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			for header, value := range map[string]string{
				"Content-Type":            "application/octet-stream",
				"Content-Disposition":     mime.FormatMediaType("attachment", map[string]string{"filename": name}),
				"Content-Length":          strconv.Itoa(len(content)),
				"X-Content-Type-Options":  "nosniff",
				"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-store",
			} {
				out.SetHeader(header, value)
			}
			_, _ = io.Copy(out.BodyWriter(), strings.NewReader(string(content))) // the client may have disconnected
		}}, nil
	})
}

// Words name the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{Names: map[reflect.Type]string{
		reflect.TypeFor[File]():          "SkillFileRequest",
		reflect.TypeFor[Request]():       "SkillRequest",
		reflect.TypeFor[Patch]():         "SkillPatch",
		reflect.TypeFor[FileDoc]():       "SkillFile",
		reflect.TypeFor[Doc]():           "SkillSummary",
		reflect.TypeFor[Detail]():        "Skill",
		reflect.TypeFor[List]():          "SkillList",
		reflect.TypeFor[Imported]():      "SkillImport",
		reflect.TypeFor[ImportedSkill](): "ImportedSkill",
		reflect.TypeFor[ImportRequest](): "SkillImportRequest",
	}, Words: map[string]string{}}
}
