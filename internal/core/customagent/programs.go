package customagent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/provision"
)

// Programs are what is run of an agent, in the sandbox alone (package install).
type Programs struct {
	CustomTools []Tool   `json:"custom_tools,omitempty"`
	Prereqs     []string `json:"prereq_packages,omitempty"`  // programs that must be on the server
	Install     []string `json:"install_commands,omitempty"` // of a shell, before the first task
	Verify      []string `json:"verify_commands,omitempty"`  // of a shell, after them; each must end with 0
	Env         []string `json:"require_env_vars,omitempty"` // names of secrets of the owner's
}

// Tool is a command that an agent's model may run.
type Tool struct {
	ID          string         `json:"id"` // what the model calls it
	Description string         `json:"description"`
	Command     string         `json:"command_template,omitempty"`
	Schema      map[string]any `json:"input_schema"` // JSON Schema of an object
	Executable  bool           `json:"is_executable,omitempty"`
	Script      string         `json:"script_content,omitempty"`
	ScriptPath  string         `json:"script_path,omitempty"` // a file name
	Seconds     int            `json:"timeout_seconds"`
}

// Bounds of an agent's programs.
const (
	maxCustomTools  = 20
	maxPrereqs      = 50
	maxCommands     = 20
	maxCommand      = 4 << 10 // bytes
	maxEnv          = 50
	maxScript       = 64 << 10 // bytes
	maxPrograms     = 128 << 10
	usualSeconds    = 30
	MostToolSeconds = 300
)

var (
	toolID     = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	prereqName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	scriptName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)
)

func (p Programs) isEmpty() bool {
	return len(p.CustomTools)+len(p.Prereqs)+len(p.Install)+len(p.Verify)+len(p.Env) == 0
}

// Installs reports whether something is to be there, or to be run, before the agent can work.
func (p Programs) Installs() bool { return len(p.Prereqs)+len(p.Install)+len(p.Verify) > 0 }

// InstallHash tells installations apart: a change of anything else needs no new one.
func (p Programs) InstallHash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", p.Prereqs, p.Install, p.Verify, p.Env))
	return hex.EncodeToString(sum[:])
}

// check checks programs and puts them in order. reserved are the names of the tools that tasks have.
func (p *Programs) check(reserved []string) error {
	if len(p.CustomTools) > maxCustomTools {
		return errs.Field("custom_tools", "custom_tools: at most %d.", maxCustomTools)
	}
	var ids []string
	for i := range p.CustomTools {
		t := &p.CustomTools[i]
		at := fmt.Sprintf("custom_tools[%d]", i)
		switch {
		case slices.Contains(reserved, t.ID):
			return errs.Field("custom_tools", "%s.id: %s is a tool that all tasks have.", at, t.ID)
		case slices.Contains(ids, t.ID):
			return errs.Field("custom_tools", "%s.id: there are two tools with the id %s.", at, t.ID)
		}
		ids = append(ids, t.ID)
		if err := t.check(); err != nil {
			return errs.Field("custom_tools", "%s.%s", at, errs.From(err).Message)
		}
	}
	for _, list := range []struct {
		field     string
		texts     []string
		most      int
		form      *regexp.Regexp
		what, how string
	}{
		{"prereq_packages", p.Prereqs, maxPrereqs, prereqName, "the name of a program",
			" Versions and options cannot be given."},
		{"require_env_vars", p.Env, maxEnv, envName, "the name of a secret", ""},
		{"install_commands", p.Install, maxCommands, nil, "", ""},
		{"verify_commands", p.Verify, maxCommands, nil, "", ""},
	} {
		if len(list.texts) > list.most {
			return errs.Field(list.field, "%s: at most %d.", list.field, list.most)
		}
		for i, text := range list.texts {
			switch {
			case list.form != nil && !list.form.MatchString(text):
				return errs.Field(list.field, "%s: %.100q is not %s.%s", list.field, text, list.what, list.how)
			case list.form == nil && (strings.TrimSpace(text) == "" || len(text) > maxCommand || db.Clean(text) != text):
				return errs.Field(list.field, "%s[%d] must be a command of 1 to %d bytes.", list.field, i, maxCommand)
			}
		}
	}
	if doc, err := json.Marshal(p); err != nil || len(doc) > maxPrograms {
		return errs.Field("custom_tools", "custom_tools and the commands are longer than %d bytes together.", maxPrograms)
	}
	return nil
}

