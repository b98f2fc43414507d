package llm_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		code   string
		says   string
	}{
		"a wrong key": {401, `{"error":{"message":"Incorrect API key provided: ` + secret + `."}}`, llm.CodeKey,
			"rejected the key"},
		"a key's part": {403, `{"error":{"message":"not for ` + secret[:14] + `"}}`, llm.CodeKey, "may not do this"},
		"forbidden":    {403, `{"error":{"message":"Country not supported"}}`, llm.CodeKey, "Country not supported"},
		"no such model": {404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`,
			llm.CodeRequest, "does not exist"},
		"no quota":  {429, `{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.CodeLimited, "no credit"},
		"no credit": {402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.CodeLimited, "no credit"},
		"a bad request": {400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: too long"}}`,
			llm.CodeRequest, "too long"},
		"words alone":       {400, `{"error":"no\nsuch\tthing"}`, llm.CodeRequest, "no such thing"},
		"a detail":          {422, `{"detail":[{"msg":"field required"}]}`, llm.CodeRequest, "field required"},
		"a page":            {400, `<html>` + strings.Repeat("x", 1<<20), llm.CodeRequest, "<html>"},
		"a redirect":        {302, ``, llm.CodeRequest, "302"},
		"not implemented":   {501, ``, llm.CodeRequest, "501"},
		"bytes":             {400, "\xff\x00\x1b[31m", llm.CodeRequest, "refused"},
		"a null error":      {400, `{"error":null}`, llm.CodeRequest, "refused"},
		"an error of words": {400, `{"message":"plain"}`, llm.CodeRequest, "plain"},
	} {
		for kind, b := range both {
			p, w := serve(t, refuse(c.status, c.body, "Location", "http://192.0.2.1/")), &waits{}
			_, err := b.open(p, w).Complete(t.Context(), question, nil)
			if code(t, err) != c.code || !strings.Contains(err.Error(), c.says) || p.asked() != 1 {
				t.Errorf("%s at %s: %v, after %d tries", name, kind, err, p.asked())
			}
		}
	}
	p := serve(t, refuse(400, `{"error":{"message":"The response was filtered","code":"content_filter"}}`))
	if got, err := openAI(p, &waits{}).Complete(t.Context(), question, nil); err != nil || got.Stop != llm.StopRefusal {
		t.Errorf("a filter of the prompt: %+v, %v", got, err)
	}
}

func TestTriesAgain(t *testing.T) {
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	for kind, b := range both {
		ok := say(b.ok)
		for name, c := range map[string]struct {
			tries []http.HandlerFunc
			code  string
			asked int
		}{
			"a storm that ends": {[]http.HandlerFunc{refuse(429, ""), refuse(529, ""), refuse(503, ""), hangUp, ok}, "",
				5},
			"a storm without an end":    {[]http.HandlerFunc{refuse(429, "", "Retry-After", "7")}, llm.CodeLimited, 6},
			"a server that is down":     {[]http.HandlerFunc{refuse(500, "")}, llm.CodeUnavailable, 6},
			"longer than there is time": {[]http.HandlerFunc{refuse(429, "", "Retry-After", "86400")}, llm.CodeLimited, 1},
		} {
			p, w := serve(t, c.tries...), &waits{}
			_, err := b.open(p, w).Complete(t.Context(), question, nil)
			if code(t, err) != c.code || p.asked() != c.asked {
				t.Errorf("%s at %s: %v after %d tries", name, kind, err, p.asked())
			}
			for i, d := range w.asked {
				if name == "a storm without an end" && d != 7*time.Second || d < 500*time.Millisecond || d > 45*time.Second ||
					name == "a server that is down" && i > 0 && d < w.asked[i-1]/2 {
					t.Errorf("%s at %s waits %v", name, kind, w.asked)
				}
			}
		}
	}
}

