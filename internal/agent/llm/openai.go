package llm

import (
	"bytes"
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

// OpenAI makes a model behind OpenAI's chat completions, or behind a server that speaks
// them: vLLM, llama.cpp, Ollama, OpenRouter, Azure and others by c.BaseURL.
func OpenAI(c Config) Model {
	m := &openAI{Config: c.withDefaults(openAIURL)}
	if host := m.host(); host != "api.openai.com" && !strings.HasSuffix(host, ".azure.com") {
		m.lacks[maxCompletionTokens].Store(true) // many servers know only the older name
	}
	return m
}

// openAI remembers which parameters its server does not take.
type openAI struct {
	Config
	lacks [parameters]atomic.Bool
}

// What not every server takes. It is left out after the first refusal that names it.
const (
	maxCompletionTokens = iota
	streamOptions
	reasoningEffort
	parameters
)

var parameterNames = [parameters]string{"max_completion_tokens", "stream_options", "reasoning_effort"}

// Complete implements Model.
func (m *openAI) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	if r.MaxTokens <= 0 {
		r.MaxTokens = defaultMaxTokens
	}
	return m.call(ctx, r.Key, r.MaxTokens, func(ctx context.Context, client *http.Client) (Response, error) {
		for {
			response, err := m.stream(ctx, client, r, onText)
			if s := (*status)(nil); errors.As(err, &s) && s.filtered() {
				response.Model, response.Stop = r.Model, StopRefusal
				return response, nil
			}
			if !m.learn(err) {
				return response, err
			}
		}
	})
}

// learn reports whether err is a refusal of a parameter that was sent until now.
func (m *openAI) learn(err error) bool {
	var s *status
	if !errors.As(err, &s) || s.code != http.StatusBadRequest && s.code != http.StatusUnprocessableEntity {
		return false
	}
	for i, name := range parameterNames {
		if strings.Contains(s.message, name) && m.lacks[i].CompareAndSwap(false, true) {
			return true
		}
	}
	// The other way round: max_tokens is refused in favour of max_completion_tokens.
	return strings.Contains(s.message, "max_tokens") && strings.Contains(s.message, parameterNames[maxCompletionTokens]) &&
		m.lacks[maxCompletionTokens].CompareAndSwap(true, false)
}

func (m *openAI) host() string {
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// stream asks once and reads the answer, which may also come in one piece.
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
	a := &openAIAnswer{request: r, pieces: pieces{tell: onText}}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "application/json" {
		return a.readWhole(resp.Body)
	}
	if err := a.read(ssestream.NewDecoder(resp)); err != nil {
		return a.response(), err
	}
	return a.response(), a.check()
}

func (m *openAI) request(r Request) chatRequest {
	name, effort := wireName(m.Provider, r.Model)
	out := chatRequest{Model: name, Messages: chatMessages(r), Stream: true}
	if m.lacks[maxCompletionTokens].Load() {
		out.MaxTokens = r.MaxTokens
	} else {
		out.MaxCompletionTokens = r.MaxTokens
	}
	if !m.lacks[streamOptions].Load() {
		out.StreamOptions = &chatStreamOptions{IncludeUsage: true}
	}
	if !m.lacks[reasoningEffort].Load() {
		out.ReasoningEffort = effort
	}
	for _, t := range r.Tools {
		schema := bytes.TrimSpace(t.Schema)
		if !json.Valid(schema) || !bytes.HasPrefix(schema, []byte("{")) || bytes.Equal(schema, []byte("{}")) {
			schema = []byte(`{"type":"object","properties":{}}`)
		}
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
			said := chatMessage{Role: "assistant"}
			if m.Text != "" || len(m.Calls) == 0 {
				said.Content = &m.Text
			}
			for _, c := range m.Calls {
				said.ToolCalls = append(said.ToolCalls, chatCall{ID: c.ID, Type: "function", Function: chatCalled{c.Name, string(object(c.Args))}})
			}
			out = append(out, said)
		}
	}
	return out
}

// object is a call's arguments as a provider wants to see them again: an object, whatever
// the model wrote. Several servers fail on a history with anything else.
func object(args string) json.RawMessage {
	var doc map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &doc) == nil && doc != nil {
		return json.RawMessage(args)
	}
	if strings.TrimSpace(args) == "" {
		return json.RawMessage("{}")
	}
	wrapped, err := json.Marshal(map[string]string{"malformed_arguments": args})
	if err != nil { // strings always marshal
		return json.RawMessage("{}")
	}
	return wrapped
}

