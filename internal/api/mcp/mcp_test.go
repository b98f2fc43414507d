package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestPanicStaysInItsTool: in the library's goroutine it would end the process.
func TestPanicStaysInItsTool(t *testing.T) {
	s := &surface{API: &rest.API{Config: rest.Config{Logger: slog.New(slog.DiscardHandler)}}}
	_, err := guarded(t.Context(), s, ID{}, func(context.Context, ID) (Task, error) { panic("secret") })
	if e := errs.From(err); e == nil || e.Kind != errs.Internal || e.Message != "Internal error." {
		t.Errorf("%v", err)
	}
}

func TestToolFailureTellsNoCause(t *testing.T) {
	var got ToolError
	err := toolFailure(errs.Field("limit", "limit is odd.").Because(context.Canceled))
	if jerr := json.Unmarshal([]byte(err.Error()), &got); jerr != nil ||
		got != (ToolError{"invalid_limit", "invalid", "limit is odd.", "limit"}) {
		t.Errorf("%v, %v", err, jerr)
	}
}

func TestWindowsAreBounded(t *testing.T) {
	if w, err := (Window{}).window(); err != nil || w.Limit != usualLimit {
		t.Errorf("%+v, %v", w, err)
	}
	for _, bad := range []Window{{Limit: -1}, {Limit: mostLimit + 1}, {Offset: -1}, {Offset: mostOffset + 1}} {
		if _, err := bad.window(); !errs.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestRefusalsInPlainTextGetTheDoorsShape(t *testing.T) {
	for _, c := range []struct {
		media   string
		status  int
		refused bool
	}{
		{"text/plain; charset=utf-8", 400, true}, {"", 400, true}, {"application/json", 400, false},
		{"text/event-stream", 200, false}, {"", http.StatusAccepted, false},
	} {
		a := answer{header: http.Header{"Content-Type": {c.media}}}
		a.WriteHeader(c.status)
		if err := a.refusal(); (err != nil) != c.refused || c.refused && !errs.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
