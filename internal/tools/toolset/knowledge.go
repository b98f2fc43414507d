package toolset

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// SearchKnowledge is the name of the tool that searches knowledge bases.
const SearchKnowledge = "search_knowledge"

//go:embed search_knowledge.md
var searchKnowledge string

const (
	defaultHits = 5
	maxHits     = 10
)

// addKnowledge offers a search of the bases of a task's user and team, where there is anything in them.
func (s Services) addKnowledge(ctx context.Context, t task.Task, c *loop.Config) error {
	if s.Knowledge == nil {
		return nil
	}
	if has, err := s.Knowledge.Has(ctx, t.TeamID, t.UserID); err != nil || !has {
		return err
	}
	const schema = `{"type": "object", "required": ["query"], "properties": {
		"query": {"type": "string", "maxLength": 1000, "description": "The words to look for."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many results; default 5."}}}`
	c.Tools = append(c.Tools, loop.Tool{
		Tool: llm.Tool{Name: SearchKnowledge, Description: strings.TrimSpace(searchKnowledge),
			Schema: json.RawMessage(schema)},
		Passive: true, Repeatable: true,
		Call: func(ctx context.Context, raw json.RawMessage, _ func(string)) (r loop.Result, err error) {
			a := struct {
				Query string
				Limit int
			}{Limit: defaultHits}
			if err := json.Unmarshal(raw, &a); err != nil {
				return r, fmt.Errorf("the arguments of %s: %w", SearchKnowledge, err)
			}
			found, err := s.Knowledge.ForTask(ctx, t.Account(model.Chosen{}), a.Query, min(a.Limit, maxHits))
			if err != nil {
				return r, err
			}
			note := found.Vectors.Message()
			if len(found.Hits) == 0 {
				r.Text = strings.TrimSpace("Nothing was found. Try other words. " + note)
				return r, nil
			}
			var b strings.Builder
			if found.Vectors.State != knowledge.VectorsNoModel && note != "" {
				fmt.Fprintf(&b, "%s\n\n", note)
			}
			for i, h := range found.Hits {
				at := h.Place
				if h.Revision != "" {
					at += " at " + errs.Clip(h.Revision, 12)
				}
				fmt.Fprintf(&b, "[%d] Source %q, %s, line %d (found by %s):\n%s\n\n", i+1, h.Source, at, h.Line,
					strings.Join(h.FoundBy(), " and "), h.Text)
			}
			r.Text = strings.TrimSpace(b.String())
			return r, nil
		},
	})
	return nil
}
