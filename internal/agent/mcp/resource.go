package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A server's resources and prompts are read by these tools of ours, where the server has no tool of that name.
const (
	ReadResource = "read_resource"
	GetPrompt    = "get_prompt"
)

const (
	maxListed   = 200 // resources, templates of them, or prompts
	maxListText = 500 // bytes that one says of itself
)

// readers are the tools of ours for a server with these capabilities.
func readers(c *sdk.ServerCapabilities) (out []Tool) {
	if c == nil {
		return nil
	}
	reader := func(name, description, schema string) {
		sum := sha256.Sum256([]byte("vedette " + name + " 1"))
		out = append(out, Tool{Name: name, Description: description, Schema: json.RawMessage(schema), ReadOnly: true,
			Idempotent: true, Digest: hex.EncodeToString(sum[:])})
	}
	if c.Resources != nil {
		reader(ReadResource, "Reads a resource of this server. Without uri, lists its resources and the patterns of their URIs.",
			`{"type":"object","properties":{"uri":{"type":"string","description":"As the list names it, or after one of its patterns."}}}`)
	}
	if c.Prompts != nil {
		reader(GetPrompt, "Reads a prompt of this server, a text that its author wrote for models. Without name, lists the prompts.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}}}`)
	}
	return out
}

// withReaders appends the tools for resources and prompts to those of the server.
func (s *Session) withReaders(tools []Tool) []Tool {
	own := map[string]bool{}
	for _, t := range readers(s.session.InitializeResult().Capabilities) {
		if !slices.ContainsFunc(tools, func(other Tool) bool { return other.Name == t.Name }) {
			own[t.Name] = true
			tools = append(tools, t)
		}
	}
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	s.own = own
	return tools
}

// read calls a tool of ours.
func (s *Session) read(ctx context.Context, tool string, args json.RawMessage) (Answer, error) {
	var in struct {
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if json.Unmarshal(args, &in) != nil {
		return Answer{Text: "The arguments must be texts.", Failed: true}, nil //nolint:nilerr // the model reads it
	}
	var parts []string
	var err error
	switch {
	case tool == ReadResource && in.URI == "":
		parts, err = s.resources(ctx)
	case tool == ReadResource:
		parts, err = s.resource(ctx, in.URI)
	case in.Name == "":
		parts, err = listed(s.session.Prompts(ctx, nil), promptLine)
	default:
		parts, err = s.prompt(ctx, in.Name, in.Arguments)
	}
	if err != nil {
		return Answer{}, s.wire.failure(ctx, err)
	}
	if len(parts) == 0 {
		parts = []string{"It has none."}
	}
	return Answer{Text: joined(parts)}, nil
}

func (s *Session) resources(ctx context.Context) ([]string, error) {
	found, err := listed(s.session.Resources(ctx, nil), func(r *sdk.Resource) string {
		return line(r.URI, r.Name, r.Description, r.MIMEType)
	})
	if err != nil {
		return nil, err
	}
	patterns, err := listed(s.session.ResourceTemplates(ctx, nil), func(r *sdk.ResourceTemplate) string {
		return line(r.URITemplate, r.Name, r.Description, r.MIMEType)
	})
	if errs.Is(s.wire.failure(ctx, err), errs.Invalid) && len(found) > 0 {
		err = nil // a server without patterns may not know the question
	}
	if len(patterns) > 0 {
		found = append(append(found, "Patterns of URIs:"), patterns...)
	}
	return found, err
}

func (s *Session) resource(ctx context.Context, uri string) (parts []string, err error) {
	got, err := s.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	for _, c := range got.Contents {
		if c != nil {
			parts = append(parts, partOf(c))
		}
	}
	return parts, nil
}

func (s *Session) prompt(ctx context.Context, name string, args map[string]string) (parts []string, err error) {
	got, err := s.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	for _, m := range got.Messages {
		if m != nil {
			parts = append(parts, clean(string(m.Role), 20)+": "+strings.Join(partsOf([]sdk.Content{m.Content}), "\n"))
		}
	}
	return parts, nil
}

func promptLine(p *sdk.Prompt) string {
	var args []string
	for _, a := range p.Arguments {
		if a == nil {
			continue
		}
		text := clean(a.Name, 100)
		if a.Required {
			text += " (required)"
		}
		args = append(args, text)
	}
	return line(p.Name, p.Title, p.Description, strings.Join(args, ", "))
}

// line is what is listed of one thing.
func line(id string, more ...string) string {
	parts := []string{clean(id, maxURI)}
	for _, one := range more {
		if one = clean(one, maxListText); one != "" {
			parts = append(parts, strings.ReplaceAll(one, "\n", " "))
		}
	}
	return strings.Join(parts, " | ")
}

// listed are the lines of the first maxListed things.
func listed[T any](all iter.Seq2[*T, error], line func(*T) string) (lines []string, err error) {
	for one, err := range all {
		switch {
		case err != nil:
			return nil, err
		case len(lines) == maxListed:
			return append(lines, fmt.Sprintf("There are more than %d.", maxListed)), nil
		case one != nil:
			lines = append(lines, line(one))
		}
	}
	return lines, nil
}
