package extension

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

// speaker is an MCP server in Python whose tool says what its environment has.
const speaker = `import json, os, sys
if os.environ.get("FAIL"): sys.exit("no good: " + os.environ["DESK_KEY"])
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    a = {"error": {"code": -32601, "message": "no"}}
    if m["method"] == "initialize":
        a = {"result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}
    if m["method"] == "tools/list":
        a = {"result": {"tools": [{"name": "env", "description": "Says it.", "inputSchema": {"type": "object"}}]}}
    if m["method"] == "tools/call":
        a = {"result": {"content": [{"type": "text", "text": os.environ["DESK_KEY"] + " " + str(os.environ.get("HTTP_PROXY"))}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **a}), flush=True)
`

func speaking() NewServer {
	return NewServer{Name: "desk", Command: []string{"/usr/bin/python3", "/tool/server.py"}, EnvVars: []string{"DESK_KEY"},
		Files: map[string]string{"server.py": speaker}}
}

func TestProgramsAreServersOfTasks(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		_, review, err := o.Connect(o.alice, speaking())
		if err != nil || review.Status != Failed || review.Code != CodeNoSecret {
			t.Fatalf("without its secret: %+v, %v", review, err)
		}
		if _, err := o.secrets.Create(o.alice, secret.NewSecret{Name: "DESK_KEY", Value: "key-of-the-desk"}); err != nil {
			t.Fatal(err)
		}
		failing := speaking()
		failing.Name, failing.Command = "failing", append([]string{"/usr/bin/env", "FAIL=1"}, failing.Command...)
		_, review, err = o.Connect(o.alice, failing)
		if err != nil || review.Code != mcp.CodeProgram || !strings.Contains(review.Log, "no good: ") ||
			strings.Contains(review.Log, "key-of-the-desk") {
			t.Errorf("a program that ends: %+v, %v", review, err)
		}
		one := speaking()
		one.Name = "other"
		made, review, err := o.Connect(o.alice, one)
		if err != nil || review.Status != Connected || len(made.Accepted) != 1 {
			t.Fatalf("%+v, %v", review, err)
		}
		if again, err := o.Server(o.alice, made.ID); err != nil || again.Files["server.py"] != speaker || len(again.Command) != 2 {
			t.Errorf("as it is stored: %+v, %v", again.Command, err)
		}
		set, err := o.ForTask(t.Context(), o.teamID, o.aliceID, nil)
		if err != nil || len(set.Offers) != 1 || set.Offers[0].Name != "other_env" {
			t.Fatalf("%+v, %v", set, err)
		}
		text, failed, err := set.Offers[0].Call(t.Context(), json.RawMessage(`{}`))
		if text != "key-of-the-desk None" || failed || err != nil || strings.Join(set.Hidden, "") == "" {
			t.Errorf("%q, %v, %v, hidden: %d", text, failed, err, len(set.Hidden))
		}
		set.Close()
		for _, slot := range o.programs.of(o.teamID) {
			if len(slot) != 0 {
				t.Error("a program goes on after the task")
			}
		}
	})
}

func TestProgramsAreChecked(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		for name, c := range map[string]struct {
			change func(n *NewServer)
			field  string
		}{
			"both":          {func(n *NewServer) { n.URL = "http://127.0.0.1/" }, "url"},
			"neither":       {func(n *NewServer) { n.Command, n.EnvVars, n.Files = nil, nil, nil }, "url"},
			"only files":    {func(n *NewServer) { n.Command, n.URL = nil, "http://127.0.0.1/" }, "command"},
			"headers":       {func(n *NewServer) { n.Headers = map[string]string{"X-A": "b"} }, "headers"},
			"token":         {func(n *NewServer) { n.BearerToken = "token-0123456789" }, "bearer_token"},
			"no program":    {func(n *NewServer) { n.Command = []string{" "} }, "command"},
			"a zero byte":   {func(n *NewServer) { n.Command = []string{"a", "b\x00c"} }, "command"},
			"long":          {func(n *NewServer) { n.Command = make([]string, 51) }, "command"},
			"env":           {func(n *NewServer) { n.EnvVars = []string{"A=B"} }, "env_vars"},
			"a path":        {func(n *NewServer) { n.Hosts = []string{"example.com/x"} }, "hosts"},
			"a user":        {func(n *NewServer) { n.Hosts = []string{"a@example.com"} }, "hosts"},
			"private":       {func(n *NewServer) { n.Hosts = []string{"10.0.0.1"} }, "hosts"},
			"file in a dir": {func(n *NewServer) { n.Files = map[string]string{"../a": ""} }, "files"},
			"large file":    {func(n *NewServer) { n.Files = map[string]string{"a": strings.Repeat("x", 300<<10)} }, "files"},
		} {
			n := speaking()
			c.change(&n)
			if _, _, err := o.Connect(o.alice, n); !errs.Is(err, errs.Invalid) || errs.From(err).Param != c.field {
				t.Errorf("%s: %v, want %s", name, err, c.field)
			}
		}
	})
}

func TestProgramsReachTheirHostsAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at := l.Addr().String()
		for _, hosts := range [][]string{{"127.0.0.1"}, {"example.com", at}} {
			conn, err := o.dialHosts(hosts)(t.Context(), "tcp", at)
			if err != nil {
				t.Fatalf("%v: %v", hosts, err)
			}
			_ = conn.Close()
		}
		for hosts, addr := range map[string]string{"127.0.0.1:1": at, "example.com": at, "10.0.0.1": "10.0.0.1:80", "127.0.0.2": at} {
			if _, err := o.dialHosts([]string{hosts})(context.Background(), "tcp", addr); err == nil ||
				!strings.Contains(err.Error(), "refused: it is") {
				t.Errorf("%s for %s: %v", addr, hosts, err)
			}
		}
	})
}

func TestATeamLeavesProgramsToOthers(t *testing.T) {
	s := New(nil, nil, Config{})
	one, other := s.programs.of("one"), s.programs.of("other")
	if one[0] == other[0] || one[1] != other[1] || one[0] != s.programs.of("one")[0] || cap(one[0]) >= cap(one[1]) {
		t.Errorf("%v of one team, %v of another", one, other)
	}
}
