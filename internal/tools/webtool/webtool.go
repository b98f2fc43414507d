// Package webtool has the tools with which a language model uses the tester of web applications: it logs users in, maps
// an application, tests one request for one class of weaknesses, compares two answers, and reads and writes tokens and
// encodings. What a test proves becomes a verified issue, as in tasks without a model.
package webtool

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/webtask"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

//go:embed *.md
var descriptions embed.FS

// Names are the names of the tools, in order.
var Names = []string{"web_login", "web_map", "web_test", "web_diff", "web_codec"}

// The bounds of one call.
const (
	defaultRequests, maxRequests = 400, 5000
	timeout                      = 15 * time.Minute
	maxUsers                     = 10
	maxWhy                       = 300 // bytes
)

// Tools are the tools of one task. They are safe for several calls at a time.
type Tools struct {
	Step webtask.Step

	mu    sync.Mutex
	users map[string]*session.Session // who is logged in, by name
}

// New makes the tools of a task.
func New(step webtask.Step) *Tools { return &Tools{Step: step, users: map[string]*session.Session{}} }

// request is what several tools take.
type request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	As      string            `json:"as"`
}

const requestSchema = `"method": {"type": "string", "description": "GET when absent"}, "url": {"type": "string"},
	"headers": {"type": "object", "additionalProperties": {"type": "string"}}, "body": {"type": "string"},
	"as": {"type": "string", "description": "a name that web_login gave; nobody when absent"}`

// message is the request as the tester has it.
func (r request) message() (*message.Request, error) {
	u, err := address(r.URL)
	if err != nil {
		return nil, err
	}
	made := message.From(strings.ToUpper(orGet(r.Method)), u)
	for name, value := range r.Headers {
		made.Header.Set(name, value)
	}
	made.Body = []byte(r.Body)
	if r.Body != "" && made.Header.Get("Content-Type") == "" {
		made.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if json.Valid(made.Body) {
			made.Header.Set("Content-Type", "application/json")
		}
	}
	return made, nil
}

func orGet(method string) string {
	if method == "" {
		return http.MethodGet
	}
	return method
}

func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url: %q does not begin with http:// or https:// and name a host", errs.Clip(text, maxWhy))
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.Fragment = ""
	return u, nil
}

// user is who is logged in by a name; nil for "".
func (t *Tools) user(name string) (*session.Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.users[name]
	if s == nil && name != "" {
		return nil, fmt.Errorf("as: nobody is logged in as %q: call web_login", errs.Clip(name, maxWhy))
	}
	return s, nil
}

// client sends the requests of one call.
func (t *Tools) client(ctx context.Context, at *url.URL, most int) *client.Client {
	cfg, _ := t.Step.Config(ctx, []*url.URL{at})
	cfg.Client.Requests = int64(min(most, loop.Allowance(ctx)))
	cfg.Client.Until = time.Now().Add(timeout)
	return client.New(cfg.Client)
}

// All are the tools as the loop calls them.
func (t *Tools) All() []loop.Tool {
	return []loop.Tool{
		made("web_login", loginSchema, t.login, func(loginArgs) int { return loginRequests }),
		made("web_map", mapSchema, t.mapSite, func(a mapArgs) int { return most(a.Requests) }),
		made("web_test", testSchema(), t.test, func(a testArgs) int { return most(a.Requests) }),
		made("web_diff", diffSchema, t.diff, func(diffArgs) int { return diffRequests }),
		made("web_codec", codecSchema, func(_ context.Context, a codecArgs, _ func(string)) (loop.Result, error) {
			text, err := codec(a)
			return loop.Result{Text: text}, err
		}, nil),
	}
}

func most(n int) int {
	if n <= 0 {
		return defaultRequests
	}
	return min(n, maxRequests)
}

// made is a tool with arguments of a type. One without requests reaches no target.
func made[A any](name, schema string, call func(context.Context, A, func(string)) (loop.Result, error),
	requests func(A) int,
) loop.Tool {
	text, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic(err) // it is ours
	}
	out := loop.Tool{
		Tool:    llm.Tool{Name: name, Description: string(text), Schema: json.RawMessage(schema)},
		Passive: requests == nil, Repeatable: true, Secrets: true, Timeout: timeout,
		Call: func(ctx context.Context, raw json.RawMessage, progress func(string)) (loop.Result, error) {
			var args A
			if err := json.Unmarshal(raw, &args); err != nil {
				return loop.Result{}, fmt.Errorf("the arguments of %s: %w", name, err)
			}
			return call(ctx, args, progress)
		},
	}
	if requests != nil {
		out.Requests = func(raw json.RawMessage) int {
			var args A
			_ = json.Unmarshal(raw, &args) // Call reports the error
			return requests(args)
		}
	}
	return out
}

// active refuses what a task that only looks does not allow.
func (t *Tools) active(tool string) error {
	if t.Step.Scope.Doc.Intrusiveness == task.Passive {
		return fmt.Errorf("%s sends tests to targets, and the task is passive", tool)
	}
	return nil
}