// openAIAnswer grows from the chunks of a stream.
type openAIAnswer struct {
	request Request
	pieces  pieces
	model   string
	refusal strings.Builder
	calls   []*growingCall
	finish  string
	usage   *Usage
	done    bool
}

func (a *openAIAnswer) read(events ssestream.Decoder) error {
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		switch {
		case len(data) == 0:
			continue
		case string(data) == "[DONE]":
			a.done = true
			return nil
		}
		if err := a.add(data); err != nil {
			return err
		}
	}
	return events.Err()
}

// add takes one chunk, or an error in its place.
func (a *openAIAnswer) add(data []byte) error {
	var failure struct {
		Error json.RawMessage `json:"error"`
	}
	var chunk chatAnswer
	if json.Unmarshal(data, &failure) != nil || json.Unmarshal(data, &chunk) != nil {
		return malformed("a piece of it is not JSON of the right shape")
	}
	if word, message := errorOf(failure.Error); word != "" || message != "" {
		return &status{code: statusOf(word), word: word, message: message}
	}
	if chunk.Model != "" {
		a.model = chunk.Model
	}
	if chunk.Usage != nil {
		a.usage = chunk.Usage.ours()
	}
	if len(chunk.Choices) == 0 {
		return nil
	}
	choice := chunk.Choices[0]
	a.pieces.add(choice.Delta.text())
	a.refusal.WriteString(choice.Delta.Refusal)
	for _, d := range choice.Delta.ToolCalls {
		a.addCall(d)
	}
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	return nil
}

// addCall takes a piece of a call. Pieces belong together by their index; servers that
// give every call the same one begin a new call with a new id.
func (a *openAIAnswer) addCall(d chatCall) {
	var c *growingCall
	for _, one := range a.calls {
		if one.index == d.Index {
			c = one // the last of this index
		}
	}
	if c == nil || d.ID != "" && c.ID != "" && d.ID != c.ID && d.Function.Name != "" {
		c = &growingCall{index: d.Index}
		a.calls = append(a.calls, c)
	}
	if d.ID != "" {
		c.ID = d.ID
	}
	if d.Function.Name != "" {
		c.Name = d.Function.Name
	}
	c.args.WriteString(d.Function.Arguments)
}

// readWhole reads an answer that was not streamed.
func (a *openAIAnswer) readWhole(r io.Reader) (Response, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Response{}, err
	}
	var whole chatAnswer
	if json.Unmarshal(text, &whole) != nil || len(whole.Choices) == 0 {
		return Response{}, malformed("it is JSON without a choice in it")
	}
	choice := whole.Choices[0]
	a.model, a.finish, a.done = whole.Model, choice.FinishReason, true
	a.pieces.add(choice.Message.text())
	a.refusal.WriteString(choice.Message.Refusal)
	for i, c := range choice.Message.ToolCalls {
		g := &growingCall{index: int64(i), ToolCall: ToolCall{ID: c.ID, Name: c.Function.Name}}
		g.args.WriteString(c.Function.Arguments)
		a.calls = append(a.calls, g)
	}
	if whole.Usage != nil {
		a.usage = whole.Usage.ours()
	}
	return a.response(), a.check()
}

// check refuses an answer that did not end.
func (a *openAIAnswer) check() error {
	if a.finish == "" && !a.done {
		return malformed("it ended in the middle")
	}
	return nil
}

func (a *openAIAnswer) response() Response {
	out := Response{Model: a.model, Text: a.pieces.text.String(), Stop: StopEnd}
	if out.Model == "" {
		out.Model = a.request.Model
	}
	out.Calls = grown(a.request, a.calls)
	switch {
	case a.finish == "content_filter", a.refusal.Len() > 0:
		out.Stop = StopRefusal
		if out.Text == "" {
			out.Text = a.refusal.String()
		}
	case a.finish == "length":
		out.Stop = StopLength
	case len(out.Calls) > 0:
		out.Stop = StopCalls
	}
	if out.Usage = assumed(a.request, out); a.usage != nil {
		out.Usage = *a.usage
	}
	return out
}
