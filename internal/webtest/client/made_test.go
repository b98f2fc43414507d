package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// A page that makes something each time it is opened is opened no more at level safe, once that is seen.
func TestPagesThatMakeSomething(t *testing.T) {
	for name, c := range map[string]struct {
		path, page string // of the page; %d is a number that grows
		level      client.Level
		opened     int64 // of five times
	}{
		"a draft":               {"/post-new.php", `<input type=hidden name=auto_draft value=1><input type='hidden' name='post_ID' value='%d'>`, client.Safe, 1},
		"a number that grows":   {"/tickets/new", `<form><input type="hidden" name="ticket_id" value="%d">`, client.Safe, 2},
		"a front controller":    {"/index.php?page=item-create", `<input value="%d" name="id" type="hidden">`, client.Safe, 2},
		"level active":          {"/tickets/new", `<input type="hidden" name="ticket_id" value="%d">`, client.Active, 5},
		"a page of old things":  {"/tickets/list", `<input type="hidden" name="ticket_id" value="%d">`, client.Safe, 5},
		"a number that stays":   {"/tickets/new", `<input type="hidden" name="project_id" value="7"><p>%d`, client.Safe, 5},
		"a number that is seen": {"/tickets/new", `<input type="text" name="ticket_id" value="%d">`, client.Safe, 5},
		"no draft yet":          {"/posts/new", `<input type="hidden" name="draft" value=""><input type=hidden name=x value=%d>`, client.Safe, 5},
	} {
		var count atomic.Int64
		sender, at := open(t, client.Config{Level: c.level}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, c.page, count.Add(1))
		})
		for range 5 {
			if _, err := sender.Send(t.Context(), get(t, at+c.path), client.Options{}); err != nil && !errors.Is(err, client.ErrScope) {
				t.Fatal(err)
			}
		}
		if count.Load() != c.opened {
			t.Errorf("%s: opened %d times, want %d", name, count.Load(), c.opened)
		}
	}
}
