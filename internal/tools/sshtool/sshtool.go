// Package sshtool is the tool with which a language model runs commands on hosts in scope, by the SSH keys of its task.
// The
// model names a key; it sees neither a private key nor a password.
package sshtool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// Name is the name of the tool.
const Name = "ssh"

//go:embed ssh.md
var description string

// Tool is the tool for one task.
type Tool struct {
	Keys   *sshkey.Keys
	Usable []sshkey.Key // by the task
	TeamID string
	Scope  *scope.Scope
}

type arguments struct {
	Key      string `json:"key"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Username string `json:"username"`
	Command  string `json:"command"`
}

const (
	timeout    = 60 * time.Second
	maxCommand = 8 << 10
	schema     = `{"type": "object", "required": ["key", "command"], "properties": {
		"key": {"type": "string", "description": "The name of the key."},
		"host": {"type": "string", "description": "Default: the key's."},
		"port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "Default: the key's."},
		"username": {"type": "string", "description": "Default: the key's."},
		"command": {"type": "string", "description": "One command line for the host's shell."}}}`
)

// Loop is the tool as the loop calls it.
func (t Tool) Loop() loop.Tool {
	return loop.Tool{
		Tool: llm.Tool{Name: Name, Description: description + "\n" + t.list(), Schema: json.RawMessage(schema)},
		Call: func(ctx context.Context, raw json.RawMessage, _ func(string)) (loop.Result, error) {
			var a arguments
			if err := json.Unmarshal(raw, &a); err != nil {
				return loop.Result{}, fmt.Errorf("the arguments of %s: %w", Name, err)
			}
			return t.call(ctx, a)
		},
		Requests: func(json.RawMessage) int { return 1 },
		Approval: t.approval,
	}
}

// list tells the model which keys there are.
func (t Tool) list() string {
	lines := []string{"The keys:"}
	for _, k := range t.Usable {
		line := fmt.Sprintf("- %s (%s)", k.Name, k.AuthType)
		if k.Username != "" || k.Host != "" {
			line += fmt.Sprintf(", for %s@%s", k.Username, net.JoinHostPort(k.Host, strconv.Itoa(k.Port)))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// fill puts the defaults of the key into the arguments.
func (t Tool) fill(a arguments) (arguments, sshkey.Key, error) {
	for _, k := range t.Usable {
		if k.Name != a.Key {
			continue
		}
		if a.Host == "" {
			a.Host = k.Host
		}
		if a.Port == 0 {
			a.Port = k.Port
		}
		if a.Username == "" {
			a.Username = k.Username
		}
		switch {
		case a.Host == "":
			return a, k, fmt.Errorf("the key %s has no default host: name a host", a.Key)
		case a.Username == "":
			return a, k, fmt.Errorf("the key %s has no default username: name a username", a.Key)
		case strings.TrimSpace(a.Command) == "" || len(a.Command) > maxCommand:
			return a, k, fmt.Errorf("command must have 1 to %d bytes", maxCommand)
		case k.Algorithm == sshkey.Password && (!strings.EqualFold(a.Host, k.Host) || a.Port != k.Port):
			// Another host would learn it.
			return a, k, fmt.Errorf("the password %s is sent to its default host and port only", a.Key)
		}
		return a, k, nil
	}
	return a, sshkey.Key{}, fmt.Errorf("there is no key %q", errs.Clip(a.Key, brief.MaxReason))
}

// approval asks a person before a command is run, unless the task is intrusive: any command may change something.
func (t Tool) approval(raw json.RawMessage) *loop.Approval {
	var a arguments
	_ = json.Unmarshal(raw, &a) // call reports the error
	if t.Scope.Doc.Intrusiveness == task.Intrusive {
		return nil
	}
	filled, _, err := t.fill(a)
	if err != nil {
		return nil // it will be refused
	}
	return &loop.Approval{
		Action: errs.Clip(
			fmt.Sprintf("run %q on %s as %s with the SSH key %s", filled.Command, filled.Host, filled.Username, a.Key),
			brief.MaxReason,
		),
		Reason: "A command on a host can change anything that its user can.",
		Risk:   "Data may be read, changed or lost, and services may stop.",
	}
}

func (t Tool) call(ctx context.Context, a arguments) (r loop.Result, err error) {
	a, k, err := t.fill(a)
	if err != nil {
		return r, err
	}
	if t.Scope.Doc.Intrusiveness == task.Passive {
		return r, fmt.Errorf("%s sends to targets, and the task is passive", Name)
	}
	if err := t.Scope.Take(); err != nil {
		return r, err
	}
	r.Requests = 1
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	conn, err := t.Scope.Dial(ctx, "tcp", address)
	if err != nil {
		return r, fmt.Errorf("no connection to %s: %s", address, brief.Reason(err))
	}
	out, err := t.Keys.Run(
		ctx,
		conn,
		k,
		sshkey.Command{TeamID: t.TeamID, Address: address, Username: a.Username, Text: a.Command},
	)
	if err != nil {
		return r, err
	}
	lines := []string{fmt.Sprintf("%s, host key %s", address, out.Fingerprint)}
	if out.First {
		lines[0] += ", seen for the first time and remembered"
	}
	lines = append(lines, fmt.Sprintf("exit code %d", out.ExitCode), out.Text)
	if out.Cut {
		lines = append(lines, "… (cut)")
	}
	r.Text = strings.Join(lines, "\n")
	r.Evidence = []string{"ssh " + address + " " + a.Username + " " + a.Command}
	return r, nil
}
