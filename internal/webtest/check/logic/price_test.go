package logic

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// A total that follows the price that is sent is found, and so is one below zero; an application that shows what it is
// sent, and takes neither, is sound.
func TestPrices(t *testing.T) {
	for name, c := range map[string]struct {
		total func(price, quantity int) (string, bool)
		body  string
		want  []string
	}{
		"both": {func(p, n int) (string, bool) { return fmt.Sprintf("Total: %d EUR", p*n), true }, "item=2&price=80&qty=1", []string{"qty", "price"}},
		"price alone": {func(p, n int) (string, bool) { return fmt.Sprintf("Total: %d.00 EUR", p*n), n > 0 }, "item=2&price=80&qty=1",
			[]string{"price"}},
		"quantity alone": {func(_, n int) (string, bool) { return fmt.Sprintf("You pay: %d", 80*n), true }, "item=2&quantity=1", []string{"quantity"}},
		"sound":          {func(p, n int) (string, bool) { return fmt.Sprintf("%d pieces at %d: %d EUR", n, p, 80*n), n > 0 }, "item=2&price=80&qty=1", nil},
		"says what it refuses": {func(_, n int) (string, bool) { return fmt.Sprintf("%d pieces: %d EUR", n, 80*max(n, 1)), true },
			"item=2&price=80&qty=1", nil},
		"no quantity": {func(p, _ int) (string, bool) { return fmt.Sprintf("Total: %d", p), true }, "item=2&price=80", nil},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, _ := strconv.Atoi(r.PostFormValue("price"))
			n, _ := strconv.Atoi(r.PostFormValue("qty") + r.PostFormValue("quantity"))
			text, ok := c.total(p, n)
			if !ok {
				http.Error(w, "this quantity cannot be ordered", http.StatusBadRequest)
				return
			}
			fmt.Fprintf(w, "<p>%s</p>", text)
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "price-of-client"), lab.Target(t, http.MethodPost, "/cart", c.body))
		var got []string
		for _, f := range found {
			got = append(got, f.Place.Name)
			lab.Holds(t, f)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}

// The basket of a visitor without a login is kept for them by a cookie, and its page has the total.
func TestBasketsOfVisitors(t *testing.T) {
	for name, c := range map[string]struct {
		field   string
		replace bool // an order of an article takes the place of the last one
		least   int
		want    int
	}{
		"the last order counts":  {"quantidade", true, -50, 1},
		"all orders count":       {"anzahl", false, -500, 1},
		"one at least":           {"cantidad", true, 1, 0},
		"one at least, of a sum": {"menge", false, 1, 0},
	} {
		var mu sync.Mutex
		baskets := map[string]int{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			visit := strconv.Itoa(len(baskets) + 1)
			if k, err := r.Cookie("visit"); err == nil {
				visit = k.Value
			} else {
				http.SetCookie(w, &http.Cookie{Name: "visit", Value: visit, Path: "/"})
				baskets[visit] = 0
			}
			if r.Method == http.MethodPost {
				n, _ := strconv.Atoi(r.PostFormValue(c.field))
				if n < c.least || n == 0 {
					http.Error(w, "this quantity cannot be ordered", http.StatusBadRequest)
					return
				}
				if c.replace {
					baskets[visit] = 0
				}
				baskets[visit] += n
				http.Redirect(w, r, "/basket", http.StatusSeeOther)
				return
			}
			fmt.Fprintf(w, "<table><tr><td>brie<td>%d pieces</table><p>Total : %d &euro;</p>", baskets[visit], 9*baskets[visit])
		}))
		target := lab.Target(t, http.MethodPost, "/basket", "article=brie&"+c.field+"=1")
		if found := lab.Run(t, kittest.Named(t, Checks(), "price-of-client"), target); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
