package main

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
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// client uses a server's agent-task API.
type client struct {
	base string
	key  string // an API key, or else
	jwt  string // a bearer token
}

func (c client) request(ctx context.Context, method, path, accept string, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.base, "/")+path, payload)
	if err != nil {
		return nil, cli.Usage(err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	} else if c.jwt != "" {
		req.Header.Set("Authorization", "Bearer "+c.jwt)
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

func (c client) call(ctx context.Context, method, path string, body, out any) error {
	resp, err := c.request(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

type event struct {
	Type   string          `json:"type"`
	Seq    int64           `json:"seq"`
	TaskID string          `json:"task_id"`
	Data   json.RawMessage `json:"data"`
}

func (c client) createTask(ctx context.Context, instruction string, delivery string) (iter.Seq2[event, error], error) {
	body := map[string]any{"task": instruction, "response_format": "sse"}
	if delivery != "" {
		body["completion_delivery"] = delivery
	}
	resp, err := c.request(ctx, http.MethodPost, "/api/v1/tasks", "text/event-stream", body) //nolint:bodyclose // the sequence closes it
	if err != nil {
		return nil, err
	}
	return func(yield func(event, error) bool) {
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e event
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
		yield(event{}, err)
	}, nil
}
