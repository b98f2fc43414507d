// Package client speaks to the APIs of a server, for the commands that use one.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Client uses a server.
type Client struct {
	Base string // its URL
	Key  string // an API key, or else
	JWT  string // a bearer token
}

// FromEnvironment is a client of a server with the credentials in VEDETTE_API_KEY and VEDETTE_TOKEN: as flags, they
// would be seen by every process.
func FromEnvironment(base string) Client {
	return Client{Base: base, Key: os.Getenv("VEDETTE_API_KEY"), JWT: os.Getenv("VEDETTE_TOKEN")}
}

// Request sends body (nil: none) as JSON. The caller closes the body of the answer.
func (c Client) Request(ctx context.Context, method, path, accept string, body any) (*http.Response, error) {
	if body == nil {
		return c.do(ctx, method, path, accept, "", nil)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, method, path, accept, "application/json", bytes.NewReader(text))
}

// Send sends a body as it is, and wants JSON.
func (c Client) Send(ctx context.Context, method, path, kind string, body io.Reader) (*http.Response, error) {
	return c.do(ctx, method, path, "application/json", kind, body)
}

func (c Client) do(
	ctx context.Context, method, path, accept, kind string, payload io.Reader,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Base, "/")+path, payload)
	if err != nil {
		return nil, cli.Usage(err)
	}
	req.Header.Set("Accept", accept)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.Key != "" {
		req.Header.Set("X-Api-Key", c.Key)
	} else if c.JWT != "" {
		req.Header.Set("Authorization", "Bearer "+c.JWT)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server does not answer: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

func refusal(resp *http.Response) error {
	var body struct{ Code, Message, ErrorID string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&body); err != nil || body.Message == "" {
		body.Message = "The server answered " + resp.Status + "."
	}
	return errs.New(errs.KindOfStatus(resp.StatusCode), body.Code, "%s", body.Message)
}

// Call sends body as JSON and reads the answer into out. A refusal of the server is an *errs.Error.
func (c Client) Call(ctx context.Context, method, path string, body, out any) error {
	resp, err := c.Request(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// Event is a message of a task's stream.
type Event struct {
	Type   string          `json:"type"`
	Seq    int64           `json:"seq"`
	TaskID string          `json:"task_id"`
	Data   json.RawMessage `json:"data"`
}

// Task is what a server is asked to do.
type Task struct {
	Instruction string     `json:"task"`
	Format      string     `json:"response_format"` // set by CreateTask
	Delivery    string     `json:"completion_delivery,omitempty"`
	Scope       *TaskScope `json:"scope,omitempty"`
}

// TaskScope is how far a task may go.
type TaskScope struct {
	Intrusiveness string `json:"intrusiveness"`
}

// CreateTask hands over a task and gives the messages of its stream until its end.
func (c Client) CreateTask(ctx context.Context, t Task) (iter.Seq2[Event, error], error) {
	t.Format = "sse"
	resp, err := c.Request(ctx, http.MethodPost, "/api/v1/tasks", "text/event-stream", t) //nolint:bodyclose // the sequence closes it
	if err != nil {
		return nil, err
	}
	return func(yield func(Event, error) bool) {
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				yield(e, fmt.Errorf("the stream is not well-formed: %w", err))
				return
			}
			if !yield(e, nil) || e.Type == "finish" {
				return
			}
		}
		err := lines.Err()
		if err == nil {
			err = errors.New("the stream ended before the task; it goes on, see 'GET /api/v1/tasks/{id}'")
		}
		yield(Event{}, err)
	}, nil
}
