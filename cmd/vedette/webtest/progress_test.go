package webtest

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/webtest"
)

// Without a terminal each stage has a line, and a long one has a line each minute.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	show := progress(cli.NewBar(&out), &out, func() time.Time { return now })
	for _, p := range []struct {
		after time.Duration
		webtest.Progress
	}{{0, webtest.Progress{Stage: "map", Requests: 1}}, {time.Second, webtest.Progress{Stage: "test", Total: 40, Requests: 9}},
		{59 * time.Second, webtest.Progress{Stage: "test", Done: 3, Total: 40, Requests: 90}},
		{2 * time.Second, webtest.Progress{Stage: "test", Done: 4, Total: 40, Requests: 95, Findings: 1}}} {
		now = now.Add(p.after)
		show(p.Progress)
	}
	want := "mapping: 1 requests so far, 0 findings\ntesting: 9 requests so far, 0 findings\n" +
		"testing: 4 of 40 done, 95 requests so far, 1 finding\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
