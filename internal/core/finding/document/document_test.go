package document

import (
	"slices"
	"testing"
)

func TestTextsOfAValue(t *testing.T) {
	for json, want := range map[string][]string{
		`["a","\\\"b\u003c"]`: {"a", `\"b<`}, `[null,"z"]`: {"", "z"}, `[]`: nil, `["x",1]`: nil, `"x"`: nil, ``: nil,
		`{"a":["b"]}`: nil,
	} {
		if got := (Value{JSON: json}).Texts(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", json, got, want)
		}
	}
}
