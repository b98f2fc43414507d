package textsearch

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// A search that is looked after finds what package regexp finds.
func TestFindAllAsPackageRegexp(t *testing.T) {
	text := []byte(strings.Repeat("foo bar\nfoofoo xx é\xff z ", 8000))
	for _, source := range []string{
		`\bfoo\b|q{0,900}Q`, `^foo|q{0,900}Q`, `(?m)^(foo)(x)?|q{0,900}Q`, `x*|q{0,900}Q`, `(?i)(BAR)\n|q{0,900}Q`,
		`(z) ?$|q{0,900}Q`, `é(.)|q{0,900}Q`, `\Bo|q{0,900}Q`,
	} {
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if p.direct(text) {
			t.Fatalf("%s: the text is too short for this test", source)
		}
		got, err := p.FindAll(t.Context(), text, 50)
		if want := p.Regexp().FindAllSubmatchIndex(text, 50); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %v\nwant %v", source, err, got, want)
		}
		if found, err := p.Search(t.Context(), text); err != nil || !found {
			t.Errorf("%s: %v, %v", source, found, err)
		}
	}
}

func TestSearchesEnd(t *testing.T) {
	p, err := Compile(`(a{0,900}a{0,900}){1}[^a]`)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("a", 16<<20))
	if _, err := p.Search(t.Context(), text); !errors.Is(err, ErrSlow) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.FindAll(ctx, text, 5); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Compile(strings.Repeat("[a-z]{1000}", 100)); err == nil {
		t.Error("an expression of 100,000 instructions is compiled")
	}
}
