package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// Anthropic is a model behind Anthropic's messages API. Instructions, tools and conversation are marked for the prompt
// cache, so that the next request pays a tenth for them.
func Anthropic(c Config) Model {
	return &anthropicModel{c.withDefaults(anthropicURL)}
}

type anthropicModel struct{ Config }

func (m *anthropicModel) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	return m.call(ctx, r, func(ctx context.Context, client *http.Client) (Response, error) {
		return m.stream(ctx, client, r, onText)
	})
}

func (m *anthropicModel) stream(
	ctx context.Context, client *http.Client, r Request, onText func(string),
) (Response, error) {
	var resp *http.Response
	base := strings.TrimSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1")
	opts := []option.RequestOption{
		option.WithBaseURL(base), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithResponseInto(&resp),
	}
	if m.Key != "" {
		opts = append(opts, option.WithAPIKey(m.Key))
	}
	service := anthropic.NewMessageService(opts...)
	stream := service.NewStreaming(ctx, m.params(r))
	if err := stream.Err(); err != nil {
		return Response{}, err
	}
	defer stream.Close()
	a := &anthropicAnswer{answer: answer{request: r, onText: onText}}
	err := a.read(ssestream.NewDecoder(resp))
	if err == nil && a.stop == "" {
		err = malformed("it ended in the middle")
	}
	return a.response(anthropicStops[a.stop]), err
}

func (m *anthropicModel) params(r Request) anthropic.MessageNewParams {
	name, _ := wireName(m.Provider, r.Model)
	p := anthropic.MessageNewParams{Model: name, MaxTokens: int64(r.maxTokens()), Messages: anthropicMessages(r.Messages)}
	mark := anthropic.NewCacheControlEphemeralParam()
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: mark}}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](t.schema(`{"type":"object"}`)),
		}})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = mark
	}
	markHistory(p.Messages)
	return p
}

// anthropicMessages joins messages of the same role: all results of an answer's calls must be in one. The API refuses
// empty blocks.
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

// markHistory marks the end of the conversation and the end before: the provider searches its cache only a few blocks
// before a mark.
func markHistory(messages []anthropic.MessageParam) {
	marks := 2 // of four; tools and instructions have the others
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

type anthropicAnswer struct {
	answer

	stop anthropic.StopReason
}

// anthropicStops are the reasons for which an answer did not end by itself.
var anthropicStops = map[anthropic.StopReason]Stop{
	anthropic.StopReasonRefusal: StopRefusal, anthropic.StopReasonMaxTokens: StopLength,
	anthropic.StopReasonModelContextWindowExceeded: StopLength,
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
			return streamError(errorOf(failure.Error))
		}
	}
	return events.Err()
}

func (a *anthropicAnswer) add(e anthropic.MessageStreamEventUnion) {
	switch e := e.AsAny().(type) {
	case anthropic.MessageStartEvent:
		u := e.Message.Usage
		a.model = e.Message.Model
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	case anthropic.ContentBlockStartEvent:
		switch block := e.ContentBlock; block.Type {
		case "text":
			a.addText(block.Text)
		case "tool_use":
			a.calls = append(a.calls, &partialCall{index: e.Index, ToolCall: ToolCall{ID: block.ID, Name: block.Name}})
		}
	case anthropic.ContentBlockDeltaEvent:
		a.addText(e.Delta.Text)
		for _, c := range a.calls {
			if c.index == e.Index {
				c.args.WriteString(e.Delta.PartialJSON)
			}
		}
	case anthropic.MessageDeltaEvent:
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
		if u := e.Usage; a.usage != nil {
			a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		}
	}
}

// count keeps the usage of an event: each count is the sum so far.
func (a *anthropicAnswer) count(input, output, cacheRead, cacheWrite int64) {
	if a.usage == nil {
		a.usage = &Usage{}
	}
	u := a.usage
	u.Input, u.Output = max(u.Input, int(input)), max(u.Output, int(output))
	u.CacheRead, u.CacheWrite = max(u.CacheRead, int(cacheRead)), max(u.CacheWrite, int(cacheWrite))
}
