package logic

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A card that several requests at once use is found, by the name of its field, and by that and its address where pages
// name it; not one that a lock holds, nor one that is answered so each time.
func TestRace(t *testing.T) {
	for name, c := range map[string]struct{ locks, always, named, want int }{"race": {0, 0, 0, 1}, "named": {0, 0, 1, 1},
		"locked": {1, 0, 0, 0}, "locked, named": {1, 0, 1, 0}, "always": {0, 1, 0, 0}} {
		field, path := "gift_card", "/use"
		if c.named == 1 {
			field, path = "card", "/redeem"
		}
		var mu sync.Mutex
		unused := map[string]bool{"CARD-A1": true, "CARD-B2": true, "CARD-C3": true}
		waiting := map[string]chan bool{"CARD-A1": make(chan bool, 9), "CARD-B2": make(chan bool, 9), "CARD-C3": make(chan bool,
			9)}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			code := r.FormValue(field)
			mu.Lock()
			if r.Method == http.MethodGet {
				for one := range unused {
					if c.named == 1 {
						fmt.Fprintf(w, "<p>You have %s.</p>", one)
						continue
					}
					fmt.Fprintf(w, `<input type="hidden" name="gift_card" value="%s">`, one)
				}
				mu.Unlock()
				return
			}
			ok := unused[code] || c.always == 1
			if c.locks == 1 {
				delete(unused, code)
			}
			mu.Unlock()
			if ok && c.locks == 0 && c.always == 0 { // until another has looked
				waiting[code] <- true
				for len(waiting[code]) < 2 && r.Context().Err() == nil {
					runtime.Gosched()
				}
			}
			mu.Lock()
			delete(unused, code)
			mu.Unlock()
			if !ok {
				http.Error(w, "this card cannot be used", http.StatusConflict)
				return
			}
			fmt.Fprint(w, "<p>Ten more.</p>")
		}))
		target := lab.Target(t, http.MethodPost, path, field+"=none")
		target.From = lab.URL + "/cards"
		lab.World.Pages = func() []*message.Request {
			r, _ := message.New(http.MethodGet, lab.URL+"/cards")
			return []*message.Request{r}
		}
		if found := lab.Run(t, kittest.Named(t, Checks(), "race-of-codes"), target); len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// A sum of 32 bits that overflows is found, behind a redirect too; not a quantity that is refused, nor a sum that is
// right.
func TestOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		sum  func(n int) (int, bool)
		want int
	}{"overflows": {func(n int) (int, bool) { return int(int32(25 * n)), n > 0 }, 1},
		"refused": {func(n int) (int, bool) { return 25 * n, n > 0 && n < 100 }, 0},
		"right":   {func(n int) (int, bool) { return 25 * n, n > 0 }, 0}} {
		sum := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, "<p>Sum: %d</p>", sum)
				return
			}
			n := 0
			_, _ = fmt.Sscan(r.FormValue("pieces"), &n)
			s, ok := c.sum(n)
			if !ok {
				http.Error(w, "not so many", http.StatusBadRequest)
				return
			}
			sum = s
			http.Redirect(w, r, "/basket", http.StatusSeeOther)
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "price-of-client"), lab.Target(t, http.MethodPost, "/order",
			"article=7&pieces=1"))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
