// Package llm speaks with language models: one request and one answer in one
// words, whatever the provider's.
package llm

import (
	"context"
	"encoding/json"
)

// Role is who speaks.
type Role string

// The roles of a conversation. The system's words are not in it: Request has them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of a call
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role       `json:"role"`
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // of the assistant
	// CallID says which call a tool's message answers; Failed that the call went wrong.
	CallID string `json:"call_id,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// ToolCall is a model's wish to call a tool. Args is what the model wrote: it may not be
// JSON at all.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Tool is a tool as a model is told of it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Request is one call of a model.
type Request struct {
	Model     string    `json:"model"`
	System    string    `json:"system"`
	Messages  []Message `json:"messages"`
	Tools     []Tool    `json:"tools,omitempty"`
	MaxTokens int       `json:"max_tokens"` // of the answer; what a budget reserves for
	// Key names the call, the same when it is made again because a crash lost its answer. A
	// provider is sent a digest of it and of the body as Idempotency-Key; empty: none.
	Key string `json:"-"`
}

// maxTokens is the bound of the answer: there is always one, because a budget reserves for it.
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
	StopCalls   Stop = "calls"   // it waits for the results of its calls
	StopLength  Stop = "length"  // MaxTokens, or the model's window, cut it
	StopRefusal Stop = "refusal" // the model or the provider's filter declined
)

// Usage is what a call used, in tokens. Input is without what the cache served.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// Plus adds up two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Tokens are those of all kinds together.
func (u Usage) Tokens() int64 {
	return int64(u.Input) + int64(u.Output) + int64(u.CacheRead) + int64(u.CacheWrite)
}

// Response is a model's answer.
type Response struct {
	Model string     `json:"model"` // that answered
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"`
	Stop  Stop       `json:"stop"`
	Usage Usage      `json:"usage"`
}

// Model answers requests. onText, which may be nil, is told of the answer's text piece by
// piece, from the goroutine of Complete. An error is an *errs.Error whose code is one of
// this package's Code constants; what it holds of a provider's words is bounded and has
// no key in it.
type Model interface {
	Complete(ctx context.Context, r Request, onText func(piece string)) (Response, error)
}

// The codes of what goes wrong with a provider.
const (
	CodeKey         = "provider_key_rejected"
	CodeLimited     = "provider_limited"     // still limited after all retries
	CodeUnavailable = "provider_unavailable" // dead, overloaded, or silent for too long
	CodeRequest     = "provider_refused_request"
	CodeAnswer      = "provider_answer_malformed"
)

// Price is what a model costs, in millionths of a US dollar for a million tokens: 3 USD
// are 3,000,000.
type Price struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Micros is the cost of a usage in millionths of a US dollar, rounded up.
func (p Price) Micros(u Usage) int64 {
	const million = 1_000_000
	sum := int64(u.Input)*p.Input + int64(u.Output)*p.Output + int64(u.CacheRead)*p.CacheRead + int64(u.CacheWrite)*p.CacheWrite
	return (sum + million - 1) / million
}
