package sshtool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

func toolFor(t *testing.T, doc task.Scope) Tool {
	t.Helper()
	s, err := scope.New(scope.Boundary{Plan: builtin.Plan("look at 127.0.0.1"), Doc: doc, OnDenied: func(scope.Denial) {}})
	if err != nil {
		t.Fatal(err)
	}
	return Tool{Scope: s, Usable: []sshkey.Key{
		{Name: "deploy", Algorithm: "ed25519", AuthType: "key", Host: "127.0.0.1", Port: 22, Username: "root"},
		{Name: "pass", Algorithm: sshkey.Password, AuthType: "password", Host: "127.0.0.1", Port: 22, Username: "root"},
		{Name: "bare", Algorithm: "ed25519", AuthType: "key", Port: 22},
	}}
}

func TestWhatIsRefusedBeforeAnythingIsSent(t *testing.T) {
	tool := toolFor(t, task.Scope{Intrusiveness: task.Intrusive}).Loop()
	for args, want := range map[string]string{
		`{"key": "none", "command": "id"}`:                           "no key",
		`{"key": "bare", "command": "id"}`:                           "no default host",
		`{"key": "bare", "host": "127.0.0.1", "command": "id"}`:      "no default username",
		`{"key": "deploy", "command": " "}`:                          "command",
		`{"key": "pass", "host": "127.0.0.2", "command": "id"}`:      "default host",
		`{"key": "pass", "port": 2222, "command": "id"}`:             "default host",
		`{"key": "deploy", "host": "192.0.2.7", "command": "id"}`:    "not in scope",
		`{"key": "deploy", "host": "example.com", "command": "id"}`:  "not in scope",
		`{"key": "deploy", "command": 7}`:                            "arguments",
		`{"key": "deploy", "host": "127.0.0.1.", "command": "true"}`: "",
	} {
		_, err := tool.Call(t.Context(), json.RawMessage(args), func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	passive := toolFor(t, task.Scope{Intrusiveness: task.Passive}).Loop()
	if _, err := passive.Call(t.Context(), json.RawMessage(`{"key": "deploy", "command": "id"}`), nil); err == nil ||
		!strings.Contains(err.Error(), "passive") {
		t.Error(err)
	}
}

func TestAPersonApprovesCommands(t *testing.T) {
	args := json.RawMessage(`{"key": "deploy", "command": "rm -r /"}`)
	asked := toolFor(t, task.Scope{}).Loop().Approval(args)
	if asked == nil || !strings.Contains(asked.Action, `run "rm -r /" on 127.0.0.1 as root`) {
		t.Errorf("%+v", asked)
	}
	if asked := toolFor(t, task.Scope{Intrusiveness: task.Intrusive}).Loop().Approval(args); asked != nil {
		t.Errorf("%+v", asked)
	}
}

func TestTheModelLearnsNamesOnly(t *testing.T) {
	text := toolFor(t, task.Scope{}).Loop().Description
	if !strings.Contains(text, "- deploy (key), for root@127.0.0.1:22") || !strings.Contains(text, "- pass (password)") {
		t.Error(text)
	}
}
