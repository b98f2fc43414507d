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

// act is what a teacher answers: calls of tools, or words.
type act struct {
	calls []deed
	words string
}

// deed is a call of a tool with its arguments.
type deed struct {
	tool string
	args map[string]any
}

func does(tool string, pairs ...any) act { return act{calls: []deed{{tool, object(pairs...)}}} }

func object(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// teacher is an OpenAI-compatible server that answers each conversation, which it knows by
// a word of its first message, from a lesson of its own. It honours Idempotency-Key: a call
// that comes again is answered again, and paid once.
type teacher struct {
	*httptest.Server
	lessons map[string][]act // by a word of the first message; "" is any other's

	mu    sync.Mutex
	asked int                        // calls
	paid  map[string]int             // calls that were paid, by lesson and turn
	known map[string]json.RawMessage // answers by Idempotency-Key
}

func newTeacher(t *testing.T, lessons map[string][]act) *teacher {
	s := &teacher{lessons: lessons}
	s.forget()
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

// forget begins a new count.
func (s *teacher) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.paid, s.known = 0, map[string]int{}, map[string]json.RawMessage{}
}

// counted is how many calls came, and how many each turn of each lesson was paid for.
func (s *teacher) counted() (asked int, paid map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, maps.Clone(s.paid)
}

func (s *teacher) answer(w http.ResponseWriter, r *http.Request) {
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
	for lesson := range s.lessons {
		if lesson != "" && strings.Contains(first, lesson) {
			name = lesson
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	text, again := s.known[r.Header.Get("Idempotency-Key")]
	if !again {
		if turn >= len(s.lessons[name]) {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"lesson %q has no turn %d"}}`, name, turn), http.StatusBadRequest)
			return
		}
		text = s.lessons[name][turn].completion(turn)
		s.known[r.Header.Get("Idempotency-Key")] = text
		s.paid[fmt.Sprintf("%s/%d", name, turn)]++
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// completion is the answer as OpenAI's chat completions write it.
func (a act) completion(turn int) json.RawMessage {
	message, why := object("role", "assistant", "content", a.words), "stop"
	var calls []any
	for i, d := range a.calls {
		args, _ := json.Marshal(d.args)
		calls = append(calls, object("id", fmt.Sprintf("call_%d_%d", turn, i), "type", "function", "function", object("name", d.tool, "arguments", string(args))))
	}
	if len(calls) > 0 {
		message["tool_calls"], why = calls, "tool_calls"
	}
	text, _ := json.Marshal(object("id", "c", "object", "chat.completion", "model", "taught",
		"choices", []any{object("index", 0, "message", message, "finish_reason", why)},
		"usage", object("prompt_tokens", 1000, "completion_tokens", 50, "total_tokens", 1050)))
	return text
}
