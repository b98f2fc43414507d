package logic

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A code that counts each time is found, though a page counts its visits; not one that works once, nor one that anything
// is.
func TestCodeUsedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		takes   func(code string, used int) bool
		refuses bool // a code that is not taken, with an error
		want    int
	}{
		"again":          {func(code string, _ int) bool { return code == "SPRING20" }, false, 1},
		"again, refused": {func(code string, _ int) bool { return code == "SPRING20" }, true, 1},
		"once":           {func(code string, used int) bool { return code == "SPRING20" && used == 0 }, false, 0},
		"anything":       {func(string, int) bool { return true }, false, 0},
		"counts":         {func(code string, used int) bool { return code == "SPRING20" && used < 0 }, true, 0},
	} {
		var mu sync.Mutex
		used, visits := 0, 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodPost {
				if c.takes(r.FormValue("promo_code"), used) {
					used++
				} else if c.refuses && r.FormValue("promo_code") != "SPRING20" {
					http.Error(w, "no such code", http.StatusBadRequest)
					return
				}
				http.Redirect(w, r, "/cart", http.StatusSeeOther)
				return
			}
			visits++
			for range visits % 3 { // lines that come and go
				fmt.Fprint(w, "<p>1 of article 4 at 3</p>")
			}
			fmt.Fprintf(w, "<p>Visit %d</p><p>Off: %d</p><p>Today: SPRING20</p>", visits, 20*used)
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request {
			r, _ := message.New(http.MethodGet, lab.URL+"/cart")
			return []*message.Request{r}
		}
		target := lab.Target(t, http.MethodPost, "/redeem", "promo_code=test")
		target.User = lab.World.Users[0]
		if found := lab.Run(t, kittest.Named(t, Checks(), "code-used-twice"), target); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
