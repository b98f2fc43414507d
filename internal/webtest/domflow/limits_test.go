package domflow

import (
	"strings"
	"testing"
)

// What the parser takes seconds for, a quarter of a megabyte each, is not given to it.
func TestTooMuch(t *testing.T) {
	const size = 200_000
	for _, part := range []string{"x=>", "({a})=>", "(x=1)=>", "async x=>", "a?", "a?b:c?", "[", "if(a){"} {
		if !isTooMuch(strings.Repeat(part, size/len(part))) {
			t.Errorf("%s is parsed", part)
		}
	}
	if text := strings.Repeat("a.map(x => x ? 1 : 2);\n", 1000); isTooMuch(text) {
		t.Error("an ordinary script is too much")
	}
}
