package dsl_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// A long text that is nothing but the beginning of something costs no more than another.
func TestHostileInput(t *testing.T) {
	const size = 1 << 15
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	env := &dsl.Env{Vars: dsl.Map(map[string]any{"a": "A", "z": "Z"})}
	for _, unit := range []string{
		"{{", "}}", "{{a", "{{\"", "{{'}}", "{{'", "{{a}}", "{{b}}", "{{bc.D}}", "{{a+", "{{md5(", "{{md5(a)}}", "{", "§",
		"§a", "§a§", "%7B%7B", "{{[", "{{(", "{{'{{'}}", "{{x\\", "{{'\\'",
		"{{ab cd}}", "{{ a", "%7B%7Bx%7D%7D",
	} {
		for _, source := range []string{of(unit), of(unit) + "'}}"} {
			quick(t, unit, func() {
				text := dsl.Parse(source)
				_, _ = text.Render(env)
				_, _ = text.Const()
			})
		}
	}
	for _, unit := range []string{"(", "a(", "a.B(", "!", "- ", "a,", "a ? ", "'", "\\", "[", "1", "0x", "a ", "a + ",
		"md5(", ".", "a.", "'a' in (", "a =~ 'b' || ", "contains(a, 'b') && "} {
		source := of(unit) + "1"
		quick(t, unit, func() {
			if e, err := dsl.Compile(source); err == nil {
				_, _ = e.Eval(env)
			}
		})
	}
}

// quick holds that work takes less than a second of the processor, in the best of three times: collections fall where
// they fall, and other tests run at the same time.
func quick(t *testing.T, unit string, work func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		start, before := time.Now(), processorTime(t)
		work()
		if took = min(time.Since(start), processorTime(t)-before); took <= time.Second {
			return
		}
	}
	t.Errorf("%q over and over takes %v", unit, took)
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
