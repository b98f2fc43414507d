package agentapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	eventStream = "text/event-stream"
	// heartbeat keeps proxies from closing a quiet stream.
	heartbeat = 15 * time.Second
	// slowClient is how long one write to a client may take.
	slowClient = 30 * time.Second
	// lastWrite is how long the end of a stream may take.
	lastWrite = 200 * time.Millisecond
)

func eventStreamResponse(description string) *huma.Response {
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{
		Type: "string", Description: "Server-sent events. id is the event's number, event its type, data a JSON object {type, seq, at, task_id, stream_id, data}.",
	}}}}
}

func (s surface) streams() {
	follow := op("stream-task", "GET /api/v1/tasks/{id}/stream", "Tasks", "Follow a task live", 404)
	follow.Description = "Sends the events after the one that Last-Event-ID or after names (all of them without either), then live ones until the task ends."
	follow.Responses = map[string]*huma.Response{"200": eventStreamResponse("The task's stream.")}
	rest.Register(s.API, follow, func(ctx context.Context, in *struct {
		TaskPath
		StreamID    string `query:"stream_id" format:"uuid" doc:"Which of the task's streams; its newest when absent."`
		After       int64  `query:"after" minimum:"0" doc:"The number of the last event you have."`
		LastEventID string `header:"Last-Event-ID" doc:"The number of the last event you have; wins over after."`
	}) (*huma.StreamResponse, error) {
		after := in.After
		if in.LastEventID != "" {
			n, err := strconv.ParseInt(in.LastEventID, 10, 64)
			if err != nil || n < 0 {
				return nil, errs.Field("Last-Event-ID", "Last-Event-ID must be the number of an event.")
			}
			after = n
		}
		t, err := s.Tasks.Find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if in.StreamID == "" {
			in.StreamID = t.StreamID
		}
		open, end, err := s.OpenStream(ctx)
		if err != nil {
			return nil, err
		}
		return s.stream(open, end, t, in.StreamID, after)
	})
}

// streamEvent is the data of one server-sent event.
type streamEvent struct {
	Type     string          `json:"type"`
	Seq      int64           `json:"seq"`
	At       time.Time       `json:"at"`
	TaskID   string          `json:"task_id"`
	StreamID string          `json:"stream_id"`
	Data     json.RawMessage `json:"data"`
}

// stream answers with the events of a task's stream after a number, until its end, a disconnect, the server's stop, or
// the end of ctx, when the reader may no longer read it. Then it calls end. The task continues without readers.
func (s surface) stream(
	ctx context.Context, end func(), t task.Task, streamID string, after int64,
) (*huma.StreamResponse, error) {
	events, err := s.Tasks.Follow(ctx, t.ID, streamID, after)
	if err != nil {
		end()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		defer end()
		defer context.AfterFunc(s.Closing, end)()
		_, w := humachi.Unwrap(out)
		sse := sseWriter{ctx: ctx, w: w, control: http.NewResponseController(w), last: time.Now()}
		// A write to a client that does not read ends too.
		defer context.AfterFunc(ctx, func() { _ = sse.control.SetWriteDeadline(time.Now().Add(lastWrite)) })()
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("X-Accel-Buffering", "no")
		w.Header().Set("X-Task-Id", t.ID)
		w.Header().Set("X-Stream-Id", streamID)
		w.WriteHeader(http.StatusOK)
		if sse.write(": task %s\n\n", t.ID) != nil {
			return
		}
		for event, err := range events {
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				s.Logger.ErrorContext(ctx, "reading a task's stream", "task_id", t.ID, "error", err)
				return
			case event == nil:
				if time.Since(sse.last) >= heartbeat && sse.write(": still here\n\n") != nil {
					return
				}
			default:
				data, _ := json.Marshal(streamEvent{event.Type, event.Seq, event.At, t.ID, streamID,
					event.Data}) // it was read from JSON
				if sse.write("id: %d\nevent: %s\ndata: %s\n\n", event.Seq, event.Type, data) != nil {
					return
				}
			}
		}
	}}, nil
}

// sseWriter writes server-sent events without buffering, until ctx ends.
type sseWriter struct {
	ctx     context.Context //nolint:containedctx // the writer lives as long as one answer
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
}

func (s *sseWriter) write(format string, args ...any) error {
	s.last = time.Now()
	// A test's recorder has no deadlines.
	_ = s.control.SetWriteDeadline(s.last.Add(slowClient))
	if s.ctx.Err() != nil {
		_ = s.control.SetWriteDeadline(s.last.Add(lastWrite))
		return s.ctx.Err()
	}
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return err
	}
	return s.control.Flush()
}