// check checks a tool and fills in what is left out. The error's message begins with the field.
func (t *Tool) check() error {
	bad := func(format string, args ...any) error { return errs.Field("", format, args...) }
	t.Description = strings.TrimSpace(t.Description)
	switch {
	case !toolID.MatchString(t.ID):
		return bad("id must be small letters, digits, hyphens and underscores, begin with a letter, and have at most 64 characters.")
	case t.Description == "" || len(t.Description) > maxText || db.Clean(t.Description) != t.Description:
		return bad("description must be a text of 1 to %d bytes: models choose tools by it.", maxText)
	case len(t.Command) > maxCommand || db.Clean(t.Command) != t.Command:
		return bad("command_template must be a text of at most %d bytes.", maxCommand)
	case len(t.Script) > maxScript || db.Clean(t.Script) != t.Script:
		return bad("script_content must be a text of at most %d bytes.", maxScript)
	case t.Script == "" && t.ScriptPath != "":
		return bad("script_path is where script_content lies, which is missing.")
	case t.Script == "" && t.Executable:
		return bad("is_executable is about script_content, which is missing.")
	case t.Executable && !strings.HasPrefix(t.Script, "#!/"):
		return bad("script_content is executable: its first line must be #! and the path of its interpreter, such as #!/bin/sh.")
	case strings.TrimSpace(t.Command) == "" && !t.Executable:
		return bad("command_template is missing: only an executable script runs without it.")
	case t.ScriptPath != "" && !scriptName.MatchString(t.ScriptPath):
		return bad("script_path must be the name of a file, without folders.")
	case t.Seconds < 0 || t.Seconds > MostToolSeconds:
		return bad("timeout_seconds must be 1 to %d.", MostToolSeconds)
	}
	if t.Script != "" {
		t.ScriptPath = cmp.Or(t.ScriptPath, t.ID)
	}
	t.Seconds = cmp.Or(t.Seconds, usualSeconds)
	if len(t.Schema) == 0 {
		t.Schema = map[string]any{"type": "object"}
	}
	properties, _ := t.Schema["properties"].(map[string]any)
	if t.Schema["type"] != "object" {
		return bad(`input_schema must be a JSON Schema of the type "object".`)
	}
	if doc, err := json.Marshal(t.Schema); err != nil {
		return bad("input_schema: %s", errs.Clip(err.Error(), 300))
	} else if err := loop.CheckSchema(doc); err != nil {
		return bad("input_schema: %s", errs.Clip(err.Error(), 300))
	}
	_, names, err := t.Shell()
	for _, name := range names {
		if _, ok := properties[name]; !ok && err == nil {
			err = bad("command_template: {{%s}} is no property of input_schema.", name)
		}
	}
	return err
}

// Statuses of an agent's installation.
const (
	NothingToInstall = "none"
	NotStarted       = "not_started"
	Installing       = "installing"
	Installed        = "installed"
	InstallFailed    = "failed"
)

// Installation is what became of an agent's prerequisites and commands when a task last needed them.
type Installation struct {
	Status string
	Fault  string // why it failed
	Output string // the end of what the commands wrote
	At     time.Time
}

// as is the installation as it is shown for the agent's present text.
func (i Installation) as(hash string, p Programs, now time.Time) Installation {
	switch {
	case !p.Installs():
		return Installation{Status: NothingToInstall}
	case hash != p.InstallHash():
		return Installation{Status: NotStarted}
	case i.Status == Installing && now.Sub(i.At) > provision.MostTime+time.Minute:
		i.Status, i.Fault = InstallFailed, "It was interrupted. The next task installs the agent again."
	}
	return i
}
