package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// desk is the service, with an admin of a team, a member of it and a stranger.
type desk struct {
	*Toolkits
	secrets         *secret.Secrets
	alice, bob, eve context.Context
	team            string
	ids             map[string]string
}

func open(t *testing.T, d *db.DB) desk {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	out := desk{secrets: secret.New(d, box), ids: map[string]string{}}
	out.Toolkits = New(d, Config{Secrets: out.secrets, Exclusions: exclusion.New(d), Reserved: []string{"http_request"}})
	person := func(email, team string, admin bool) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team, Admin: admin})
		if err != nil {
			t.Fatal(err)
		}
		role := account.Member
		if admin {
			role = account.Admin
		}
		out.ids[email], out.team = u.ID, u.TeamID
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: role})
	}
	out.eve = person("eve@example.com", "red", true)
	out.alice, out.bob = person("alice@example.com", "blue", true), person("bob@example.com", "blue", false)
	return out
}

// needs skips where programs of a language are not run.
func needs(t *testing.T, language Language) {
	t.Helper()
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath(language.program()); err != nil {
		t.Skip(err)
	}
}

func tool(id, code string) ToolText { return ToolText{ToolID: id, Description: "d", Code: code} }

func TestFaults(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		if _, err := o.Create(o.alice, "py", Text{Name: "n", Language: Python}); err != nil {
			t.Fatal(err)
		}
		const fine = "export function run() {}"
		long := tool("t", fine)
		long.Timeout = time.Hour
		array := tool("t", fine)
		array.InputSchema = json.RawMessage(`{"type":"array"}`)
		for _, c := range []struct {
			kit  string
			tool ToolText
			want string
		}{
			{"", tool("T", fine), "tool_id"},
			{"", tool("http_request", fine), "Every task has"},
			{"", tool("t", ""), "code"},
			{"", tool("t", "export function run( {"), "line 1, column"},
			{"", tool("t", "export function walk() {}"), "exports no function run"},
			{"", tool("t", "function run() {}"), "exports no function run"},
			{"py", tool("t", "def walk(input): pass"), "no function run"},
			{"none", tool("t", fine), "toolkit"},
			{"", long, "timeout"},
			{"", array, "input_schema"},
		} {
			if _, err := o.CreateTool(o.alice, c.kit, c.tool); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.tool, err)
			}
		}
		if all, err := o.Tools(o.alice); err != nil || len(all) > 0 {
			t.Errorf("%+v %v", all, err)
		}
		for want, text := range map[string]Text{
			"name": {}, "language": {Name: "n", Language: "perl"}, "env_vars": {Name: "n", EnvVars: []string{"A=B"}},
			"init_code": {Name: "n", InitCode: "const = 1"},
		} {
			if _, err := o.Create(o.alice, "k", text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v", text, err)
			}
		}
	})
}

