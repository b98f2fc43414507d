package llm_test

import (
	"os"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// TestRealProvider asks a provider that the environment names, as a server would be told
// of it: VEDETTE_LLM_PROVIDER, VEDETTE_LLM_BASE_URL, VEDETTE_LLM_API_KEY and
// VEDETTE_LLM_MODEL. Run it with -v; it prints what the calls used.
func TestRealProvider(t *testing.T) {
	c := llm.Config{
		Provider: llm.Provider(os.Getenv("VEDETTE_LLM_PROVIDER")), BaseURL: os.Getenv("VEDETTE_LLM_BASE_URL"),
		Key: os.Getenv("VEDETTE_LLM_API_KEY"),
	}
	name := os.Getenv("VEDETTE_LLM_MODEL")
	if c.Provider == "" || name == "" {
		t.Skip("VEDETTE_LLM_PROVIDER and VEDETTE_LLM_MODEL name no provider to ask")
	}
	listed, err := llm.Validate(t.Context(), c, name)
	if err != nil {
		t.Fatalf("validating: %v", err)
	}
	t.Logf("it lists %d models", len(listed))
	m, err := llm.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	r := llm.Request{Model: name, System: "You look things up with the tool look.", MaxTokens: 200, Tools: question.Tools,
		Messages: question.Messages[:1]}
	for turn := range 2 {
		begun, told := time.Now(), 0
		got, err := m.Complete(t.Context(), r, func(s string) { told += len(s) })
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		t.Logf("turn %d: %s, %d bytes of text, calls %+v, %+v, %s", turn, got.Stop, told, got.Calls, got.Usage,
			time.Since(begun).Round(time.Millisecond))
		most := llm.Estimate(r)
		if got.Usage.Output > most.Output || got.Usage.Input+got.Usage.CacheRead+got.Usage.CacheWrite > most.Input {
			t.Errorf("turn %d used %+v, of at most %+v", turn, got.Usage, most)
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Text: got.Text, Calls: got.Calls})
		for _, call := range got.Calls {
			r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, CallID: call.ID,
				Text: "It is a page with the title Example."})
		}
		if len(got.Calls) == 0 {
			r.Messages = append(r.Messages, llm.Message{Role: llm.User, Text: "Thank you. What is it, in one word?"})
		}
	}
}
