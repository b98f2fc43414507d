package memory

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for want, m := range map[string]Memory{
		"":      {Facts: []string{"a"}, Todos: []Todo{{Content: "b"}}},
		"facts": {Facts: make([]string, MaxEntries+1)},
		"todos": {Todos: make([]Todo, MaxEntries+1)},
		"hold":  {Insights: []string{strings.Repeat("ä", MaxSize-1)}},
	} {
		err := m.Check(2)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	m := Memory{Facts: []string{"a\x00b"}, Todos: []Todo{{Content: "c"}}}.Normalized()
	if m.Facts[0] == "a\x00b" || m.Todos[0].Status != "pending" || m.Insights == nil || m.TrackedFiles == nil {
		t.Errorf("%+v", m)
	}
}
