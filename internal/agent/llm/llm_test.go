package llm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

var script = llm.Script{Replies: []llm.Reply{
	{System: "You verify", Text: "It is a false positive."},
	{Turn: 1, Tool: "look", Text: "I look first. ", Calls: []llm.ToolCall{{Name: "look", Args: `{"at":`}}},
	{Turn: 2, Last: "page", Text: "Done.", Stop: llm.StopLength, Usage: llm.Usage{Input: 1}},
	{Turn: 3, Error: llm.CodeLimited},
}}

func TestScript(t *testing.T) {
	m := script
	ask := llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "Look."}}, Tools: question.Tools}
	var told []string
	got, err := m.Complete(t.Context(), ask, func(s string) { told = append(told, s) })
	if err != nil || got.Stop != llm.StopCalls || len(got.Calls) != 1 || got.Calls[0].ID == "" || got.Usage.Output == 0 ||
		strings.Join(told, "") != "I look first. " || len(told) < 2 {
		t.Fatalf("the first turn: %+v, told %q, %v", got, told, err)
	}
	if again, err := m.Complete(t.Context(), ask, nil); err != nil || !slices.Equal(again.Calls, got.Calls) ||
		again.Usage != got.Usage {
		t.Errorf("the same request hears something else: %+v", again)
	}
	ask.Messages = append(ask.Messages, llm.Message{Role: llm.Assistant, Calls: got.Calls},
		llm.Message{Role: llm.ToolRole, CallID: got.Calls[0].ID, Text: "a page"})
	if got, err := m.Complete(t.Context(), ask, nil); err != nil || got.Text != "Done." || got.Stop != llm.StopLength ||
		got.Usage.Input != 1 {
		t.Errorf("the second turn: %+v, %v", got, err)
	}
	ask.Messages[2].Text = "nothing"
	if _, err := m.Complete(t.Context(), ask, nil); code(t, err) != llm.CodeRequest {
		t.Errorf("what nothing matches: %v", err)
	}
	ask.Messages = append(ask.Messages, llm.Message{Role: llm.Assistant, Text: "Hm."})
	if _, err := m.Complete(t.Context(), ask, nil); code(t, err) != llm.CodeLimited {
		t.Errorf("an error of the script: %v", err)
	}
	if got, err := m.Complete(t.Context(), llm.Request{System: "You verify things."}, nil); err != nil || got.Text == "" {
		t.Errorf("by its instructions: %+v, %v", got, err)
	}
}

func TestScriptEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := llm.Script{Replies: []llm.Reply{{Text: "late"}}}
	if _, err := m.Complete(ctx, question, nil); code(t, err) != llm.CodeUnavailable {
		t.Errorf("a caller that left: %v", err)
	}
}

func TestReadScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.json")
	for text, good := range map[string]bool{`{"replies":[{"turn":1,"text":"Hello."}]}`: true, `{"replys":[]}`: false,
		`nonsense`: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := llm.ReadScript(path); (err == nil) != good || good && s.Replies[0].Text != "Hello." {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	if _, err := llm.ReadScript(path + "x"); err == nil {
		t.Error("a file that is not there is a script")
	}
}

// TestEstimateIsAnUpperBound: a token is at least one byte of what was sent.
func TestEstimateIsAnUpperBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.Rune())
		r := llm.Request{System: text.Draw(t, "system"), MaxTokens: rapid.IntRange(-1, 100_000).Draw(t, "max")}
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, llm.ToolRole}).Draw(t, "role"),
				Text: text.Draw(t, "text")}
			if rapid.Bool().Draw(t, "calls") {
				m.Calls = []llm.ToolCall{{ID: "x", Name: "look", Args: text.Draw(t, "args")}}
			}
			r.Messages = append(r.Messages, m)
		}
		bytes := len(r.System)
		for _, m := range r.Messages {
			bytes += len(m.Text) + 8 // a chat template's marks
			for _, c := range m.Calls {
				bytes += len(c.Name) + len(c.Args) + 8
			}
		}
		got := llm.Estimate(r)
		if got.Input*4 < bytes*5 || got.Output < 1 || r.MaxTokens > 0 && got.Output != r.MaxTokens {
			t.Fatalf("%+v for %d bytes and %d tokens", got, bytes, r.MaxTokens)
		}
		for _, k := range llm.Catalogue() {
			if cached := k.Price.Micros(llm.Usage{CacheWrite: bytes, Output: r.MaxTokens}); r.MaxTokens > 0 &&
				cached > k.Price.Micros(got) {
				t.Fatalf("%s may cost %d, and %d is set aside", k.ID, cached, k.Price.Micros(got))
			}
		}
	})
}

// TestCatalogue holds the table against the enum of the agent API and against what
// Estimate assumes.
func TestCatalogue(t *testing.T) {
	var ids []string
	for _, k := range llm.Catalogue() {
		ids = append(ids, k.ID)
		p := k.Price
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input || p.CacheWrite < p.Input ||
			p.CacheWrite > p.Input+p.Input/4 {
			t.Errorf("%s: the price %+v", k.ID, p)
		}
		if k.Name == "" || k.Window < 2*k.MaxOutput && k.ID != "glm-5" || len(k.Names) == 0 {
			t.Errorf("%s: %+v", k.ID, k)
		}
		for provider, wire := range k.Names {
			if found, ok := llm.Lookup(provider, wire); !ok || found.Names[provider] != wire {
				t.Errorf("%s does not know %s", provider, wire)
			}
		}
	}
	want := []string{"opus-4.7", "opus-4.6", "sonnet-4.6", "haiku-4.5", "gpt-5.5-high", "gpt-5.4-xhigh", "gpt-5.4-high",
		"gpt-5.3-codex-high",
		"gemini-3-pro", "gemini-3-flash", "grok-4.1-fast", "grok-4-fast", "grok-code", "kimi-k2.6", "glm-5"}
	if !slices.Equal(ids, want) {
		t.Errorf("the catalogue has %v", ids)
	}
	for _, s := range llm.Services() {
		if _, ok := llm.Lookup(s.Provider, s.Default); s.Default != "" && !ok {
			t.Errorf("%s does not serve its default, %s", s.Provider, s.Default)
		}
		c := llm.Config{Provider: s.Provider}
		if _, err := llm.Open(c); (err == nil) != (s.BaseURL != "") {
			t.Errorf("%s without a base URL: %v", s.Provider, err)
		}
		c.BaseURL = "https://models.example/v1"
		if _, err := llm.Open(c); err != nil {
			t.Errorf("%s: %v", s.Provider, err)
		}
	}
	if _, ok := llm.Lookup(llm.ProviderOpenAI, "opus-4.7"); ok {
		t.Error("OpenAI serves Claude")
	}
}
