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
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// The marks: of what a member shares with the team, and of what they keep to themselves.
const (
	canary = "canary-7f3a9c"
	kept   = "kept-51d2e8"
)

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

// plantCanaries gives a member one of all that tasks may use, each with a mark: shared with the team, or their own. Their
// names begin with a word.
func (o office) plantCanaries(t *testing.T, site, word, mark string, shared bool) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.secrets.Create(o.ctx, secret.NewSecret{Name: strings.ToUpper(word), Value: "value-of-" + mark}))
	must(o.files.Create(o.ctx, file.NewFile{Key: word + ".txt", Content: strings.NewReader("file " + mark)}))
	must(o.skills.Create(o.ctx, skill.NewSkill{Shared: shared, Text: skill.Text{Name: word + "-rules", Description: "About the " + word + ".",
		Instructions: "skill " + mark}}))
	must(o.crew.Create(o.ctx, customagent.Update{Name: new("Keeper of the " + word), WhenToUse: new("agent " + mark), Shared: new(shared)}))
	must(o.extensions.CreateTool(o.ctx, extension.NewTool{Shared: shared, Trusted: true, ToolText: extension.ToolText{
		Name: word + "_owner", Description: "tool " + mark, Request: httptool.Template{Method: "GET", URL: site + "/owner",
			Headers: map[string]string{"X-Api-Key": "{{$" + strings.ToUpper(word) + "}}"}}}}))
	must(o.extensions.CreateTool(o.ctx, extension.NewTool{Shared: shared, Trusted: true, ToolText: extension.ToolText{
		Name: word + "_map", Description: "map " + mark, Request: httptool.Template{Method: "GET", URL: site + "/map"}}}))
	sources, err := o.knowledge.Add(o.ctx, knowledge.New{Content: "The " + word + " is behind knowledge " + mark + ".", Shared: shared})
	must(nil, err)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C { // the worker indexes it
		s, err := o.knowledge.Find(o.ctx, sources[0].ID)
		must(nil, err)
		if s.State == knowledge.Ready {
			return
		}
	}
}

// as is the same office with a user of a team, made if need be.
func (o office) as(t *testing.T, d *db.DB, email, team string) office {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	o.ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
	return o
}

// capture stores a request of a task, as if the task had sent it.
func (o office) capture(t *testing.T, of task.Task, text string) {
	t.Helper()
	r, err := o.network.Begin(o.ctx, network.Subject{TeamID: of.TeamID, TaskID: of.ID})
	if err != nil {
		t.Fatal(err)
	}
	r.Add(traffic.Exchange{At: time.Now(), Tool: "http", Method: "GET", URL: "http://127.0.0.1/" + text,
		Request: []byte("GET /" + text + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), Response: []byte("HTTP/1.1 200 OK\r\n\r\n" + text)})
	r.Close()
}

// TestCanariesInPromptsAndEvents: what a team keeps is in no prompt and no event of another team's task, which asks for
// all of it; what a member keeps to themselves is in none of a colleague's; what tasks sent and were answered is in those
// of no other task; and the values of secrets are in none at all.
func TestCanariesInPromptsAndEvents(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		site, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "key "+r.Header.Get("X-Api-Key")+" path "+r.URL.Path) // it gives back what it got
		}))
		calls := []llm.ToolCall{{Name: "read_findings", Args: `{}`}, {Name: "list_assets", Args: `{}`}}
		for _, word := range []string{"depot", "cellar"} {
			calls = append(calls, llm.ToolCall{Name: "search_knowledge", Args: `{"query":"` + word + `"}`},
				llm.ToolCall{Name: "read_file", Args: `{"key":"` + word + `.txt"}`}, llm.ToolCall{Name: "load_skill", Args: `{"name":"` + word + `-rules"}`},
				llm.ToolCall{Name: word + "_owner", Args: `{}`},
				llm.ToolCall{Name: "http_request", Args: `{"url":"` + site + `/{{$` + strings.ToUpper(word) + `}}"}`})
		}
		l, config := listening(t, calls...)
		o := openWith(t, d, config)
		o = o.as(t, d, "owner@example.com", "blue")
		colleague, stranger := o.as(t, d, "colleague@example.com", "blue"), o.as(t, d, "eve@example.com", "red")
		o.plantCanaries(t, site, "depot", canary, true)
		o.plantCanaries(t, site, "cellar", kept, false)
		if _, _, err := o.tasks.ChangeMemory(o.ctx, "", func(task.Memory) task.Memory {
			return task.Memory{Facts: []string{"memory " + kept}}
		}); err != nil {
			t.Fatal(err)
		}
		run := func(o office, secrets ...string) (prompts, events string) {
			t.Helper()
			options := task.Options{FileKeys: []string{"depot.txt", "cellar.txt"}, Secrets: secrets, Visibility: string(task.Private)}
			made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + site, Options: options})
			if err != nil {
				t.Fatal(err)
			}
			made = o.follow(t, made)
			if made.Status != task.Completed {
				t.Fatalf("%s: %s", made.Status, made.Summary)
			}
			o.capture(t, made, "traffic-"+kept)
			return l.take(), o.journal(t, made.ID) + rowsOf(t, d, made.StreamID)
		}
		prompts, events := run(o, "DEPOT", "CELLAR")
		for _, text := range []string{"knowledge " + canary, "file " + canary, "skill " + canary, "tool " + canary, "map " + canary,
			"knowledge " + kept, "file " + kept, "skill " + kept, "tool " + kept, "map " + kept, "memory " + kept} { // else the test proves nothing
			if !strings.Contains(prompts, text) {
				t.Errorf("the owner's own model does not read %s", text)
			}
		}
		for where, text := range map[string]string{"prompts": prompts, "events": events} {
			if strings.Contains(text, "value-of-") {
				t.Errorf("the value of a secret is in the owner's own %s", where)
			}
		}
		hear := func(who string, o office, marks ...string) {
			t.Helper()
			prompts, events := run(o)
			if strings.Count(prompts, `"tool_calls"`) == 0 || len(events) < 100 {
				t.Fatalf("the model of %s called nothing: %.2000s", who, prompts)
			}
			for where, text := range map[string]string{"prompts": prompts, "events": events} {
				for _, mark := range append(marks, "value-of-", "traffic-") {
					if at := strings.Index(text, mark); at >= 0 {
						t.Errorf("the %s of %s have %q: …%s…", where, who, mark, text[max(0, at-200):at+len(mark)])
					}
				}
			}
		}
		hear("a colleague", colleague, kept)
		hear("another team", stranger, canary, kept)
		if prompts, _ := run(o); strings.Contains(prompts, "traffic-") {
			t.Error("what one task sent is in the prompts of another")
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
