package core

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What was packed is unpacked again, whatever the format.
func TestPackUnpack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]string{"", "<", ">", "!", "="}).Draw(t, "order")
		var values []any
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			letter := rapid.SampledFrom(strings.Split("b B h H i I l L q d s x ?", " ")).Draw(t, "letter")
			number := int64(rapid.IntRange(0, 127).Draw(t, "value"))
			switch letter {
			case "s":
				format, values = format+"3s", append(values, "abc")
			case "x":
				format += "x"
			case "?":
				format, values = format+"?", append(values, number%2 == 1)
			case "d":
				format, values = format+"d", append(values, float64(number)/4)
			default:
				format, values = format+letter, append(values, number)
			}
		}
		data, err := pack(format, values)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpack(format, data)
		if err != nil || !slices.Equal(got, values) {
			t.Fatalf("%q %v: %v %v", format, values, got, err)
		}
	})
}

func TestPack(t *testing.T) {
	got, err := pack(">H2sxi", []any{int64(258), "a", int64(-2)})
	if err != nil || string(got) != "\x01\x02a\x00\x00\xff\xff\xff\xfe" {
		t.Errorf("%q %v", got, err)
	}
	for format, values := range map[string][]any{
		"H": {}, "h": {int64(1), int64(2)}, "Z": {int64(1)}, "9999999999s": {"x"}, "i": {"text"}, "s": {int64(1)},
	} {
		if _, err := pack(format, values); err == nil {
			t.Errorf("%q is packed", format)
		}
	}
	if _, err := unpack("<I", []byte{1}); err == nil {
		t.Error("too short")
	}
}