// TestStreamsThatGoWrong: once an answer has begun there is no second try.
func TestStreamsThatGoWrong(t *testing.T) {
	begun := map[string]string{"openai": chunk(`{"content":"so "}`, "null"),
		"anthropic": hello() + strings.Split(block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"so "}`),
			"event: content_block_stop")[0]}
	for kind, b := range both {
		for name, c := range map[string]struct {
			rest string
			code string
		}{
			"it ends": {"", llm.CodeAnswer},
			"garbage": {"data: {\"choices\": 7\n\nevent: content_block_delta\ndata: nonsense\n\n",
				llm.CodeAnswer},
			"the wrong shape": {"event: content_block_delta\ndata: [1]\n\n", llm.CodeAnswer},
			"an error in it":  {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", llm.CodeUnavailable},
			"a limit in it": {"event: error\ndata: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"" +
				secret + "\"}}\n\n", llm.CodeLimited},
			"a line that is endless":   {"data: " + strings.Repeat("x", 1<<20), llm.CodeAnswer},
			"an answer without an end": {strings.Repeat(begun[kind], 4_000), llm.CodeAnswer},
		} {
			p := serve(t, say(begun[kind], c.rest))
			got, err := b.open(p, &waits{}).Complete(t.Context(), question, nil)
			if code(t, err) != c.code || p.asked() != 1 || !strings.HasPrefix(got.Text, "so ") {
				t.Errorf("%s at %s: %.20q, %v, after %d tries", name, kind, got.Text, err, p.asked())
			}
		}
	}
}

func TestSilenceAndEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	release := make(chan struct{})
	for kind, b := range both {
		begun := strings.SplitAfter(b.ok, "\n\n")[0]
		for name, answer := range map[string]http.HandlerFunc{
			"from the start":  func(_ http.ResponseWriter, r *http.Request) { waitFor(r, release) },
			"after a piece":   func(w http.ResponseWriter, r *http.Request) { say(begun)(w, r); waitFor(r, release) },
			"after an answer": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); waitFor(r, release) },
		} {
			p := serve(t, answer)
			c := llm.Config{BaseURL: p.URL, Key: secret, HTTP: p.Client(), Idle: 30 * time.Millisecond, Retries: -1}
			m := map[string]func(llm.Config) llm.Model{"openai": llm.OpenAI, "anthropic": llm.Anthropic}[kind]
			if _, err := m(c).Complete(t.Context(), question, nil); code(t, err) != llm.CodeUnavailable {
				t.Errorf("silence %s at %s: %v", name, kind, err)
			}
			c.Idle, c.Deadline = time.Minute, 30*time.Millisecond
			if _, err := m(c).Complete(t.Context(), question, nil); code(t, err) != llm.CodeUnavailable ||
				!strings.Contains(err.Error(), "in time") && !strings.Contains(err.Error(), "status 500") {
				t.Errorf("a deadline %s at %s: %v", name, kind, err)
			}
			c.Deadline = 0
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			if _, err := m(c).Complete(ctx, question, nil); code(t, err) != llm.CodeUnavailable {
				t.Errorf("a caller that leaves %s at %s: %v", name, kind, err)
			}
			p.Close()
		}
	}
	close(release)
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+2; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func waitFor(r *http.Request, release chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-release:
	}
}

func TestGuardHoldsUsersURLs(t *testing.T) {
	p := serve(t, say(both["openai"].ok))
	m := llm.OpenAI(llm.Config{BaseURL: p.URL, Key: secret, HTTP: (&netguard.Guard{}).Client(time.Second)})
	if _, err := m.Complete(t.Context(), question, nil); code(t, err) != llm.CodeRequest || p.asked() != 0 {
		t.Errorf("a local address: %v", err)
	}
	dead := serve(t, say(""))
	dead.Close()
	w := &waits{}
	if _, err := openAI(dead, w).Complete(t.Context(), question, nil); code(t, err) != llm.CodeUnavailable ||
		len(w.asked) != 5 {
		t.Errorf("a dead provider: %v after %d waits", err, len(w.asked))
	}
}

func TestValidate(t *testing.T) {
	list := `{"data":[{"id":"b"},{"id":"models/a"},{"id":"b"},{"id":"` + strings.Repeat("x", 300) +
		`"},{"id":"\u001b[31m"}]}`
	for name, c := range map[string]struct {
		provider llm.Provider
		tries    []http.HandlerFunc
		model    string
		names    string
		code     string
		asked    int
	}{
		"a list":      {llm.ProviderCompatible, []http.HandlerFunc{refuse(200, list)}, "", "a b", "", 1},
		"anthropic's": {llm.ProviderAnthropic, []http.HandlerFunc{refuse(200, list)}, "", "a b", "", 1},
		"a public list": {llm.ProviderOpenRouter, []http.HandlerFunc{refuse(401, ""), refuse(200, list)}, "", "",
			llm.CodeKey, 1},
		"a wrong key": {llm.ProviderOpenAI, []http.HandlerFunc{refuse(401, secret)}, "", "", llm.CodeKey, 1},
		"no list": {llm.ProviderCompatible, []http.HandlerFunc{refuse(404, ""), say(both["openai"].ok)}, "m", "",
			"", 2},
		"no list, no model": {llm.ProviderCompatible, []http.HandlerFunc{refuse(404, "")}, "", "", llm.CodeRequest, 1},
		"something else":    {llm.ProviderCompatible, []http.HandlerFunc{refuse(200, "<html>")}, "", "", llm.CodeAnswer, 1},
		"a list without end": {llm.ProviderCompatible, []http.HandlerFunc{refuse(200, strings.Repeat(" ", 8<<20))}, "", "",
			llm.CodeAnswer, 1},
		"an unknown provider": {"nobody", []http.HandlerFunc{refuse(200, list)}, "", "", "invalid_provider", 0},
		"down":                {llm.ProviderOpenAI, []http.HandlerFunc{refuse(503, "")}, "", "", llm.CodeUnavailable, 1},
	} {
		p := serve(t, c.tries...)
		names, err := llm.Validate(t.Context(),
			llm.Config{Provider: c.provider, BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client()}, c.model)
		if code(t, err) != c.code || strings.Join(names, " ") != c.names || p.asked() != c.asked {
			t.Errorf("%s: %q, %v, after %d calls", name, names, err, p.asked())
		}
		if c.asked > 0 && (p.paths[0] != "/v1/models" && p.paths[0] != "/v1/key" ||
			p.heads[0].Get("Authorization")+p.heads[0].Get("X-Api-Key") == "") {
			t.Errorf("%s asks %v", name, p.paths)
		}
	}
	if _, err := llm.Validate(t.Context(),
		llm.Config{Provider: llm.ProviderBedrock, Location: "evil.example/", Key: secret}, ""); code(t,
		err) != "invalid_location" {
		t.Errorf("a location that is a host: %v", err)
	}
}

// FuzzStreams: whatever a server says, there is an answer or an error with one of the
// codes, and the key is in neither.
func FuzzStreams(f *testing.F) {
	for _, b := range both {
		f.Add(b.ok, true)
		f.Add(b.ok[:len(b.ok)/2], false)
	}
	f.Add(`{"choices":[{"message":{"content":null}}]}`, false)
	f.Add("data: {\"error\":{\"message\":\""+secret+"\"}}\n\n", true)
	f.Fuzz(func(t *testing.T, text string, stream bool) {
		media := "application/json"
		if stream {
			media = "text/event-stream"
		}
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.Body != nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {media}},
				Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})}
		for _, open := range []func(llm.Config) llm.Model{llm.OpenAI, llm.Anthropic} {
			got, err := open(llm.Config{BaseURL: "http://provider.example", Key: secret, HTTP: client,
				Retries: -1}).Complete(t.Context(), question, nil)
			switch code(t, err) {
			case "", llm.CodeKey, llm.CodeLimited, llm.CodeUnavailable, llm.CodeRequest, llm.CodeAnswer:
			default:
				t.Errorf("%v", err)
			}
			seen := map[string]bool{}
			for _, c := range got.Calls {
				if c.ID == "" || seen[c.ID] {
					t.Errorf("calls %+v", got.Calls)
				}
				seen[c.ID] = true
			}
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
