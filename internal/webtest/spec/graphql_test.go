package spec

import "testing"

// A number that names an object is the one that an answer before named; other numbers are made up.
func TestNumbersOfObjects(t *testing.T) {
	values := &Values{}
	values.Learn("/user", []byte(`{"data":{"me":{"__typename":"User","id":4711,"age":30}}}`))
	for name, want := range map[string]any{"id": int64(4711), "age": 1} {
		if got, ok := scalar("Int", name, "user", values); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
