package templates

import (
	"os"
	"reflect"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// every reads the templates that use every key of the language.
func every(t testing.TB) (all []*syntax.Template) {
	for _, name := range []string{"every-key.yaml", "workflow.yaml"} {
		data, err := os.ReadFile("../syntax/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		one, err := syntax.Parse("", data)
		if err != nil {
			t.Fatal(err)
		}
		if len(one.HTTP) > 0 {
			one.HTTP[0].Sealed = &syntax.Sealed{Statuses: []int{200, 0}, ReadsPage: true, Internal: []string{"", "x"},
				Text: "\x00"}
		}
		one.Constants = append(one.Constants,
			syntax.Variable{Name: "free", Data: []any{nil, true, false, -5, 1.5, "x", map[string]any{"k": []any{}}}})
		all = append(all, one)
	}
	return all
}

func TestCodec(t *testing.T) {
	for _, want := range every(t) {
		data := encode(nil, want)
		got, err := decode(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
		}
		for size := range data {
			if _, err := decode(data[:size]); err == nil {
				t.Errorf("%d of %d bytes are enough", size, len(data))
			}
		}
	}
}

// Whatever the bytes, they are a template or they are not; a template that comes out is
// loaded that goes in again.
func FuzzDecode(f *testing.F) {
	for _, t := range every(f) {
		f.Add(encode(nil, t))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(encode(nil, one))
		if err != nil || !reflect.DeepEqual(encode(nil, one), encode(nil, again)) {
			t.Errorf("%v\n%+v\n%+v", err, one, again)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := encode(nil, every(b)[0])
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
