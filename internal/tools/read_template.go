package tools

import (
	"context"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

type idArgs struct {
	ID string `json:"id"`
}

func (k *Kit) readTemplate() action[idArgs] {
	return action[idArgs]{
		name: "read_template", passive: true, repeatable: true,
		schema: `{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}`,
		call: func(ctx context.Context, a idArgs, _ func(string)) (loop.Result, error) {
			text, err := k.Templates.Text(ctx, a.ID)
			return loop.Result{Text: string(text), Evidence: []string{"template " + a.ID}}, err
		},
	}
}
