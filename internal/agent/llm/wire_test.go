package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const secret = "sk-test-0123456789abcdef"

// provider is a server that answers one try after the other, each with a function.
type provider struct {
	*httptest.Server
	mu     sync.Mutex
	tries  []http.HandlerFunc
	bodies []map[string]any
	heads  []http.Header
	paths  []string
}

// serve starts a provider; the last try answers all that follow.
func serve(t *testing.T, tries ...http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{tries: tries}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body := map[string]any{}
		_ = json.Unmarshal(text, &body) // GET has none
		p.mu.Lock()
		next := p.tries[min(len(p.bodies), len(p.tries)-1)]
		p.bodies, p.heads, p.paths = append(p.bodies, body), append(p.heads, r.Header), append(p.paths, r.URL.String())
		p.mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bodies)
}

// say streams what it is given, each part as a packet of its own.
func say(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range parts {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}
}

func refuse(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// chunk is an event of OpenAI's stream with one choice.
func chunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"id":"x","object":"chat.completion.chunk","model":"served","choices":[{"index":0,"delta":` + delta +
		`,"finish_reason":` + finish + `}]}` + "\n\n"
}

const (
	openAIUsage = `data: {"id":"x","model":"served","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,"prompt_tokens_details":{"cached_tokens":40}}}` + "\n\n"
	done        = "data: [DONE]\n\n"
)

// event is one of Anthropic's.
func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func hello() string {
	return event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-served","content":[],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":40,"cache_creation_input_tokens":5}}}`) +
		event("ping", `{"type":"ping"}`)
}

func goodbye(stop string) string {
	return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+stop+
		`"},"usage":{"output_tokens":7}}`) + event("message_stop", `{"type":"message_stop"}`)
}

func block(i int, start string, deltas ...string) string {
	out := event("content_block_start",
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, start))
	for _, d := range deltas {
		out += event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
	}
	return out + event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

// waits is a Config.Wait that does not wait, and remembers for how long it was asked to.
type waits struct{ asked []time.Duration }

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.asked = append(w.asked, d)
	return ctx.Err()
}

func openAI(p *provider, w *waits) llm.Model {
	return llm.OpenAI(llm.Config{BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client(), Wait: w.wait})
}

func anthropic(p *provider, w *waits) llm.Model {
	return llm.Anthropic(llm.Config{BaseURL: p.URL, Key: secret, HTTP: p.Client(), Wait: w.wait})
}

