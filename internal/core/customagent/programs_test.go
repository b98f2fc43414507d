package customagent

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/provision"
)

var texts = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}

func TestPrograms(t *testing.T) {
	tool := func(change func(*Tool)) Programs {
		one := Tool{ID: "x", Description: "d", Command: "echo {{a}}", Schema: texts}
		change(&one)
		return Programs{CustomTools: []Tool{one}}
	}
	for want, p := range map[string]Programs{
		"":                                          tool(func(*Tool) {}),
		"custom_tools[0].id must be":                tool(func(t *Tool) { t.ID = "X" }),
		"custom_tools[0].id: note is a tool":        tool(func(t *Tool) { t.ID = "note" }),
		"custom_tools[0].description must":          tool(func(t *Tool) { t.Description = " " }),
		"command_template is missing":               tool(func(t *Tool) { t.Command = "" }),
		"{{b}} is no property":                      tool(func(t *Tool) { t.Command = "echo {{a}} {{b}}" }),
		"in single quotes":                          tool(func(t *Tool) { t.Command = "echo '{{a}}'" }),
		"in backquotes":                             tool(func(t *Tool) { t.Command = "echo `echo \"{{a}}\"`" }),
		"write $KEY":                                tool(func(t *Tool) { t.Command = "echo {{$KEY}}" }),
		"{{script_path}} is where":                  tool(func(t *Tool) { t.Command = "sh {{script_path}}" }),
		"script_path is where":                      tool(func(t *Tool) { t.ScriptPath = "x.sh" }),
		"without folders":                           tool(func(t *Tool) { t.Script, t.ScriptPath = "x", "../x" }),
		"is_executable is about":                    tool(func(t *Tool) { t.Executable = true }),
		"first line must be #!":                     tool(func(t *Tool) { t.Executable, t.Script = true, "echo" }),
		"timeout_seconds must":                      tool(func(t *Tool) { t.Seconds = 301 }),
		`of the type "object"`:                      tool(func(t *Tool) { t.Schema = map[string]any{"type": "array"} }),
		"input_schema: ":                            tool(func(t *Tool) { t.Schema = map[string]any{"type": "object", "required": 1} }),
		"two tools with the id x":                   {CustomTools: slices.Repeat(tool(func(*Tool) {}).CustomTools, 2)},
		"custom_tools: at most 20":                  {CustomTools: make([]Tool, 21)},
		`prereq_packages: "nmap>=7" is not`:         {Prereqs: []string{"nmap>=7"}},
		`require_env_vars: "A-B" is not`:            {Env: []string{"A-B"}},
		"install_commands[1] must be":               {Install: []string{"true", " "}},
		"verify_commands[0] must be":                {Verify: []string{strings.Repeat("x", maxCommand+1)}},
		"verify_commands: at most 20":               {Verify: slices.Repeat([]string{"true"}, 21)},
		"longer than 131072 bytes together":         tool(func(t *Tool) { t.Script = strings.Repeat("\x01", maxScript) }),
		"script_content must be a text of at most ": tool(func(t *Tool) { t.Script = strings.Repeat("x", maxScript+1) }),
	} {
		err := p.check([]string{"note"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(errs.From(err).Message, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What a model gives as an argument is one word and never shell text, in whatever quotes its placeholder stands.
func TestArgumentsAreNoShellText(t *testing.T) {
	const hostile = "a'b\"c $(echo ran) `echo ran`; echo ran\n* \\"
	for command, want := range map[string]string{
		`printf '<%s>' {{a}}`:                                          "<" + hostile + ">",
		`printf '<%s>' "{{a}}" x`:                                      "<" + hostile + "><x>",
		`printf '<%s>' --to={{ a }}.txt`:                               "<--to=" + hostile + ".txt>",
		`printf '<%s>' \"{{a}} "\"{{a}}"`:                              `<"` + hostile + `><"` + hostile + ">",
		`printf '<%s>' '{{ }}' {{a}}`:                                  "<{{ }}><" + hostile + ">",
		`printf '<%s>' "$(printf %s {{a}})"`:                           "<" + hostile + ">",
		`printf '<%s>' "($(printf "%s" "{{a}}") {{a}}" "$(echo)"{{a}}`: "<(" + hostile + " " + hostile + "><" + hostile + ">",
	} {
		text, names, err := Tool{Command: command}.Shell()
		if err != nil || !slices.Equal(names, []string{"a"}) {
			t.Errorf("%s: %v, %v", command, names, err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
		cmd.Env = []string{"ARG_a=" + hostile}
		if got, err := cmd.Output(); err != nil || string(got) != want {
			t.Errorf("%s is %s: %q, %v", command, text, got, err)
		}
	}
}

// An agent shows how its installation went while what is installed stays the same.
func TestInstallationIsShown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		cr, alice, _ := setUp(t, d)
		made, err := cr.Create(alice, Update{Name: new("A"), Install: &[]string{"true"},
			CustomTools: &[]Tool{{ID: "x", Description: "d", Command: "echo {{a}}", Schema: texts}}})
		if err != nil || made.Installation.Status != NotStarted {
			t.Fatalf("%+v, %v", made, err)
		}
		status := func(want string) Agent {
			t.Helper()
			a, err := cr.Find(alice, made.ID)
			if err != nil || a.Installation.Status != want {
				t.Errorf("%+v, %v, want %s", a.Installation, err, want)
			}
			return a
		}
		if a := status(NotStarted); a.Hash() != made.Hash() || a.CustomTools[0].Seconds != usualSeconds {
			t.Errorf("%+v", a)
		}
		for _, to := range []string{Installing, Installed, InstallFailed} {
			if err := cr.SetInstallation(alice, made, Installation{Status: to, Fault: "f", Output: "o"}); err != nil {
				t.Fatal(err)
			}
			status(to)
		}
		if a, err := cr.Update(alice, made.ID, Update{WhenToUse: new("w")}); err != nil || a.Installation.Output != "o" {
			t.Errorf("%+v, %v", a.Installation, err)
		}
		if err := cr.SetInstallation(alice, made, Installation{Status: Installing}); err != nil {
			t.Fatal(err)
		}
		cr.now = func() time.Time { return time.Now().Add(provision.MostTime + time.Hour) }
		if a := status(InstallFailed); !strings.Contains(a.Installation.Fault, "interrupted") {
			t.Errorf("%+v", a.Installation)
		}
		if a, err := cr.Update(alice, made.ID, Update{Verify: &[]string{"true"}}); err != nil || a.Version != 3 ||
			a.Installation != (Installation{Status: NotStarted}) {
			t.Errorf("%+v, %v", a, err)
		}
		status(NotStarted)
		if a, err := cr.Restore(alice, made.ID, 1); err != nil || a.Hash() != made.Hash() {
			t.Errorf("%+v, %v", a, err)
		}
		copied, err := cr.Fork(alice, made.ID, "B", false)
		if err != nil || len(copied.CustomTools) != 1 || copied.Installation.Status != NotStarted {
			t.Errorf("%+v, %v", copied, err)
		}
	})
}
