package webtest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// TestOneReader has the likeliest reader of a value asked first, and the others no more once it is found; what is no
// reader is asked all the same.
func TestOneReader(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	reader := func(class string, found bool) kit.Check {
		return kit.Check{ID: class, Class: class, Level: client.Safe,
			Place: func(_ context.Context, w *kit.World, t *kit.Target, p message.Place) error {
				if p.Component != message.Query {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, p.Name+" "+class)
				if found {
					w.Report(kit.Finding{Check: class, Class: class, Title: class, Request: t.Request, Place: p})
				}
				return nil
			}}
	}
	for name, c := range map[string]struct {
		finds []string
		want  []string
	}{
		"likely first":     {[]string{"sql-injection", "path-traversal"}, []string{"file path-traversal", "file xss", "id sql-injection", "id xss"}},
		"nothing is found": {nil, []string{"file code-injection", "file path-traversal", "file sql-injection", "file xss", "id code-injection", "id path-traversal", "id sql-injection", "id xss"}},
	} {
		ran = nil
		var checks []kit.Check
		for _, class := range []string{"code-injection", "path-traversal", "sql-injection", "xss"} {
			checks = append(checks, reader(class, slices.Contains(c.finds, class)))
		}
		cfg := serve(t, webtest.Config{Targets: 1, Checks: checks}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/" {
				fmt.Fprint(w, `<a href="/a.php?id=1&file=x">a</a>`)
			}
		})
		if _, err := webtest.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		ran = slices.DeleteFunc(ran, func(s string) bool { return s[:3] != "id " && s[:5] != "file " })
		slices.Sort(ran)
		ran = slices.Compact(ran)
		if !slices.Equal(ran, c.want) {
			t.Errorf("%s: %q", name, ran)
		}
	}
}
