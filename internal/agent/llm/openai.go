package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// OpenAI is a model behind OpenAI's chat completions or a compatible server: vLLM, llama.cpp, Ollama, OpenRouter,
// Azure.
func OpenAI(c Config) Model {
	m := &openAI{Config: c.withDefaults(openAIURL)}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Hostname() != "api.openai.com" && !strings.HasSuffix(u.Hostname(), ".azure.com") {
		m.unsupported[maxCompletionTokens].Store(true) // many servers know only max_tokens
	}
	return m
}

// openAI remembers the parameters that its server does not accept.
type openAI struct {
	Config
	unsupported [parameters]atomic.Bool
}

// Parameters that not every server accepts. Each is omitted after the first refusal that names it.
const (
	maxCompletionTokens = iota
	streamOptions
	reasoningEffort
	parameters
)

var parameterNames = [parameters]string{"max_completion_tokens", "stream_options", "reasoning_effort"}

func (m *openAI) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	return m.call(ctx, r, func(ctx context.Context, client *http.Client) (Response, error) {
		for {
			response, err := m.stream(ctx, client, r, onText)
			if s := (*status)(nil); errors.As(err, &s) && s.isContentFilter() {
				response.Model, response.Stop = r.Model, StopRefusal
				return response, nil
			}
			if !m.rejectedParameter(err) {
				return response, err
			}
		}
	})
}

// rejectedParameter reports whether err rejects a parameter, which is not sent from now on.
func (m *openAI) rejectedParameter(err error) bool {
	var s *status
	if !errors.As(err, &s) || s.code != http.StatusBadRequest && s.code != http.StatusUnprocessableEntity {
		return false
	}
	for i, name := range parameterNames {
		if strings.Contains(s.message, name) && m.unsupported[i].CompareAndSwap(false, true) {
			return true
		}
	}
	// The reverse: max_completion_tokens is wanted.
	return strings.Contains(s.message, "max_tokens") && strings.Contains(s.message, parameterNames[maxCompletionTokens]) &&
		m.unsupported[maxCompletionTokens].CompareAndSwap(true, false)
}

