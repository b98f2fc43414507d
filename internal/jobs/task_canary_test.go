package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/httptool"
	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

const canary = "canary-7f3a9c"

// listener is a provider of a language model that keeps all that it is sent, and answers with one call after the other.
type listener struct {
	mu    sync.Mutex
	heard strings.Builder
}

// take is what it was sent since it was asked last.
func (l *listener) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.heard.Reset()
	return l.heard.String()
}

func listening(t *testing.T, calls ...llm.ToolCall) (*listener, model.Config) {
	t.Helper()
	l := &listener{}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		l.heard.Write(body)
		l.mu.Unlock()
		var sent struct {
			Messages []struct {
				Role string `json:"role"`
			} `json:"messages"`
		}
		_ = json.Unmarshal(body, &sent)
		turn := 0
		for _, m := range sent.Messages {
			if m.Role == "assistant" {
				turn++
			}
		}
		delta, finish := `{"content":"That is all."}`, "stop"
		if turn < len(calls) {
			name, _ := json.Marshal(calls[turn].Name)
			args, _ := json.Marshal(calls[turn].Args)
			delta = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":%s,"arguments":%s}}]}`, turn, name, args)
			finish = "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n",
			delta, finish)
	}))
	t.Cleanup(ts.Close)
	return l, model.Config{Server: &model.Server{Model: "m",
		Config: llm.Config{Provider: llm.ProviderCompatible, BaseURL: ts.URL + "/v1", Key: "key-of-the-server"}}}
}

// plantCanaries gives a team one of all that its tasks may use, each with the mark.
func (o office) plantCanaries(t *testing.T, site string) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.secrets.Create(o.ctx, secret.NewSecret{Name: "DEPOT", Value: "value-of-" + canary}))
	must(o.files.Create(o.ctx, file.NewFile{Key: "depot.txt", Content: strings.NewReader("file " + canary)}))
	must(o.skills.Create(o.ctx, skill.NewSkill{Shared: true, Text: skill.Text{Name: "depot-rules", Description: "About the depot.",
		Instructions: "skill " + canary}}))
	must(o.crew.Create(o.ctx, customagent.Update{Name: new("Keeper"), WhenToUse: new("agent " + canary), Shared: new(true)}))
	must(o.extensions.CreateTool(o.ctx, extension.NewTool{Shared: true, Trusted: true, ToolText: extension.ToolText{
		Name: "depot_owner", Description: "tool " + canary,
		Request: httptool.Template{Method: "GET", URL: site + "/owner", Headers: map[string]string{"X-Api-Key": "{{$DEPOT}}"}}}}))
	must(o.extensions.CreateTool(o.ctx, extension.NewTool{Shared: true, Trusted: true, ToolText: extension.ToolText{
		Name: "depot_map", Description: "map " + canary, Request: httptool.Template{Method: "GET", URL: site + "/map"}}}))
	sources, err := o.knowledge.Add(o.ctx, knowledge.New{Content: "The depot is behind knowledge " + canary + ".", Shared: true})
	must(nil, err)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C { // the worker indexes it
		s, err := o.knowledge.Find(o.ctx, sources[0].ID)
		must(nil, err)
		if s.State == knowledge.Ready {
			return
		}
	}
}

// TestCanariesInPromptsAndEvents: what a team keeps is in no prompt and no event of another team's task, which asks for
// all of it; and the values of secrets are in none at all.
func TestCanariesInPromptsAndEvents(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		site, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "key "+r.Header.Get("X-Api-Key")+" path "+r.URL.Path) // it gives back what it got
		}))
		calls := []llm.ToolCall{
			{Name: "search_knowledge", Args: `{"query":"depot"}`},
			{Name: "read_file", Args: `{"key":"depot.txt"}`},
			{Name: "load_skill", Args: `{"name":"depot-rules"}`},
			{Name: "depot_owner", Args: `{}`},
			{Name: "read_findings", Args: `{}`},
			{Name: "list_assets", Args: `{}`},
			{Name: "http_request", Args: `{"url":"` + site + `/{{$DEPOT}}"}`},
		}
		l, config := listening(t, calls...)
		o := openWith(t, d, config)
		o.plantCanaries(t, site)
		stranger := o
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		eve, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		stranger.ctx = account.WithCaller(t.Context(), account.Caller{UserID: eve.ID, TeamID: eve.TeamID, Role: eve.Role})

		run := func(o office, secrets ...string) (prompts, events string) {
			t.Helper()
			options := task.Options{FileKeys: []string{"depot.txt"}, Secrets: secrets}
			made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + site, Options: options})
			if err != nil {
				t.Fatal(err)
			}
			made = o.follow(t, made)
			if made.Status != task.Completed {
				t.Fatalf("%s: %s", made.Status, made.Summary)
			}
			return l.take(), o.journal(t, made.ID) + rowsOf(t, d, made.StreamID)
		}
		prompts, events := run(o, "DEPOT")
		for _, kind := range []string{"knowledge ", "file ", "skill ", "tool ", "map "} { // else the test proves nothing
			if !strings.Contains(prompts, kind+canary) {
				t.Errorf("the team's own model does not read %s%s", kind, canary)
			}
		}
		for where, text := range map[string]string{"prompts": prompts, "events": events} {
			if strings.Contains(text, "value-of-") {
				t.Errorf("the value of a secret is in the team's own %s", where)
			}
		}
		prompts, events = run(stranger)
		if strings.Count(prompts, `"tool_calls"`) == 0 || len(events) < 100 {
			t.Fatalf("the stranger's model called nothing: %.2000s", prompts)
		}
		for where, text := range map[string]string{"prompts": prompts, "events": events} {
			if at := strings.Index(text, canary); at >= 0 {
				t.Errorf("another team's %s have the mark: …%s…", where, text[max(0, at-200):at+len(canary)])
			}
		}
	})
}

// rowsOf are the events of a stream as they are stored.
func rowsOf(t *testing.T, d *db.DB, streamID string) string {
	t.Helper()
	rows, err := db.Select(context.Background(), d, func(r db.Row) (text string, err error) { return text, r.Scan(&text) },
		`SELECT CAST(data AS TEXT) FROM stream_event WHERE stream_id = ?`, streamID)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d events, %v", len(rows), err)
	}
	return strings.Join(rows, "\n")
}
