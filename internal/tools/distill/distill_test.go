package distill

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestConditionsThatHoldAreMadeNotTo(t *testing.T) {
	for target, want := range map[string]string{
		"/item?id=1%20AND%204711%3D4711":          "/item?id=1%20AND%204711%3D0",
		"/item?id=1+AND+4711=4711&n=2":            "/item?id=1+AND+4711=0&n=2",
		"/item?id=1%27+AND+12%3d12+AND+%27v%27=v": "/item?id=1%27+AND+12%3d0+AND+%27v%27=v",
		"/item?id=1&n=11":                         "",
		"/item?a=4711%3D47112":                    "",
		"/item":                                   "",
	} {
		if got, ok := falsified(target); got != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", target, got, ok)
		}
	}
}

func TestPathsBesideOthers(t *testing.T) {
	for target, like := range map[string][2]string{
		"/": {"/", ""}, "/admin": {"/", ""}, "/a/b/": {"/a/", ""}, "/a/b.php?x=1": {"/a/", ".php?x=1"},
		"/{{$TOKEN}}/x": {"/{{$TOKEN}}/", ""},
	} {
		got := siblingOf(target)
		if !strings.HasPrefix(got, like[0]) || !strings.HasSuffix(got, like[1]) || len(got) != len(like[0])+16+len(like[1]) ||
			got == siblingOf(target) {
			t.Errorf("%s: %s", target, got)
		}
	}
}

// TestMatchersOfAProof holds that a template asks for what the proof says, where it stood
// in the answer, and for a title where the proof says only what is not there.
func TestMatchersOfAProof(t *testing.T) {
	const answer = "HTTP/1.1 503 Service Unavailable\r\nX-Debug: On\r\n\r\n<html><title>Broken</title>DB_PASSWORD={{x}}"
	literal := func(text string) string { return "~" + text }
	both := matchers(task.Proof{Contains: []string{"x-debug: on", "DB_PASSWORD"}, Absent: []string{"Denied"}}, answer,
		literal)
	if len(both) != 4 || both[0].Status[0] != 503 || both[1].Part != "header" || !both[1].CaseInsensitive ||
		both[2].Part != "body" || both[2].Words[0] != "~DB_PASSWORD" || !both[3].Negative {
		t.Errorf("%+v", both)
	}
	if only := matchers(task.Proof{Absent: []string{"Denied"}}, answer, literal); len(only) != 3 ||
		only[1].Words[0] != "~<title>Broken" {
		t.Errorf("%+v", only)
	}
	if title := titleOf("<title>3 new</title>"); title != "" {
		t.Errorf("a title that may change is kept: %s", title)
	}
	matched := matched(syntax.Operators{Matchers: []syntax.Matcher{{Name: "a", Type: "word"}, {Name: "b", Type: "regex"},
		{Name: "b", Internal: true}}}, "b")
	if len(matched.Matchers) != 1 || matched.Matchers[0].Type != "regex" || matched.Matchers[0].Name != "" {
		t.Errorf("%+v", matched)
	}
}
