package yamltext

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMapping(t *testing.T) {
	m, err := Mapping([]byte("a: [x, 1, true, null]\nb: y\nc: {d: e}\nf: [[g]]"))
	if err != nil {
		t.Fatal(err)
	}
	if words, err := Words(m["a"]); err != nil || strings.Join(words, " ") != "x 1 true" {
		t.Errorf("%q, %v", words, err)
	}
	if words, err := Words(m["b"]); err != nil || len(words) != 1 {
		t.Errorf("%q, %v", words, err)
	}
	for _, name := range []string{"c", "f"} {
		if _, err := Words(m[name]); err == nil {
			t.Errorf("%s has words", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"- a": "not a mapping", "a": "neither a mapping", "a: \x00": "not text", "a: [b": "", "a: &x [1]\nb: *x": "aliases",
		"a: 1\nb: 2\na: 3": "line 3: the key \"a\" is there twice", "a: {b: 1, \"b\": 2}": "\"b\" is there twice",
		"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40): "too deep",
	} {
		if _, err := Mapping([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.HasPrefix(err.Error(), "yaml:") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// processorTime is what this process has used: the clock also counts what the machine does besides.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// most is the processor time that a text may take.
const most = 5 * time.Second

// TestWorkGrowsWithTheText reads texts of 60,000 keys or items, which a reader that compares each with all others does in
// 25 seconds.
func TestWorkGrowsWithTheText(t *testing.T) {
	const n = 60_000
	var wide, flow, nested, lists strings.Builder
	flow.WriteString("a: {")
	for i := range n {
		fmt.Fprintf(&wide, "key%d: %d\n", i, i)
		fmt.Fprintf(&flow, "key%d: x, ", i)
		fmt.Fprintf(&lists, "- {key%d: [%d]}\n", i, i)
		if i%1000 == 0 {
			fmt.Fprintf(&nested, "k%d:\n", i)
		}
		fmt.Fprintf(&nested, "  key%d: %d\n", i, i)
	}
	flow.WriteString("}")
	for name, text := range map[string]string{
		"wide": wide.String(), "flow": flow.String(), "nested": nested.String(), "lists": lists.String(),
		"a long key": "? " + strings.Repeat("k", 500_000) + "\n: [" + strings.Repeat("0, ", n) + "0]",
		"numbers":    "a: [" + strings.Repeat(strings.Repeat("9", 100)+", ", n/10) + "0]",
		"escapes":    "a: \"" + strings.Repeat(`\u00e9`, n) + "\"", "twice": wide.String() + "key0: 1",
	} {
		began := processorTime(t)
		_, err := Value([]byte(text))
		if took := processorTime(t) - began; took > most {
			t.Errorf("%s: %d bytes take %s", name, len(text), took)
		}
		if (err != nil) != (name == "twice") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// FuzzValue reads any text as all that it may be: reading ends, and what was read in one way is no error in another.
func FuzzValue(f *testing.F) {
	for _, text := range []string{"a: [1, {b: c}]", "a: &x [*x]", "? [k]\n: v", "--- a\n--- b", "a: !!binary aGk=", "<<: {a: b}",
		"a: 1e999", "a: .nan", "\"\\U0010ffff\"", "{a: b, a: c}", "\ufeffa: b", strings.Repeat("[", 2000)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		began := processorTime(t)
		checked := Check(text)
		value, err := Value(text)
		if checked != nil && err == nil { // a list as a key is no value, and well written
			t.Errorf("Check says %v, and Value %v", checked, err)
		}
		if err == nil {
			_, _ = Words(value)
		}
		_, _ = Mapping(text)
		_, _ = Documents(text)
		if took := processorTime(t) - began; took > most {
			t.Errorf("%d bytes take %s", len(text), took)
		}
	})
}
