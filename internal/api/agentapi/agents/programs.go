package agents

import (
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/customagent"
)

// CustomTool is a command that an agent's model may run, in a request.
type CustomTool struct {
	ID              string         `json:"id" maxLength:"64" doc:"What the model calls it: small letters, digits, hyphens and underscores."`
	Description     string         `json:"description" maxLength:"2000" doc:"What it does, for the model."`
	CommandTemplate string         `json:"command_template,omitempty" maxLength:"4096" doc:"A command of a shell. {{name}} is an argument, a property of input_schema, and is never read as shell text; {{script_path}} is where script_content lies. May be left out for an executable script."`
	InputSchema     map[string]any `json:"input_schema,omitempty" doc:"JSON Schema of an object; default: any. The arguments are on the standard input as well, as JSON."`
	IsExecutable    bool           `json:"is_executable,omitempty" doc:"script_content can be run by itself: its first line is #! and the path of its interpreter."`
	ScriptContent   string         `json:"script_content,omitempty" maxLength:"65536" doc:"The text of a script."`
	ScriptPath      string         `json:"script_path,omitempty" maxLength:"64" doc:"The name of the script's file; default: the id."`
	TimeoutSeconds  int            `json:"timeout_seconds,omitempty" minimum:"1" maximum:"300" doc:"How long a call may take; default: 30."`
}

func (t CustomTool) tool() customagent.Tool {
	return customagent.Tool{ID: t.ID, Description: t.Description, Command: t.CommandTemplate, Schema: t.InputSchema,
		Executable: t.IsExecutable, Script: t.ScriptContent, ScriptPath: t.ScriptPath, Seconds: t.TimeoutSeconds}
}

// CustomToolDoc is a command that an agent's model may run, in an answer.
type CustomToolDoc struct {
	ID              string         `json:"id" doc:"What the model calls it."`
	Description     string         `json:"description" doc:"What it does, for the model."`
	CommandTemplate string         `json:"commandTemplate" doc:"A command of a shell; {{name}} is an argument."`
	InputSchema     map[string]any `json:"inputSchema" doc:"JSON Schema of the arguments."`
	IsExecutable    bool           `json:"isExecutable" doc:"The script can be run by itself."`
	ScriptContent   string         `json:"scriptContent" doc:"The text of its script; empty: it has none."`
	ScriptPath      string         `json:"scriptPath" doc:"The name of the script's file."`
	TimeoutSeconds  int            `json:"timeoutSeconds" doc:"How long a call may take."`
}

// AgentPrograms is what is run of an agent, in an answer.
type AgentPrograms struct {
	CustomTools     []CustomToolDoc `json:"custom_tools" doc:"Commands that its model may run."`
	PrereqPackages  []string        `json:"prereq_packages" doc:"Programs that must be on the server."`
	InstallCommands []string        `json:"install_commands" doc:"Commands that are run before its first task."`
	VerifyCommands  []string        `json:"verify_commands" doc:"Commands that are run after them; each must end with 0."`
	RequireEnvVars  []string        `json:"require_env_vars" doc:"Names of its owner's secrets that are in the environment of its tools and commands."`
}

func programsDoc(p customagent.Programs) AgentPrograms {
	return AgentPrograms{
		CustomTools: rest.Each(p.CustomTools, func(t customagent.Tool) CustomToolDoc {
			return CustomToolDoc{t.ID, t.Description, t.Command, t.Schema, t.Executable, t.Script, t.ScriptPath, t.Seconds}
		}),
		PrereqPackages: append([]string{}, p.Prereqs...), InstallCommands: append([]string{}, p.Install...),
		VerifyCommands: append([]string{}, p.Verify...), RequireEnvVars: append([]string{}, p.Env...),
	}
}
