package logic

import (
	"fmt"
	"net/http"
	"strings"
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

// A code that counts once counts again in other letters, where the application compares them as they are; also for
// visitors without a login, in the answer itself. One that is kept in one spelling does not, nor is anything a code.
func TestCodeInOtherLetters(t *testing.T) {
	asIs := func(code string) string { return code }
	for name, c := range map[string]struct {
		kept    func(code string) string
		isTaken func(code string) bool
		leads   bool
		field   string
		want    int
	}{
		"as it is":               {asIs, func(code string) bool { return code == "BALCONY10" }, false, "gutschein", 1},
		"as it is, on a page":    {asIs, func(code string) bool { return code == "BALCONY10" }, true, "voucher", 1},
		"in one spelling":        {strings.ToUpper, func(code string) bool { return code == "BALCONY10" }, false, "gutschein", 0},
		"in one spelling, again": {strings.ToUpper, func(code string) bool { return code == "BALCONY10" }, true, "voucher", 0},
		"any word is one":        {asIs, func(string) bool { return true }, false, "voucher", 0},
	} {
		var mu sync.Mutex
		used := map[string]map[string]bool{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			visit := fmt.Sprint(len(used) + 1)
			if k, err := r.Cookie("visit"); err == nil {
				visit = k.Value
			} else {
				http.SetCookie(w, &http.Cookie{Name: "visit", Value: visit, Path: "/"})
			}
			if used[visit] == nil {
				used[visit] = map[string]bool{}
			}
			w.Header().Set("Content-Type", "text/html")
			said := ""
			if code := r.FormValue(c.field); code != "" {
				said = "There is no such code."
				if c.isTaken(strings.ToUpper(code)) {
					said = "Already used."
					if !used[visit][c.kept(code)] {
						used[visit][c.kept(code)], said = true, "Taken."
					}
				}
				if c.leads {
					http.Redirect(w, r, "/", http.StatusSeeOther)
					return
				}
			}
			fmt.Fprintf(w, "<p>%s</p><p>To pay: %d francs</p><p>In May: BALCONY10</p>", said, 98-10*len(used[visit]))
		}))
		lab.World.Pages = func() []*message.Request {
			r, _ := message.New(http.MethodGet, lab.URL+"/")
			return []*message.Request{r}
		}
		target := lab.Target(t, http.MethodPost, "/", c.field+"=test")
		found := lab.Run(t, kittest.Named(t, Checks(), "code-used-twice"), target)
		if len(found) != c.want || c.want > 0 && found[0].Payload != "balcony10" {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
