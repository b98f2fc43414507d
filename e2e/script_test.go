package e2e

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// TestScripts runs the stories of testdata/script, which need no server. In them
//
//	$SITE   is a weak web site, $HOST its host and port, $WALL answers 200 to every path
//	$ECHO   answers with the request, see echo
//	$OAST   is an out-of-band server without a domain, whose token is t0ken
//	$CLOSED is an address with no listener
//	$API    is the folder of the OpenAPI documents
//
// and scriptCommands adds commands to testscript's own.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script/*.txtar", nil) }

// TestServerScripts runs the stories of testdata/server, each with its own server: $VEDETTE_SERVER, whose data is in
// $VEDETTE_DATA_DIR, and whose only user, ada@example.com, has the key $VEDETTE_API_KEY and the bearer token $TOKEN.
func TestServerScripts(t *testing.T) {
	runScripts(t, "testdata/server/*.txtar", func(t *testing.T) []string {
		dep := newDeployment(t, "sqlite")
		c := dep.serveWithUser()
		return append(dep.env, "VEDETTE_SERVER="+c.base, "VEDETTE_API_KEY="+c.newKey(), "TOKEN="+c.token)
	})
}

// condition knows [namespaces]: programs of templates can run here.
func condition(name string) (bool, error) {
	if name != "namespaces" {
		return false, errors.New("there is no such condition")
	}
	return exec.Command("unshare", "--user", "--pid", "--net", "--fork", "true").Run() == nil, nil
}

// newKey creates the caller's API key.
func (c caller) newKey() string {
	c.t.Helper()
	var answer struct {
		Key string `json:"key"`
	}
	c.call("POST", "/api/v1/user/apikey", nil, &answer)
	return answer.Key
}

func runScripts(t *testing.T, pattern string, prepare func(*testing.T) []string) {
	t.Parallel()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	api, err := filepath.Abs("../api")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			env := []string{"API=" + api, "CLOSED=" + freeAddresses(t, 1)[0]}
			site, wall := httptest.NewServer(weaksite.New(1)), httptest.NewServer(weaksite.Wall())
			t.Cleanup(site.Close)
			t.Cleanup(wall.Close)
			mirror := httptest.NewServer(new(echo))
			t.Cleanup(mirror.Close)
			env = append(env, "HOST="+strings.TrimPrefix(site.URL, "http://"), "SITE="+site.URL, "WALL="+wall.URL, "ECHO="+mirror.URL)
			if source, err := os.ReadFile(file); err == nil && strings.Contains(string(source), "$OAST") {
				p := launch(t, []string{"VEDETTE_OAST_TOKEN=t0ken"}, "oast", "serve", "--listen", "http://127.0.0.1:0")
				env = append(env, "OAST="+p.waitForOutput(`listening: (http://\S+)`)[1])
			}
			if prepare != nil {
				env = append(env, prepare(t)...)
			}
			testscript.Run(t, testscript.Params{
				Files: []string{file}, RequireUniqueNames: true, Cmds: scriptCommands, Condition: condition,
				Setup: func(e *testscript.Env) error {
					e.Vars = append(e.Vars, env...)
					return nil
				},
			})
		})
	}
}

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// vedette ARG… runs the product, which must exit with 0.
	"vedette": func(ts *testscript.TestScript, _ bool, args []string) { exits(ts, 0, args) },

	// exits CODE ARG… runs the product, which must exit with the code.
	"exits": func(ts *testscript.TestScript, _ bool, args []string) {
		code, err := strconv.Atoi(args[0])
		ts.Check(err)
		exits(ts, code, args[1:])
	},

	// lines N FILE: the file has N lines.
	"lines": func(ts *testscript.TestScript, _ bool, args []string) {
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		if got := strings.Count(ts.ReadFile(args[1]), "\n"); got != want {
			ts.Fatalf("%s has %d lines, not %d", args[1], got, want)
		}
	},

	// expand FILE: ${NAME} in the file becomes the value of the variable.
	"expand": func(ts *testscript.TestScript, _ bool, args []string) {
		text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
	},

	// keys FILE KEY…: each line of the file is a JSON object that has these keys.
	"keys": func(ts *testscript.TestScript, _ bool, args []string) {
		for line := range strings.Lines(ts.ReadFile(args[0])) {
			var object map[string]json.RawMessage
			ts.Check(json.Unmarshal([]byte(line), &object))
			for _, key := range args[1:] {
				if object[key] == nil {
					ts.Fatalf("a line without %q: %s", key, line)
				}
			}
		}
	},

	// onlykeys FILE KEY…: each line of the file is a JSON object that has no other keys.
	"onlykeys": func(ts *testscript.TestScript, _ bool, args []string) {
		for line := range strings.Lines(ts.ReadFile(args[0])) {
			var object map[string]json.RawMessage
			ts.Check(json.Unmarshal([]byte(line), &object))
			for key := range object {
				if !slices.Contains(args[1:], key) {
					ts.Fatalf("a line with %q: %s", key, line)
				}
			}
		}
	},
}

func exits(ts *testscript.TestScript, want int, args []string) {
	got := 0
	name, err := build()
	ts.Check(err)
	var failed *exec.ExitError
	if err := ts.Exec(name, args...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("vedette %s exits with %d, not %d", strings.Join(args, " "), got, want)
	}
}
