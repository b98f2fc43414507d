package loop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// tool is a Tool with its schema compiled, or one of the loop's own.
type tool struct {
	Tool

	schema *jsonschema.Schema // nil: any object
	own    func(b *branch, ctx context.Context, key string, call llm.ToolCall, args json.RawMessage) (Returned, error)
}

// The loop's own tools.
const (
	toolDelegate = "delegate"
	toolAsk      = "ask_question"
	toolPlan     = "propose_plan"
)

func (r *run) compileTools() (map[string]*tool, error) {
	all := map[string]*tool{}
	for _, t := range ownTools() {
		all[t.Name] = t
	}
	all[toolDelegate].Tool.Tool = delegateTo(r.Agents)
	for _, given := range r.Tools {
		if all[given.Name] != nil {
			return nil, fmt.Errorf("loop: there are two tools with the name %q", given.Name)
		}
		all[given.Name] = &tool{Tool: given}
	}
	for name, t := range all {
		schema, err := compile(t.Schema)
		if err != nil { // a foreign MCP server's: any object is accepted then
			r.Logger.Warn("a tool's schema cannot be used", "tool", name, "error", err)
		}
		t.schema = schema
	}
	return all, nil
}

func ownTools() []*tool {
	own := func(name, description, schema string) Tool {
		return Tool{Passive: true, Tool: llm.Tool{Name: name, Description: description, Schema: json.RawMessage(schema)}}
	}
	return []*tool{
		{own: (*branch).delegate, Tool: own(toolDelegate, "", "")},
		{own: (*branch).askUser, Tool: own(toolAsk,
			"Ask the person whose instruction this is. The run waits for the answer, which may take days: ask only what you cannot find out and need to know.",
			`{"type":"object","properties":{"question":{"type":"string","minLength":1},"options":{"type":"array","maxItems":10,"items":{"type":"string"}}},"required":["question"]}`)},
		{own: (*branch).propose, Tool: own(toolPlan,
			"Put your plan before the person. Call it once, when you know enough.",
			`{"type":"object","properties":{"summary":{"type":"string","minLength":1},"steps":{"type":"array","maxItems":50,"items":{"type":"object","properties":{`+
				`"title":{"type":"string"},"detail":{"type":"string"}},"required":["title"]}}},"required":["summary"]}`)},
	}
}

// OwnTools are the names of the tools that every run has.
func OwnTools() []string { return []string{toolDelegate, toolAsk, toolPlan} }

// CheckSchema says why arguments cannot be checked against a schema.
func CheckSchema(schema json.RawMessage) error {
	_, err := compile(schema)
	return err
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	if err := checkSize(doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // loads nothing
	if err := c.AddResource("mem:///arguments", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///arguments")
}

// maxDepth bounds sub-agents of sub-agents: main.1.2.
const maxDepth = 2

// offered are the tools that the model may call now, always in the same order.
func (b *branch) offered() []*tool {
	var list []*tool
	var names []string
	for _, given := range b.Tools {
		names = append(names, given.Name)
	}
	for _, name := range append(names, OwnTools()...) {
		if t := b.tools[name]; b.allowed(t) {
			list = append(list, t)
		}
	}
	return list
}

func (b *branch) allowed(t *tool) bool {
	switch t.Name {
	case toolDelegate:
		return b.Mode != ModeChat && strings.Count(b.name, ".") < maxDepth
	case toolAsk:
		return b.AskQuestion
	case toolPlan:
		return b.planning && b.subagent == ""
	}
	if t.Agent != "" && t.Agent != b.agent() {
		return false
	}
	if b.started.Tools != nil && !slices.Contains(b.started.Tools, t.Name) {
		return false
	}
	return t.Passive || !b.planning && b.Mode != ModeChat
}

// agent is the ID of the agent that a branch is.
func (b *branch) agent() string {
	if b.subagent == "" {
		return b.Lead
	}
	return b.started.Agent
}

// resolve finds the tool of a call and checks the arguments; fault says what is wrong.
func (b *branch) resolve(call llm.ToolCall) (t *tool, args json.RawMessage, fault string) {
	t = b.tools[call.Name]
	if t == nil || !b.allowed(t) {
		var names []string
		for _, other := range b.offered() {
			names = append(names, other.Name)
		}
		return nil, nil, fmt.Sprintf("there is no tool with the name %q now. The tools are: %s", shorten(call.Name, 100),
			strings.Join(names, ", "))
	}
	args = json.RawMessage(cmp.Or(strings.TrimSpace(call.Args), "{}"))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	var syntax *json.SyntaxError
	switch _, object := doc.(map[string]any); {
	case errors.As(err, &syntax):
		return nil, nil, fmt.Sprintf("the arguments are not JSON: %s, at byte %d", err, syntax.Offset)
	case err != nil:
		return nil, nil, fmt.Sprintf("the arguments are not JSON: %s", err)
	case !object:
		return nil, nil, "the arguments are not a JSON object"
	case b.boundaryPattern.MatchString(call.Args):
		return nil, nil, "the arguments have the boundary of data in them, which is never to be written"
	}
	if t.schema != nil {
		if err := t.schema.Validate(doc); err != nil {
			return nil, nil, "the arguments do not fit the tool's schema: " + schemaErrors(err)
		}
	}
	return t, args, ""
}

func schemaErrors(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var faults []string
	for _, unit := range invalid.BasicOutput().Errors {
		if unit.Error != nil {
			faults = append(faults, fmt.Sprintf("%s: %s", cmp.Or(unit.InstanceLocation, "/"), unit.Error))
		}
	}
	slices.Sort(faults)
	return shorten(strings.Join(slices.Compact(faults), "; "), 600)
}

// Unfit says why a JSON document does not fit a schema; "": it does, or there is no schema.
func Unfit(schema, document json.RawMessage) string {
	compiled, err := compile(schema)
	if err != nil || compiled == nil {
		return ""
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return "it is not JSON"
	}
	if err := compiled.Validate(doc); err != nil {
		return schemaErrors(err)
	}
	return ""
}
