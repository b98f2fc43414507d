package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// recording is one call, as a line of JSON.
type recording struct {
	Digest   string          `json:"digest"` // of the request, see Digest
	Request  json.RawMessage `json:"request"`
	Pieces   []string        `json:"pieces,omitempty"` // the text as it came
	Response *Response       `json:"response,omitempty"`
	Error    *recordedError  `json:"error,omitempty"`
}

type recordedError struct {
	Kind    errs.Kind `json:"kind"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
}

// Recorder makes a model that answers as m does and writes each call to w, one line of
// JSON at a time: what Replay plays again. An answer that cannot be recorded is an error,
// because a recording with a hole in it is worth nothing. A call that its caller ended is
// not recorded.
func Recorder(m Model, w io.Writer) Model { return &recorder{model: m, w: w} }

type recorder struct {
	model Model
	mu    sync.Mutex
	w     io.Writer
}

// Complete implements Model.
func (c *recorder) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	rec := recording{Digest: Digest(r)}
	response, err := c.model.Complete(ctx, r, func(piece string) {
		rec.Pieces = append(rec.Pieces, piece)
		if onText != nil {
			onText(piece)
		}
	})
	if err != nil && ctx.Err() != nil {
		return response, err
	}
	rec.Response = &response
	if err != nil {
		e := errs.From(err)
		rec.Error = &recordedError{e.Kind, e.Code, e.Message}
	}
	return response, errors.Join(err, c.write(rec, r))
}

func (c *recorder) write(rec recording, r Request) (err error) {
	if rec.Request, err = json.Marshal(r); err != nil {
		return err
	}
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.w.Write(append(line, '\n'))
	return err
}

// maxRecording bounds one recorded call in bytes.
const maxRecording = 64 << 20

// Replay reads what a Recorder wrote and makes a model that answers from it alone. Equal
// requests are answered in the order in which they were recorded; a request that was not
// recorded, or not so often, fails with CodeRequest.
func Replay(r io.Reader) (Model, error) {
	p := &replay{calls: map[string][]recording{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecording)
	for n := 1; lines.Scan(); n++ {
		var rec recording
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil || rec.Response == nil {
			return nil, fmt.Errorf("line %d is no recording of a call: %w", n, errors.Join(err, io.ErrUnexpectedEOF))
		}
		p.calls[rec.Digest] = append(p.calls[rec.Digest], rec)
	}
	return p, lines.Err()
}

type replay struct {
	mu    sync.Mutex
	calls map[string][]recording
}

// Complete implements Model.
func (p *replay) Complete(ctx context.Context, r Request, onText func(string)) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, errs.New(errs.Unavailable, CodeUnavailable, "The call of the model was ended.").Because(err)
	}
	digest := Digest(r)
	p.mu.Lock()
	left := p.calls[digest]
	if len(left) > 0 {
		p.calls[digest] = left[1:]
	}
	p.mu.Unlock()
	if len(left) == 0 {
		return Response{}, errs.New(errs.FailedDependency, CodeRequest, "This request was not recorded (%.12s).", digest)
	}
	rec := left[0]
	if onText != nil {
		for _, piece := range rec.Pieces {
			onText(piece)
		}
	}
	if e := rec.Error; e != nil {
		return *rec.Response, errs.New(e.Kind, e.Code, "%s", e.Message)
	}
	return *rec.Response, nil
}
