package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// Anthropic makes a model behind Anthropic's messages API, or behind a server that speaks
// it. The instructions, the tools and the conversation up to now are marked for the
// provider's prompt cache, so that the next turn pays a tenth for them.
func Anthropic(c Config) Model {
	return &anthropicModel{c.withDefaults(anthropicURL)}
}

type anthropicModel struct{ Config }

// Complete implements Model.
func (m *anthropicModel) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	if r.MaxTokens <= 0 {
		r.MaxTokens = defaultMaxTokens
	}
	return m.call(ctx, r.Key, r.MaxTokens, func(ctx context.Context, client *http.Client) (Response, error) {
		return m.stream(ctx, client, r, onText)
	})
}

func (m *anthropicModel) options(client *http.Client) []option.RequestOption {
	opts := []option.RequestOption{option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1")), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if m.Key != "" {
		opts = append(opts, option.WithAPIKey(m.Key))
	}
	return opts
}

func (m *anthropicModel) stream(ctx context.Context, client *http.Client, r Request, onText func(string)) (Response, error) {
	var resp *http.Response
	opts := append(m.options(client), option.WithResponseInto(&resp))
	service := anthropic.NewMessageService(opts...)
	stream := service.NewStreaming(ctx, m.params(r))
	if err := stream.Err(); err != nil {
		return Response{}, err
	}
	defer stream.Close()
	a := &anthropicAnswer{request: r, pieces: pieces{tell: onText}}
	if err := a.read(ssestream.NewDecoder(resp)); err != nil {
		return a.response(), err
	}
	if a.stop == "" {
		return a.response(), malformed("it ended in the middle")
	}
	return a.response(), nil
}

func (m *anthropicModel) params(r Request) anthropic.MessageNewParams {
	name, _ := wireName(m.Provider, r.Model)
	p := anthropic.MessageNewParams{Model: name, MaxTokens: int64(r.MaxTokens), Messages: anthropicMessages(r.Messages)}
	mark := anthropic.NewCacheControlEphemeralParam()
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: mark}}
	}
	for _, t := range r.Tools {
		schema := []byte(t.Schema)
		if !json.Valid(schema) || !bytes.HasPrefix(bytes.TrimSpace(schema), []byte("{")) {
			schema = []byte(`{"type":"object"}`)
		}
		tool := anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description), InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(schema))}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = mark
	}
	markHistory(p.Messages)
	return p
}

// anthropicMessages joins what belongs into one turn: the results of all calls of a turn
// stand in one message of the user, before what the user says. Blocks without text are
// left out; the API refuses them.
func anthropicMessages(messages []Message) (out []anthropic.MessageParam) {
	for _, m := range messages {
		role, blocks := anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{}
		switch m.Role {
		case ToolRole:
			blocks = append(blocks, anthropic.NewToolResultBlock(m.CallID, m.Text, m.Failed))
			if strings.TrimSpace(m.Text) == "" {
				blocks[0].OfToolResult.Content = nil
			}
		case Assistant:
			role = anthropic.MessageParamRoleAssistant
			fallthrough
		case User:
			if text := strings.TrimRight(m.Text, " \t\r\n"); text != "" {
				blocks = append(blocks, anthropic.NewTextBlock(text))
			}
			for _, c := range m.Calls {
				blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, object(c.Args), c.Name))
			}
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	return out
}

// markHistory marks the end of the conversation, and its end one turn ago: the provider
// looks for what it has cached only a few blocks behind a mark.
func markHistory(messages []anthropic.MessageParam) {
	marks := 2 // of the four that a request may have; the tools and the instructions have the others
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		if messages[i].Role != anthropic.MessageParamRoleUser {
			continue
		}
		last := &messages[i].Content[len(messages[i].Content)-1]
		if mark := last.GetCacheControl(); mark != nil {
			*mark = anthropic.NewCacheControlEphemeralParam()
			marks--
		}
	}
}

// anthropicAnswer grows from the events of a stream.
type anthropicAnswer struct {
	request Request
	pieces  pieces
	model   string
	calls   []*growingCall
	stop    anthropic.StopReason
	usage   Usage
	counted bool
}

func (a *anthropicAnswer) read(events ssestream.Decoder) error {
	for events.Next() {
		event := events.Event()
		switch event.Type {
		case "message_start", "content_block_start", "content_block_delta", "message_delta":
			var e anthropic.MessageStreamEventUnion
			if json.Unmarshal(event.Data, &e) != nil {
				return malformed("an event of it is not JSON of the right shape")
			}
			a.add(e)
		case "message_stop":
			return nil
		case "error":
			var failure struct {
				Error json.RawMessage `json:"error"`
			}
			if json.Unmarshal(event.Data, &failure) != nil {
				return malformed("it ends in an error that is not JSON")
			}
			word, message := errorOf(failure.Error)
			return &status{code: statusOf(word), word: word, message: message}
		}
	}
	return events.Err()
}

func (a *anthropicAnswer) add(e anthropic.MessageStreamEventUnion) {
	switch e := e.AsAny().(type) {
	case anthropic.MessageStartEvent:
		a.model, a.counted = e.Message.Model, true
		u := e.Message.Usage
		a.usage = Usage{Input: int(u.InputTokens), Output: int(u.OutputTokens), CacheRead: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens)}
	case anthropic.ContentBlockStartEvent:
		switch block := e.ContentBlock; block.Type {
		case "text":
			a.pieces.add(block.Text)
		case "tool_use":
			a.calls = append(a.calls, &growingCall{index: e.Index, ToolCall: ToolCall{ID: block.ID, Name: block.Name}})
		}
	case anthropic.ContentBlockDeltaEvent:
		a.pieces.add(e.Delta.Text)
		for _, c := range a.calls {
			if c.index == e.Index {
				c.args.WriteString(e.Delta.PartialJSON)
			}
		}
	case anthropic.MessageDeltaEvent: // its counts are sums, not additions
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		u := e.Usage
		a.usage.Output = max(a.usage.Output, int(u.OutputTokens))
		a.usage.Input = max(a.usage.Input, int(u.InputTokens))
		a.usage.CacheRead = max(a.usage.CacheRead, int(u.CacheReadInputTokens))
		a.usage.CacheWrite = max(a.usage.CacheWrite, int(u.CacheCreationInputTokens))
	}
}

func (a *anthropicAnswer) response() Response {
	out := Response{Model: a.model, Text: a.pieces.text.String(), Stop: StopEnd}
	if out.Model == "" {
		out.Model = a.request.Model
	}
	out.Calls = grown(a.request, a.calls)
	switch a.stop {
	case anthropic.StopReasonRefusal:
		out.Stop = StopRefusal
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		out.Stop = StopLength
	default:
		if len(out.Calls) > 0 {
			out.Stop = StopCalls
		}
	}
	if out.Usage = a.usage; !a.counted {
		out.Usage = assumed(a.request, out)
	}
	return out
}
