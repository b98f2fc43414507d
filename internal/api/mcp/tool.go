package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// callTimeout is how long one call of a tool may take: each reads or writes a few rows.
const callTimeout = 30 * time.Second

// tool describes a tool to clients.
type tool struct {
	name, title, words string
	changes            bool // it starts or stops something
}

// ToolError is the text of a tool's answer that is an error.
type ToolError struct {
	Code    string `json:"code"`            // for programs; stable
	Kind    string `json:"kind"`            // the class of the error, such as not_found
	Message string `json:"message"`         // for people and models
	Param   string `json:"param,omitempty"` // the argument at fault
}

// offer adds a tool. Arguments are checked against In's schema; an errs.Error becomes an error of the tool.
func offer[In, Out any](s *surface, t tool, call func(context.Context, In) (Out, error)) {
	operation := prefix + t.name
	sdk.AddTool(s.server, &sdk.Tool{Name: t.name, Title: t.title, Description: t.words, Annotations: &sdk.ToolAnnotations{
		Title: t.title, ReadOnlyHint: !t.changes, DestructiveHint: new(false), OpenWorldHint: &t.changes,
	}}, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out, err := guarded(ctx, s, in, func(ctx context.Context, in In) (out Out, err error) {
			if c, err := account.From(ctx); err != nil {
				return out, err
			} else if t.changes && c.ReadOnly {
				return out, account.ErrReadOnlyKey
			}
			return call(ctx, in)
		})
		if err == nil {
			rest.Did(ctx, operation, http.StatusOK, t.changes)
			return nil, out, nil
		}
		e := errs.From(err)
		if o := outage.OfAnswer(err); o != nil && e.Kind == errs.Internal {
			e = o
		}
		rest.Did(ctx, operation, e.Kind.Status(), t.changes)
		if e.Kind == errs.Internal {
			s.Logger.ErrorContext(ctx, "a tool failed", "tool", t.name, "error", err)
		}
		return nil, out, toolFailure(e)
	})
}

// toolFailure is an error whose text, which is what the client gets, is a ToolError.
func toolFailure(e *errs.Error) error {
	text, err := json.Marshal(ToolError{Code: e.Code, Kind: string(e.Kind), Message: e.Message, Param: e.Param})
	if err != nil {
		return err
	}
	return errors.New(string(text))
}

// guarded calls a tool. A panic in the library's goroutine would end the process; it becomes an internal error.
func guarded[In, Out any](
	ctx context.Context, s *surface, in In, call func(context.Context, In) (Out, error),
) (out Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Logger.ErrorContext(ctx, "panic", "panic", p, "stack", string(debug.Stack()))
			err = errs.New(errs.Internal, "internal_error", "Internal error.")
		}
	}()
	return call(ctx, in)
}

// Window selects a part of a list.
type Window struct {
	Limit  int `json:"limit,omitempty" jsonschema:"how many to return, 1 to 200; 50 when absent"`
	Offset int `json:"offset,omitempty" jsonschema:"how many to skip"`
}

const (
	usualLimit = 50
	mostLimit  = 200
	mostOffset = 1 << 31
)

func (w Window) window() (page.Window, error) {
	if w.Limit == 0 {
		w.Limit = usualLimit
	}
	if w.Limit < 1 || w.Limit > mostLimit {
		return page.Window{}, errs.Field("limit", "limit must be between 1 and %d.", mostLimit)
	}
	if w.Offset < 0 || w.Offset > mostOffset {
		return page.Window{}, errs.Field("offset", "offset must be between 0 and %d.", mostOffset)
	}
	return page.Window{Offset: w.Offset, Limit: w.Limit}, nil
}

// ID names one thing.
type ID struct {
	ID string `json:"id" jsonschema:"its id"`
}

// words lists values for a message.
func words[T ~string](list []T) string {
	return strings.Join(rest.Each(list, func(one T) string { return string(one) }), ", ")
}
