package functions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// TestTable: every function is there under both spellings of its name, with a sane number of
// arguments. What the functions give is checked by the vectors of package dsl.
func TestTable(t *testing.T) {
	for name, f := range functions.All {
		if (f.Run == nil) == (f.Refused == "") || f.Min < 0 || f.Max >= 0 && f.Max < f.Min {
			t.Errorf("%s takes %d to %d arguments, and runs: %v", name, f.Min, f.Max, f.Run != nil)
		}
		if functions.All[strings.ReplaceAll(f.Name, "_", "")].Name != f.Name {
			t.Errorf("%s is not found without underscores", f.Name)
		}
	}
}

func TestResultsAreBounded(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	_, err := functions.All["repeat"].Run(&functions.Env{}, []any{big, float64(17)})
	if !errors.Is(err, functions.ErrTooLarge) {
		t.Errorf("17 MB of text: %v", err)
	}
}

func TestValues(t *testing.T) {
	for want, value := range map[string]any{"": nil, "1000000": 1e6, "text": []byte("text"), "true": true, "0.5": 0.5} {
		if got := functions.String(value); got != want {
			t.Errorf("%#v is %q, want %q", value, got, want)
		}
	}
	if got := functions.Widen(uint32(7)); got != 7.0 {
		t.Errorf("a uint32 is %#v", got)
	}
}
