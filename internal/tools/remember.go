package tools

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
)

type rememberArgs struct {
	Text string `json:"text"`
}

const maxMemo = 2000 // bytes

func (k *Kit) remember() action[rememberArgs] {
	return action[rememberArgs]{
		name: "remember", repeatable: true,
		schema: `{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}`,
		call: func(ctx context.Context, a rememberArgs, _ func(string)) (loop.Result, error) {
			if strings.TrimSpace(a.Text) == "" || len(a.Text) > maxMemo {
				return loop.Result{}, errors.New("text must have 1 to 2000 bytes")
			}
			return loop.Result{Text: "Remembered."}, k.Run.Remember(ctx, a.Text)
		},
	}
}

type noteArgs struct {
	Todo   string `json:"todo"`
	Status string `json:"status"`
}

func (k *Kit) note() action[noteArgs] {
	return action[noteArgs]{
		name: "note", repeatable: true,
		schema: `{"type": "object", "required": ["todo"], "properties": {"todo": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"], "description": "pending when absent"}}}`,
		call: func(ctx context.Context, a noteArgs, _ func(string)) (loop.Result, error) {
			if strings.TrimSpace(a.Todo) == "" || len(a.Todo) > maxMemo {
				return loop.Result{}, errors.New("todo must have 1 to 2000 bytes")
			}
			a.Status = cmp.Or(a.Status, "pending")
			if !slices.Contains([]string{"pending", "in_progress", "completed", "cancelled"}, a.Status) {
				return loop.Result{}, errors.New("status must be pending, in_progress, completed or cancelled")
			}
			return loop.Result{Text: "Noted."}, k.Run.Note(ctx, task.Todo{Content: a.Todo, Status: a.Status})
		},
	}
}
