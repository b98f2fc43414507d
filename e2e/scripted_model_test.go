package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// modelReply is one answer of a scripted model: calls of tools, or text.
type modelReply struct {
	calls []toolCall
	text  string
}

// toolCall is a call of a tool with its arguments.
type toolCall struct {
	tool string
	args map[string]any
}

func callTool(tool string, pairs ...any) modelReply {
	return modelReply{calls: []toolCall{{tool, object(pairs...)}}}
}

func object(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// scriptedModel is an OpenAI-compatible server that answers from scripts. It selects the script
// by words of the conversation's first message. It honours Idempotency-Key: a repeated call gets
// the same answer and is charged once.
type scriptedModel struct {
	*httptest.Server
	conversations map[string][]modelReply // by words of the first message; "" is the default

	mu    sync.Mutex
	asked int                        // calls
	paid  map[string]int             // charged calls, by conversation and turn
	known map[string]json.RawMessage // answers by Idempotency-Key
}

func newScriptedModel(t *testing.T, conversations map[string][]modelReply) *scriptedModel {
	s := &scriptedModel{conversations: conversations}
	s.forget()
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

// forget resets the counts.
func (s *scriptedModel) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.paid, s.known = 0, map[string]int{}, map[string]json.RawMessage{}
}

// counts returns the number of calls, and how often each turn of each conversation was charged.
func (s *scriptedModel) counts() (asked int, paid map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, maps.Clone(s.paid)
}

func (s *scriptedModel) answer(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct {
			Role    string
			Content string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	first, turn := "", 0
	for _, m := range request.Messages {
		switch {
		case m.Role == "user" && first == "":
			first = m.Content
		case m.Role == "assistant":
			turn++
		}
	}
	name := ""
	for conversation := range s.conversations {
		if conversation != "" && strings.Contains(first, conversation) {
			name = conversation
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	text, again := s.known[r.Header.Get("Idempotency-Key")]
	if !again {
		if turn >= len(s.conversations[name]) {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"conversation %q has no turn %d"}}`, name, turn),
				http.StatusBadRequest)
			return
		}
		text = s.conversations[name][turn].completion(turn)
		s.known[r.Header.Get("Idempotency-Key")] = text
		s.paid[fmt.Sprintf("%s/%d", name, turn)]++
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// completion is the answer as OpenAI's chat completions write it.
func (a modelReply) completion(turn int) json.RawMessage {
	message, why := object("role", "assistant", "content", a.text), "stop"
	var calls []any
	for i, d := range a.calls {
		args, _ := json.Marshal(d.args)
		calls = append(calls, object("id", fmt.Sprintf("call_%d_%d", turn, i), "type", "function", "function",
			object("name", d.tool, "arguments", string(args))))
	}
	if len(calls) > 0 {
		message["tool_calls"], why = calls, "tool_calls"
	}
	text, _ := json.Marshal(object("id", "c", "object", "chat.completion", "model", "test-model",
		"choices", []any{object("index", 0, "message", message, "finish_reason", why)},
		"usage", object("prompt_tokens", 1000, "completion_tokens", 50, "total_tokens", 1050)))
	return text
}