// both are the two kinds of provider, and how each says "ok".
var both = map[string]struct {
	open func(*provider, *waits) llm.Model
	ok   string
}{
	"openai": {openAI, chunk(`{"role":"assistant","content":"ok"}`, "null") + chunk(`{}`, "stop") + openAIUsage + done},
	"anthropic": {anthropic, hello() + block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`) +
		goodbye("end_turn")},
}

var question = llm.Request{
	Model: "m", System: "Be brief.", MaxTokens: 100,
	Messages: []llm.Message{
		{Role: llm.User, Text: "Look at example.com."},
		{Role: llm.Assistant, Text: "I look. ",
			Calls: []llm.ToolCall{{ID: "a", Name: "look", Args: `{"at":"example.com"}`},
				{ID: "b", Name: "look", Args: `{"at":`}}},
		{Role: llm.ToolRole, CallID: "a", Text: "A page."},
		{Role: llm.ToolRole, CallID: "b", Text: "These are no arguments.", Failed: true},
		{Role: llm.User, Text: "And now?"},
	},
	Tools: []llm.Tool{{Name: "look", Description: "Looks.",
		Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)}},
}

func TestAnswers(t *testing.T) {
	usage := llm.Usage{Input: 10, Output: 7, CacheRead: 40}
	anthropicUsage := llm.Usage{Input: 10, Output: 7, CacheRead: 40, CacheWrite: 5}
	for name, c := range map[string]struct {
		open   func(*provider, *waits) llm.Model
		stream []string
		want   llm.Response
	}{
		"openai text": {openAI, []string{chunk(`{"role":"assistant","content":""}`, "null"),
			chunk(`{"content":"Grüße "}`, "null"), chunk(`{"content":"aus \u6771\u4eac"}`, "null"), chunk(`{}`, "stop"),
			openAIUsage, done},
			llm.Response{Model: "served", Text: "Grüße aus \u6771\u4eac", Stop: llm.StopEnd, Usage: usage}},
		"openai text in single bytes": {openAI,
			strings.Split(chunk(`{"content":"Grüße € 😀"}`, "stop")+": a comment\n\n"+openAIUsage+done, ""),
			llm.Response{Model: "served", Text: "Grüße € 😀", Stop: llm.StopEnd, Usage: usage}},
		"openai calls in pieces": {openAI, []string{
			chunk(`{"content":"I look.","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":""}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\""}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"look","arguments":"{"}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, "null"),
			chunk(`{}`, "tool_calls"), openAIUsage, done,
		}, llm.Response{Model: "served", Text: "I look.", Stop: llm.StopCalls, Usage: usage,
			Calls: []llm.ToolCall{{ID: "c1", Name: "look", Args: `{"at":1}`}, {ID: "c2", Name: "look", Args: "{"}}}},
		"openai calls that share an index and end in stop": {openAI, []string{
			chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":"{}"}},{"index":0,"id":"c2","function":{"name":"ask","arguments":"{}"}}]}`, "stop"), openAIUsage, done,
		}, llm.Response{Model: "served", Stop: llm.StopCalls, Usage: usage,
			Calls: []llm.ToolCall{{ID: "c1", Name: "look", Args: `{}`}, {ID: "c2", Name: "ask", Args: "{}"}}}},
		"openai cut": {openAI, []string{chunk(`{"content":"so"}`, "length"), openAIUsage, done},
			llm.Response{Model: "served", Text: "so", Stop: llm.StopLength, Usage: usage}},
		"openai refusal": {openAI, []string{chunk(`{"refusal":"I will "}`, "null"), chunk(`{"refusal":"not."}`, "stop"),
			openAIUsage, done},
			llm.Response{Model: "served", Text: "I will not.", Stop: llm.StopRefusal, Usage: usage}},
		"openai filter": {openAI, []string{chunk(`{"content":"so"}`, "content_filter"), openAIUsage, done},
			llm.Response{Model: "served", Text: "so", Stop: llm.StopRefusal, Usage: usage}},
		"openai null error": {openAI, []string{strings.Replace(chunk(`{"content":"ok"}`, "stop"), "{", `{"error":null,`, 1),
			openAIUsage, done}, llm.Response{Model: "served", Text: "ok", Stop: llm.StopEnd, Usage: usage}},
		"anthropic text": {anthropic, strings.Split(hello()+
			block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Grüße "}`,
				`{"type":"text_delta","text":"€ 😀"}`)+goodbye("end_turn"), ""),
			llm.Response{Model: "claude-served", Text: "Grüße € 😀", Stop: llm.StopEnd, Usage: anthropicUsage}},
		"anthropic calls": {anthropic, []string{hello(),
			block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look."}`),
			block(1, `{"type":"tool_use","id":"t1","name":"look","input":{}}`,
				`{"type":"input_json_delta","partial_json":"{\"at\""}`, `{"type":"input_json_delta","partial_json":":}"}`),
			block(2, `{"type":"tool_use","id":"t2","name":"ask","input":{}}`), goodbye("tool_use")},
			llm.Response{Model: "claude-served", Text: "I look.", Stop: llm.StopCalls, Usage: anthropicUsage,
				Calls: []llm.ToolCall{{ID: "t1", Name: "look", Args: `{"at":}`}, {ID: "t2", Name: "ask", Args: "{}"}}}},
		"anthropic cut": {anthropic, []string{hello(), goodbye("max_tokens")},
			llm.Response{Model: "claude-served", Stop: llm.StopLength, Usage: anthropicUsage}},
		"anthropic window": {anthropic, []string{hello(), goodbye("model_context_window_exceeded")},
			llm.Response{Model: "claude-served", Stop: llm.StopLength, Usage: anthropicUsage}},
		"anthropic refusal": {anthropic, []string{hello(), goodbye("refusal")},
			llm.Response{Model: "claude-served", Stop: llm.StopRefusal, Usage: anthropicUsage}},
	} {
		t.Run(name, func(t *testing.T) {
			var told strings.Builder
			got, err := c.open(serve(t, say(c.stream...)), &waits{}).Complete(t.Context(), question,
				func(s string) { told.WriteString(s) })
			if err != nil {
				t.Fatal(err)
			}
			if want := c.want; got.Model != want.Model || got.Text != want.Text || got.Stop != want.Stop ||
				got.Usage != want.Usage || !slices.Equal(got.Calls, want.Calls) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if told.String() != got.Text && got.Stop != llm.StopRefusal {
				t.Errorf("told %q, answered %q", told.String(), got.Text)
			}
			if most := llm.Estimate(question); got.Usage.Output > most.Output ||
				got.Usage.Input+got.Usage.CacheRead > most.Input {
				t.Errorf("used %+v of at most %+v", got.Usage, most)
			}
		})
	}
}

