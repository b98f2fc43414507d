package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/catalog"
)

type searchArgs struct {
	Query    string   `json:"query"`
	Tags     []string `json:"tags"`
	Severity []string `json:"severity"`
}

const maxHits = 50

func (k *Kit) searchTemplates() action[searchArgs] {
	return action[searchArgs]{
		name: "search_templates", passive: true, repeatable: true,
		schema: `{"type": "object", "properties": {"query": {"type": "string", "description": "words of its id, name or tags, such as CVE-2021-41773 or apache"},
			"tags": {"type": "array", "items": {"type": "string"}}, "severity": {"type": "array", "items": {"type": "string"}}}}`,
		call: func(ctx context.Context, a searchArgs, _ func(string)) (loop.Result, error) {
			known, err := k.Templates.Known(ctx)
			if err != nil {
				return loop.Result{}, err
			}
			var lines []string
			n := 0
			for _, t := range known {
				if !a.picks(t) {
					continue
				}
				if n++; n <= maxHits {
					lines = append(lines, fmt.Sprintf("%s | %s | %s | %s", t.WrittenID, t.Severity, t.Name, strings.Join(t.Tags, ",")))
				}
			}
			text := fmt.Sprintf("%d templates:\n%s", n, strings.Join(lines, "\n"))
			return loop.Result{Text: text, Evidence: []string{fmt.Sprintf("templates %q %q %q", a.Query, a.Tags, a.Severity)}},
				nil
		},
	}
}

// picks reports whether a template matches: all words, a tag, a severity.
func (a searchArgs) picks(t catalog.ScanTemplate) bool {
	among := func(list, of []string) bool {
		return len(list) == 0 || slices.ContainsFunc(of, func(s string) bool {
			return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(s, x) })
		})
	}
	if t.Requests == 0 || !among(a.Tags, t.Tags) || !among(a.Severity, []string{t.Severity}) {
		return false
	}
	text := strings.ToLower(t.WrittenID + " " + t.Name + " " + strings.Join(t.Tags, " "))
	for word := range strings.FieldsSeq(strings.ToLower(a.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