// stream asks once. The answer may also come in one piece.
func (m *openAI) stream(ctx context.Context, client *http.Client, r Request, onText func(string)) (Response, error) {
	body, err := json.Marshal(m.request(r))
	if err != nil {
		return Response{}, err
	}
	req, err := m.ask(ctx, http.MethodPost, "chat/completions", bytes.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	a := &openAIAnswer{answer: answer{request: r, onText: onText}}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "application/json" {
		return a.readWhole(resp.Body)
	}
	return a.end(a.read(ssestream.NewDecoder(resp)))
}

func (m *openAI) request(r Request) chatRequest {
	name, effort := wireName(m.Provider, r.Model)
	out := chatRequest{Model: name, Messages: chatMessages(r), Stream: true}
	if m.unsupported[maxCompletionTokens].Load() {
		out.MaxTokens = r.maxTokens()
	} else {
		out.MaxCompletionTokens = r.maxTokens()
	}
	if !m.unsupported[streamOptions].Load() {
		out.StreamOptions = &chatStreamOptions{IncludeUsage: true}
	}
	if !m.unsupported[reasoningEffort].Load() {
		out.ReasoningEffort = effort
	}
	for _, t := range r.Tools {
		schema := t.schema(`{"type":"object","properties":{}}`)
		out.Tools = append(out.Tools, chatTool{Type: "function", Function: chatFunction{t.Name, t.Description, schema}})
	}
	return out
}

func chatMessages(r Request) (out []chatMessage) {
	if r.System != "" {
		out = append(out, chatMessage{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		switch m.Role {
		case User:
			out = append(out, chatMessage{Role: "user", Content: &m.Text})
		case ToolRole:
			out = append(out, chatMessage{Role: "tool", Content: &m.Text, ToolCallID: m.CallID})
		case Assistant:
			message := chatMessage{Role: "assistant"}
			if m.Text != "" || len(m.Calls) == 0 {
				message.Content = &m.Text
			}
			for _, c := range m.Calls {
				message.ToolCalls = append(message.ToolCalls,
					chatCall{ID: c.ID, Type: "function", Function: chatCalled{c.Name, string(object(c.Args))}})
			}
			out = append(out, message)
		}
	}
	return out
}

// schema is the tool's schema, or otherwise if that is empty or not an object.
func (t Tool) schema(otherwise string) json.RawMessage {
	var doc map[string]json.RawMessage
	if json.Unmarshal(t.Schema, &doc) != nil || len(doc) == 0 {
		return json.RawMessage(otherwise)
	}
	return t.Schema
}

// object is a call's arguments as an object: several servers fail on a history with anything else.
func object(args string) json.RawMessage {
	var doc map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &doc) == nil && doc != nil {
		return json.RawMessage(args)
	}
	if strings.TrimSpace(args) == "" {
		return json.RawMessage("{}")
	}
	wrapped, _ := json.Marshal(map[string]string{"malformed_arguments": args}) //nolint:errchkjson // a text has a JSON form
	return wrapped
}

type openAIAnswer struct {
	answer

	refusal strings.Builder
	finish  string
	done    bool
}

func (a *openAIAnswer) read(events ssestream.Decoder) error {
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if string(data) == "[DONE]" {
			a.done = true
			return nil
		}
		if len(data) > 0 {
			if err := a.add(data); err != nil {
				return err
			}
		}
	}
	return events.Err()
}

func (a *openAIAnswer) add(data []byte) error {
	var failure struct {
		Error json.RawMessage `json:"error"`
	}
	var chunk chatAnswer
	if json.Unmarshal(data, &failure) != nil || json.Unmarshal(data, &chunk) != nil {
		return malformed("a piece of it is not JSON of the right shape")
	}
	if errorCode, message := errorOf(failure.Error); errorCode != "" || message != "" {
		return streamError(errorCode, message)
	}
	a.addAnswer(chunk)
	return nil
}

// addAnswer adds a piece of an answer, or a whole one.
func (a *openAIAnswer) addAnswer(chunk chatAnswer) {
	a.model = cmp.Or(chunk.Model, a.model)
	if u := chunk.Usage; u != nil {
		cached := min(max(u.PromptTokensDetails.CachedTokens, 0), u.PromptTokens)
		a.usage = &Usage{Input: u.PromptTokens - cached, Output: u.CompletionTokens, CacheRead: cached}
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := chunk.Choices[0]
	for _, m := range []chatMessage{choice.Delta, choice.Message} {
		if m.Content != nil {
			a.addText(*m.Content)
		}
		a.refusal.WriteString(m.Refusal)
		for _, c := range m.ToolCalls {
			a.addCall(c)
		}
	}
	a.finish = cmp.Or(choice.FinishReason, a.finish)
}

// addCall adds a piece of a call. Pieces have the index of their call; where all calls have the same index, a new id
// begins a new one.
func (a *openAIAnswer) addCall(d chatCall) {
	var c *partialCall
	for _, one := range a.calls {
		if one.index == d.Index {
			c = one // the last one
		}
	}
	if c == nil || d.ID != "" && c.ID != "" && d.ID != c.ID && d.Function.Name != "" {
		c = &partialCall{index: d.Index}
		a.calls = append(a.calls, c)
	}
	c.ID, c.Name = cmp.Or(d.ID, c.ID), cmp.Or(d.Function.Name, c.Name)
	c.args.WriteString(d.Function.Arguments)
}

// readWhole reads an answer that is not streamed.
func (a *openAIAnswer) readWhole(r io.Reader) (Response, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Response{}, err
	}
	var whole chatAnswer
	if json.Unmarshal(text, &whole) != nil || len(whole.Choices) == 0 {
		return Response{}, malformed("it is JSON without a choice in it")
	}
	calls := whole.Choices[0].Message.ToolCalls
	for i := range calls {
		calls[i].Index = int64(i)
	}
	a.done = true
	a.addAnswer(whole)
	return a.end(nil)
}

// end is the answer, with an error if it is incomplete.
func (a *openAIAnswer) end(err error) (Response, error) {
	if err == nil && a.finish == "" && !a.done {
		err = malformed("it ended in the middle")
	}
	switch {
	case a.finish == "content_filter", a.refusal.Len() > 0:
		out := a.response(StopRefusal)
		out.Text = cmp.Or(out.Text, a.refusal.String())
		return out, err
	case a.finish == "length":
		return a.response(StopLength), err
	}
	return a.response(""), err
}
