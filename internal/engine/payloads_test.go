package engine_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// A script's init may replace the payloads of its block: by a list, or by lines; each value is tried, and named.
func TestUpdatePayload(t *testing.T) {
	for name, c := range map[string]struct {
		init  string
		want  []string
		state engine.State
	}{
		"list":      {`updatePayload("word", ["x", 5, "z"])`, []string{"x", "5", "z"}, engine.Tested},
		"lines":     {`updatePayload("word", "x\r\ny\n\n")`, []string{"x", "y"}, engine.Tested},
		"condition": {`if (Host == "other") updatePayload("word", ["x"])`, []string{"a"}, engine.Tested},
		"too many":  {`updatePayload("other", ["x"])`, nil, engine.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compile("t.yaml", []byte(`
id: t
info: {name: n, author: a, severity: high}
javascript:
  - init: '`+c.init+`'
    code: Export(word)
    args: {Host: "{{Host}}", word: "{{word}}"}
    payloads: {word: [a]}
    extractors: [{type: dsl, dsl: [response]}]
`))
			if err != nil {
				t.Fatal(err)
			}
			e := engine.New(engine.Config{})
			defer e.Close()
			var mu sync.Mutex
			var got []string
			result, err := e.Run(t.Context(), engine.Scan{
				Targets: []string{"127.0.0.1:1"}, Programs: []*program.Program{p},
				OnEvent: func(ev engine.Event) {
					mu.Lock()
					defer mu.Unlock()
					if word := ev.Meta["word"]; !slices.Equal(ev.ExtractedResults, []string{word}) {
						t.Errorf("%q with %q", ev.ExtractedResults, word)
					}
					got = append(got, ev.ExtractedResults...)
				},
			})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q: %v", got, c.want, err)
			}
			if state, why := result.Targets[0].Cell(0); state != c.state {
				t.Errorf("%v: %s", state, why)
			}
		})
	}
}