func TestServersWithGaps(t *testing.T) {
	p := serve(t,
		refuse(400, `{"error":{"message":"Unknown parameter: 'stream_options'.","type":"invalid_request_error"}}`),
		func(w http.ResponseWriter, _ *http.Request) { // does not stream, counts nothing, names no call
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"I look.","tool_calls":[{"type":"function","function":{"name":"look","arguments":"{}"}},{"type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
		})
	m := openAI(p, &waits{})
	first, err := m.Complete(t.Context(), question, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Complete(t.Context(), question, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Calls) != 2 || first.Calls[0].ID == first.Calls[1].ID || !slices.Equal(first.Calls, second.Calls) ||
		first.Stop != llm.StopCalls {
		t.Errorf("calls %+v, then %+v", first.Calls, second.Calls)
	}
	longer := question
	longer.Messages = append(slices.Clone(question.Messages), llm.Message{Role: llm.User, Text: "More."})
	if third, err := m.Complete(t.Context(), longer, nil); err != nil || third.Calls[0].ID == first.Calls[0].ID {
		t.Errorf("another turn has the same ids: %+v (%v)", third.Calls, err)
	}
	if most := llm.Estimate(question); first.Usage.Input != most.Input || first.Usage.Output == 0 ||
		first.Usage.Output > most.Output {
		t.Errorf("what is not counted counts as %+v, at most %+v", first.Usage, most)
	}
	if _, has := p.bodies[0]["stream_options"]; !has {
		t.Error("usage was not asked for")
	}
	for _, body := range p.bodies[1:] {
		if _, has := body["stream_options"]; has {
			t.Error("a refused parameter is sent again")
		}
	}
}

func TestOpenAIRequest(t *testing.T) {
	p := serve(t, refuse(400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}`), say(both["openai"].ok))
	m := llm.OpenAI(llm.Config{Provider: llm.ProviderOpenAI,
		BaseURL: p.URL + "/openai/deployments/d?api-version=2024-10-21", Key: secret, HTTP: p.Client()})
	r := question
	r.Model = "gpt-5.5-high"
	if _, err := m.Complete(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if p.bodies[0]["max_tokens"] != 100.0 || p.bodies[1]["max_completion_tokens"] != 100.0 ||
		p.bodies[1]["max_tokens"] != nil {
		t.Errorf("bounds of the answer: %v, then %v", p.bodies[0], p.bodies[1])
	}
	if got := p.paths[1]; got != "/openai/deployments/d/chat/completions?api-version=2024-10-21" ||
		p.heads[1].Get("Authorization") != "Bearer "+secret {
		t.Errorf("asked %s with %q", got, p.heads[1].Get("Authorization"))
	}
	delete(p.bodies[1], "max_completion_tokens")
	got, err := json.Marshal(p.bodies[1])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"content":"Be brief.","role":"system"},{"content":"Look at example.com.","role":"user"},` +
		`{"content":"I look. ","role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":\"example.com\"}","name":"look"},"id":"a","type":"function"},{"function":{"arguments":"{\"malformed_arguments\":\"{\\\"at\\\":\"}","name":"look"},"id":"b","type":"function"}]},` +
		`{"content":"A page.","role":"tool","tool_call_id":"a"},{"content":"These are no arguments.","role":"tool","tool_call_id":"b"},{"content":"And now?","role":"user"}],` +
		`"model":"gpt-5.5","reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true},` +
		`"tools":[{"function":{"description":"Looks.","name":"look","parameters":{"properties":{"at":{"type":"string"}},"required":["at"],"type":"object"}},"type":"function"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnthropicRequest(t *testing.T) {
	p := serve(t, say(both["anthropic"].ok))
	m := llm.Anthropic(llm.Config{Provider: llm.ProviderAnthropic, BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client()})
	r := question
	r.Model = "sonnet-4.6"
	if _, err := m.Complete(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(p.bodies[0])
	if err != nil {
		t.Fatal(err)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := `{"max_tokens":100,"messages":[{"content":[{` + mark +
		`,"text":"Look at example.com.","type":"text"}],"role":"user"},` +
		`{"content":[{"text":"I look.","type":"text"},{"id":"a","input":{"at":"example.com"},"name":"look","type":"tool_use"},{"id":"b","input":{"malformed_arguments":"{\"at\":"},"name":"look","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"content":[{"text":"A page.","type":"text"}],"is_error":false,"tool_use_id":"a","type":"tool_result"},{"content":[{"text":"These are no arguments.","type":"text"}],"is_error":true,"tool_use_id":"b","type":"tool_result"},{` + mark + `,"text":"And now?","type":"text"}],"role":"user"}],` +
		`"model":"claude-sonnet-4-6","stream":true,"system":[{` + mark + `,"text":"Be brief.","type":"text"}],` +
		`"tools":[{` + mark + `,"description":"Looks.","input_schema":{"properties":{"at":{"type":"string"}},"required":["at"],"type":"object"},"name":"look"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p.paths[0] != "/v1/messages" || p.heads[0].Get("X-Api-Key") != secret || p.heads[0].Get("Anthropic-Version") == "" {
		t.Errorf("asked %s with %v", p.paths[0], p.heads[0])
	}
}

// TestIdempotencyKey asks again for what a crash lost, and for the same with another
// parameter.
func TestIdempotencyKey(t *testing.T) {
	for name, ok := range map[string]http.HandlerFunc{"openai": say(both["openai"].ok),
		"anthropic": say(both["anthropic"].ok)} {
		p := serve(t, ok)
		m := llm.OpenAI(llm.Config{BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client()})
		if name == "anthropic" {
			m = llm.Anthropic(llm.Config{BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client()})
		}
		first, longer, unnamed := question, question, question
		first.Key, longer.Key = "run/1", "run/1"
		longer.MaxTokens++
		for _, r := range []llm.Request{first, first, longer, unnamed} {
			if _, err := m.Complete(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
		}
		var keys []string
		for _, h := range p.heads {
			keys = append(keys, h.Get("Idempotency-Key"))
		}
		if len(keys[0]) != 32 || keys[1] != keys[0] || keys[2] == keys[0] || len(keys[2]) != 32 || keys[3] != "" {
			t.Errorf("%s: the keys are %q", name, keys)
		}
	}
}

// code is the code of an error of the house, which must say nothing of the key.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e := errs.From(err)
	if strings.Contains(err.Error(), secret[:12]) || len(e.Message) > 700 {
		t.Errorf("the error says too much: %v", err)
	}
	return e.Code
}