// A tool belongs to its owner or, shared, to the team; its code is its owner's to change.
func TestWhose(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		text := tool("t", "export const run = (x: {a: string}) => x.a")
		text.Shared = true
		if _, err := o.CreateTool(o.bob, "", text); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a member shares: %v", err)
		}
		made, err := o.CreateTool(o.alice, "", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.CreateTool(o.alice, "", text); !errs.Is(err, errs.Conflict) {
			t.Errorf("twice: %v", err)
		}
		if _, err := o.Tool(o.bob, made.ID); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"change": second(o.UpdateTool(o.bob, made.ID, ToolChange{Code: new("export function run() {}")})),
			"test":   second(o.Test(o.bob, made.ID, nil, nil)),
		} {
			if !errs.Is(err, errs.Forbidden) {
				t.Errorf("another's %s: %v", name, err)
			}
		}
		for name, err := range map[string]error{
			"sees": second(o.Tool(o.eve, made.ID)), "deletes": o.DeleteTool(o.eve, made.ID), "kit": second(o.Find(o.eve, made.Toolkit)),
			"deletes as a member": o.DeleteTool(o.bob, made.ID), "deletes the kit": o.Delete(o.bob, made.Toolkit),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger %s: %v", name, err)
			}
		}
		offers, missing, _, err := o.ForTask(t.Context(), o.team, o.ids["bob@example.com"], nil)
		if err != nil || len(offers)+len(missing) != 1 {
			t.Errorf("%+v %+v %v", offers, missing, err)
		}
		if _, missing, _, _ := o.ForTask(t.Context(), o.team, o.ids["bob@example.com"], []string{"t"}); len(missing) != 1 ||
			missing[0].Why != "another tool has its name" {
			t.Errorf("%+v", missing)
		}
		if err := o.Delete(o.alice, made.Toolkit); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Tool(o.alice, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("without its toolkit: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestTypeScriptRuns(t *testing.T) {
	needs(t, TypeScript)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		if _, err := o.secrets.Create(o.alice, secret.NewSecret{Name: "KEY", Value: "value-of-the-key"}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Create(o.alice, "kit", Text{Name: "n", EnvVars: []string{"KEY"},
			InitCode: "const double = (n: number): number => 2 * n;"}); err != nil {
			t.Fatal(err)
		}
		text := tool("t", `import { createHash } from "node:crypto";
export async function run(input: { n: number, what?: string }) {
  console.log("working with", process.env.KEY);
  if (input.what === "throw") throw new Error("no such thing as " + process.env.KEY);
  if (input.what === "wrong") return "text";
  if (input.what === "loop") for (;;) ;
  if (input.what === "exit") process.exit(3);
  return { n: double(input.n), hash: createHash("sha256").update("a").digest("hex").length, env: Object.keys(process.env).length };
}`)
		text.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		text.OutputSchema = json.RawMessage(`{"type":"object"}`)
		text.Timeout = 5 * time.Second
		made, err := o.CreateTool(o.alice, "kit", text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.Test(o.alice, made.ID, json.RawMessage(`{"n": 21}`), nil)
		if err != nil || got.Fault != "" || !strings.Contains(string(got.Result), `"n":42`) ||
			!strings.Contains(string(got.Result), `"hash":64`) || got.Logs != "working with {{$KEY}}\n" {
			t.Errorf("%q %q %q %v", got.Result, got.Fault, got.Logs, err)
		}
		if _, err := o.Test(o.alice, made.ID, json.RawMessage(`{"n": "x"}`), nil); !errs.Is(err, errs.Invalid) {
			t.Errorf("an input that does not fit: %v", err)
		}
		for what, want := range map[string]string{
			"throw": "no such thing as {{$KEY}}", "wrong": "does not fit output_schema", "loop": "ran for too long",
			"exit": "the code 3 and no output",
		} {
			got, err := o.Test(o.alice, made.ID, json.RawMessage(`{"n": 1, "what": "`+what+`"}`), nil)
			if err != nil || got.Result != nil || !strings.Contains(got.Fault, want) {
				t.Errorf("%s: %q %q %v", what, got.Result, got.Fault, err)
			}
		}
	})
}

func TestPythonRuns(t *testing.T) {
	needs(t, Python)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		if _, err := o.Create(o.alice, "kit", Text{Name: "n", Language: Python, InitCode: "double = lambda n: 2 * n"}); err != nil {
			t.Fatal(err)
		}
		made, err := o.CreateTool(o.alice, "kit", tool("t", `
async def run(input):
    print("working")
    return {"n": double(input["n"])}
`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.Test(o.alice, made.ID, json.RawMessage(`{"n": 21}`), nil)
		if err != nil || string(got.Result) != `{"n": 42}` || got.Logs != "working\n" {
			t.Errorf("%q %q %q %v", got.Result, got.Fault, got.Logs, err)
		}
		got, err = o.Test(o.alice, made.ID, json.RawMessage(`{}`), nil)
		if err != nil || !strings.Contains(got.Fault, "KeyError: 'n'") {
			t.Errorf("%q %v", got.Fault, err)
		}
	})
}

// A test reaches the targets that it names, and not what the team excludes.
func TestTargets(t *testing.T) {
	needs(t, Python)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer site.Close()
	d := dbtest.Open(t, "sqlite")
	o := open(t, d)
	if _, err := o.Create(o.alice, "kit", Text{Name: "n", Language: Python}); err != nil {
		t.Fatal(err)
	}
	made, err := o.CreateTool(o.alice, "kit", tool("t", `
import urllib.request
def run(input): return urllib.request.urlopen("`+site.URL+`/").status
`))
	if err != nil {
		t.Fatal(err)
	}
	reach := func(want string, targets ...string) {
		t.Helper()
		got, err := o.Test(o.alice, made.ID, nil, targets)
		if err != nil || !strings.Contains(string(got.Result)+got.Fault, want) {
			t.Errorf("%q: %q %q %v", targets, got.Result, got.Fault, err)
		}
	}
	reach("URLError")
	reach("403", "192.0.2.1")
	reach("204", "127.0.0.1")
	if _, err := o.Test(o.alice, made.ID, nil, []string{"http://a b/"}); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if err := exclusion.New(d).Add(o.alice, exclusion.Target, []string{"127.0.0.1"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	reach("403", "127.0.0.1")
}

// Where nothing can be run, a toolkit says why, a test is refused, and tasks miss the tool.
func TestNothingRunsBare(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		o.check = func(context.Context) error { return errors.New("the kernel forbids it") }
		made, err := o.CreateTool(o.alice, "", tool("t", "export function run() {}"))
		if err != nil {
			t.Fatal(err)
		}
		if kit, err := o.Install(o.alice, made.Toolkit); err != nil || kit.Status != Failed || !strings.Contains(kit.Fault, "the kernel forbids it") {
			t.Errorf("%+v %v", kit, err)
		}
		if _, err := o.Test(o.alice, made.ID, nil, nil); !errs.Is(err, errs.Unavailable) {
			t.Error(err)
		}
		_, missing, _, err := o.ForTask(t.Context(), o.team, o.ids["alice@example.com"], nil)
		if err != nil || len(missing) != 1 || !strings.Contains(missing[0].Why, "the kernel forbids it") {
			t.Errorf("%+v %v", missing, err)
		}
	})
}
