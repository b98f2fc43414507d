package main

import (
	"strings"
	"testing"
)

func TestSteady(t *testing.T) {
	one := steady("low       B\n          http://127.0.0.1:41397/b\nhigh      A\n          http://127.0.0.1:41397/a\n\n2 verified findings in 0.2 s.\n")
	two := steady("high      A\n          http://127.0.0.1:1/a\nlow       B\n          http://127.0.0.1:1/b\n\n2 verified findings in 1.9 s.\n")
	if one != two {
		t.Errorf("two runs differ:\n%s\n%s", one, two)
	}
	if first, _, _ := strings.Cut(one, "\n"); !strings.HasPrefix(first, "high      A ") || !strings.HasSuffix(first, "https://shop.example/a") {
		t.Errorf("the first line is %q", first)
	}
}

func TestDraw(t *testing.T) {
	svg := draw("high      <script>&\nplain\n")
	for _, want := range []string{`<tspan fill="#ff9f43">high</tspan>`, "&lt;script&gt;&amp;", ">plain</text>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
	long := draw(strings.Repeat("word ", 30) + strings.Repeat("x", 130))
	if !strings.Contains(long, ">"+strings.Repeat("word ", 23)+"word</text>") || strings.Count(long, "<text") != 3 {
		t.Error("lines are not broken:", long)
	}
	if strings.Contains(svg, "<script>") {
		t.Error("text is not encoded")
	}
}
