// Package llm calls language models: one form of request and answer for all providers.
package llm

import (
	"context"
	"encoding/json"
)

// Role is the author of a message.
type Role string

// The roles of a conversation. The system prompt is in Request.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of a call
)

// Message is one message of a conversation.
type Message struct {
	Role  Role       `json:"role"`
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // of the assistant
	// CallID is the call that a tool's message answers; Failed: it failed.
	CallID string `json:"call_id,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// ToolCall is a call that a model wants. Args is its text, not always JSON.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of an object
}

// Request is one model call.
type Request struct {
	Model     string    `json:"model"`
	System    string    `json:"system"`
	Messages  []Message `json:"messages"`
	Tools     []Tool    `json:"tools,omitempty"`
	MaxTokens int       `json:"max_tokens"` // of the answer
	// Key identifies the call when it is repeated after a crash. A digest of it and of the body is sent as
	// Idempotency-Key.
	Key string `json:"-"`
}

// maxTokens bounds the answer: a budget needs a bound.
func (r Request) maxTokens() int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return 4096
}

// Stop is why an answer ended.
type Stop string

// The ends of an answer.
const (
	StopEnd     Stop = "end"
	StopCalls   Stop = "calls"   // waits for results
	StopLength  Stop = "length"  // cut at MaxTokens or the model's window
	StopRefusal Stop = "refusal" // by the model or the provider's filter
)

// Usage is in tokens. Input is without CacheRead.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// Plus adds usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Tokens is the sum of all kinds.
func (u Usage) Tokens() int64 {
	return int64(u.Input) + int64(u.Output) + int64(u.CacheRead) + int64(u.CacheWrite)
}

// Response is a model's answer.
type Response struct {
	Model string     `json:"model"`
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"`
	Stop  Stop       `json:"stop"`
	Usage Usage      `json:"usage"`
}

// Model answers requests. onText may be nil; it gets the text piece by piece. An error is an *errs.Error with one of
// the Code constants; what it quotes of the provider is bounded and free of the key.
type Model interface {
	Complete(ctx context.Context, r Request, onText func(piece string)) (Response, error)
}

// The codes of provider errors.
const (
	CodeKey         = "provider_key_rejected"
	CodeLimited     = "provider_limited"     // after all retries
	CodeUnavailable = "provider_unavailable" // down, overloaded or silent
	CodeRequest     = "provider_refused_request"
	CodeAnswer      = "provider_answer_malformed"
)

// Price is in millionths of a US dollar for a million tokens: 3 USD are 3,000,000.
type Price struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Micros is a cost in millionths of a US dollar, rounded up.
func (p Price) Micros(u Usage) int64 {
	const million = 1_000_000
	sum := int64(u.Input)*p.Input + int64(u.Output)*p.Output + int64(u.CacheRead)*p.CacheRead +
		int64(u.CacheWrite)*p.CacheWrite
	return (sum + million - 1) / million
}
