package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

type noArgs struct{}

const maxListed = 200

func (k *Kit) readFindings() action[noArgs] {
	return action[noArgs]{
		name: "read_findings", passive: true, repeatable: true,
		schema: `{"type": "object", "properties": {}}`,
		call: func(ctx context.Context, _ noArgs, _ func(string)) (loop.Result, error) {
			issues, err := k.Run.Issues(ctx)
			if err != nil {
				return loop.Result{}, err
			}
			lines := []string{fmt.Sprintf("%d findings of this task:", len(issues))}
			for _, i := range issues[:min(len(issues), maxListed)] {
				line := fmt.Sprintf("%s | %s | %s | %s | %s | %s", i.ID, i.Verification, i.Severity, i.Title, i.MatchedAt,
					i.TemplateID)
				if i.Note != "" {
					line += " | " + i.Note
				}
				lines = append(lines, line)
			}
			return loop.Result{Text: strings.Join(lines, "\n"), Evidence: []string{fmt.Sprintf("findings %d", len(issues))}}, nil
		},
	}
}
