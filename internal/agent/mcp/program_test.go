package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

// server is an MCP server in Python, whose tools do what their names say.
const server = `import json, os, sys, time
print("starting, with " + os.environ.get("SHOP_KEY", "no key"), file=sys.stderr)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in ("echo", "host", "hang", "large", "end", "chatter")]}
    elif m["method"] != "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        p = m["params"]
        text = json.dumps(p["arguments"])
        if p["name"] == "host":
            text = str(os.path.exists("/etc/passwd")) + str(os.listdir("/tool")) + str(os.path.exists("/root"))
        if p["name"] == "hang": time.sleep(600)
        if p["name"] == "end": sys.exit(7)
        if p["name"] == "large": text = "x" * (20 << 20)
        while p["name"] == "chatter":
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}}), flush=True)
        r = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func shopProgram(t *testing.T, args ...string) Config {
	t.Helper()
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	if len(args) == 0 {
		args = []string{"/usr/bin/python3", "/tool/server.py"}
	}
	return Config{Slots: []chan struct{}{make(chan struct{}, 2), make(chan struct{}, 1)}, Log: &bytes.Buffer{}, Program: &isolate.Command{
		Args: args, Env: map[string]string{"SHOP_KEY": "key-1234"}, Files: map[string][]byte{"server.py": []byte(server)},
	}}
}

func TestProgramsAreServers(t *testing.T) {
	c := shopProgram(t)
	s, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err, c.Log)
	}
	tools, more, err := s.Tools(t.Context())
	if err != nil || more != 0 || len(tools) != 6 || tools[0].Name != "echo" {
		t.Fatalf("%+v, %d, %v", tools, more, err)
	}
	for name, want := range map[string]string{"echo": `{"a": 1}`, "host": `False['server.py']False`} {
		if got, err := s.Call(t.Context(), name, json.RawMessage(`{"a":1}`)); err != nil || got.Text != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if len(c.Slots[0]) != 1 || len(c.Slots[1]) != 1 {
		t.Error("a program that runs takes no turn")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Connect(ctx, c); codeOf(err) != CodeUnreachable || !strings.Contains(err.Error(), "at most 1") {
		t.Errorf("a second program: %v", err)
	}
	s.Close()
	if len(c.Slots[0]) != 0 || len(c.Slots[1]) != 0 {
		t.Error("the program goes on after the session")
	}
}

func TestProgramsAreBounded(t *testing.T) {
	for name, code := range map[string]string{"hang": CodeUnreachable, "large": CodeTooLarge, "end": CodeProgram,
		"chatter": CodeTooLarge} {
		t.Run(name, func(t *testing.T) {
			c := shopProgram(t)
			s, err := Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			within := 30 * time.Second
			if name == "hang" {
				within = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			if _, err := s.Call(ctx, name, json.RawMessage(`{}`)); codeOf(err) != code {
				t.Errorf("%s, want %s", codeOf(err), code)
			}
			s.Close()
			if len(c.Slots[0]) != 0 || len(c.Slots[1]) != 0 {
				t.Error("the program goes on")
			}
		})
	}
}

func TestBadProgramsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code string
		text string
		log  string
	}{
		"not there": {[]string{"nosuchprogram"}, CodeProgram, "no such program", ""},
		"ends":      {[]string{"/bin/sh", "-c", "echo the key is $SHOP_KEY >&2; exit 3"}, CodeProgram, "the code 3", "the key is key-1234"},
		"prints":    {[]string{"/bin/sh", "-c", "echo Welcome; exec sleep 600"}, CodeProtocol, "nothing else", ""},
		"ignores":   {[]string{"/bin/sh", "-c", "echo Welcome; exec cat >/dev/null"}, CodeProgram, "nothing else", ""},
		"silent":    {[]string{"/bin/sleep", "600"}, CodeUnreachable, "in time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := shopProgram(t, c.args...)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			_, err := Connect(ctx, config)
			if codeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %s: %s", err, c.code, c.text)
			}
			if log, _ := config.Log.(*bytes.Buffer); !strings.Contains(log.String(), c.log) {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// TestNothingRunsBare: where the sandbox is refused, so is the program, with the reason.
func TestNothingRunsBare(t *testing.T) {
	for _, why := range []error{isolate.ErrNoBubblewrap, isolate.ErrNoSocat, isolate.ErrNoNamespaces} {
		p := &program{done: make(chan struct{}), err: why}
		close(p.done)
		if err := p.failure(errors.New("EOF")); codeOf(err) != CodeNoSandbox || !strings.Contains(err.Error(), why.Error()) {
			t.Errorf("%v: %v", why, err)
		}
	}
	t.Setenv("PATH", t.TempDir()) // no bubblewrap there
	_, err := Connect(t.Context(), Config{Slots: []chan struct{}{make(chan struct{}, 2), make(chan struct{}, 1)}, Program: &isolate.Command{Args: []string{"true"}}})
	if codeOf(err) != CodeNoSandbox {
		t.Errorf("without bubblewrap: %v", err)
	}
}
