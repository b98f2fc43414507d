package install

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Bounds of what a tool gets and returns, in bytes.
const (
	maxArgument = 64 << 10
	maxText     = 1 << 20
	maxLogs     = 16 << 10
)

// Tools are the tools of an agent. The result of one is the text that it printed.
func (r *Ready) Tools() (all []toolkit.Offer) {
	for _, t := range r.CustomTools {
		schema, _ := json.Marshal(t.Schema) //nolint:errchkjson // it came from JSON
		all = append(all, toolkit.Offer{
			Name: t.ID, Description: t.Description, Schema: schema, Timeout: time.Duration(t.Seconds) * time.Second,
			Call: func(ctx context.Context, input json.RawMessage, dial toolkit.Dial) (toolkit.Output, error) {
				return r.call(ctx, t, input, dial)
			},
		})
	}
	return all
}

// call runs a tool. What goes wrong in it is in the output.
func (r *Ready) call(
	ctx context.Context, t customagent.Tool, input json.RawMessage, dial toolkit.Dial,
) (out toolkit.Output, err error) {
	c := isolate.Command{Stdin: string(input), Dial: dial, Time: time.Duration(t.Seconds) * time.Second}
	text, names, err := t.Shell()
	if err != nil {
		return out, err
	}
	if c.Env, out.Fault = arguments(names, input); out.Fault != "" {
		return out, nil
	}
	maps.Copy(c.Env, r.env)
	c.Env["PATH"] = path
	if r.folder != "" {
		c.Folders = map[string]string{folderThere: r.folder}
	}
	c.Args = []string{"/bin/sh", "-c", text}
	if t.Script != "" {
		c.Files = map[string][]byte{t.ScriptPath: []byte(t.Script)}
		c.Env[customagent.ScriptVariable] = isolate.Files + "/" + t.ScriptPath
		if strings.TrimSpace(text) == "" {
			c.Args = []string{c.Env[customagent.ScriptVariable]}
		}
	}
	began := time.Now()
	got, err := r.all.Folders.Turn(ctx, c)
	out.Took = time.Since(began)
	switch {
	case sandbox.IsLimit(err):
		out.Fault = err.Error()
		return out, nil
	case err != nil:
		return out, err
	case got.Code != 0:
		out.Fault = fmt.Sprintf("The command ended with the code %d.", got.Code)
	}
	secrets := redact.New(r.env)
	out.Result = json.RawMessage(errs.Clip(secrets.Redact(strings.ToValidUTF8(string(got.Stdout), "\uFFFD")), maxText))
	out.Logs = errs.Clip(secrets.Redact(strings.ToValidUTF8(string(got.Stderr), "\uFFFD")), maxLogs)
	return out, nil
}

// arguments are the variables of a command: a text as it is, all else as JSON, and nothing for what is absent.
func arguments(names []string, input json.RawMessage) (env map[string]string, fault string) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, "The input is no JSON object."
	}
	env = map[string]string{}
	for _, name := range names {
		value := string(given[name])
		var text string
		if json.Unmarshal(given[name], &text) == nil { // null is no text, and leaves it empty
			value = text
		}
		if len(value) > maxArgument || strings.Contains(value, "\x00") {
			return nil, fmt.Sprintf("%s is longer than %d bytes, or has a zero byte.", name, maxArgument)
		}
		env[customagent.ArgVariable+name] = value
	}
	return env, ""
}
