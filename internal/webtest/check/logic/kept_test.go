package logic

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// A basket that adds up what is ordered is found by its sum, where it takes less than nothing or a price that is sent;
// not one that refuses them, one that ends at nothing, nor one that only counts.
func TestKept(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		add   func(sum, price, n int) (int, bool)
		shows string
		want  string
	}{
		"below zero": {"article=7&pieces=1", func(sum, _, n int) (int, bool) { return sum + 1250*n, true },
			"<tr><td>To pay</td><td>€ %s</td></tr>", "[pieces]"},
		"fee per order": {"article=7&pieces=1", func(sum, _, n int) (int, bool) { return sum + 200 + 700*n, true },
			`<script>var cart = {"sum": %s}</script>`, "[pieces]"},
		"price": {"article=7&pieces=1&unit_price=40",
			func(sum, p, n int) (int, bool) { return sum + 100*p*n, n > 0 },
			"<p>Sum: <b>%s</b></p>", "[unit_price]"},
		"own price": {"article=7&pieces=1&unit_price=40",
			func(sum, _, n int) (int, bool) { return sum + 4000*n, n > 0 },
			"<p>Sum: <b>%s</b></p>", "[]"},
		"refused": {"article=7&pieces=1", func(sum, _, n int) (int, bool) { return sum + 1250*n, n > 0 },
			"<p>Sum: %s</p>", "[]"},
		"takes away what is there": {"article=7&pieces=1",
			func(sum, _, n int) (int, bool) { return max(0, sum+1250*n), true }, "<p>Sum: %s</p>", "[]"},
		"counts": {"article=7&pieces=1", func(sum, _, _ int) (int, bool) { return sum + 100, true },
			"<p>Orders: %s</p>", "[]"},
	} {
		var mu sync.Mutex
		sum := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, c.shows, fmt.Sprintf("%.2f", float64(sum)/100))
				return
			}
			n, err := strconv.Atoi(r.PostFormValue("pieces"))
			price, _ := strconv.Atoi(r.PostFormValue("unit_price"))
			after, ok := c.add(sum, price, n)
			if err != nil || !ok {
				http.Error(w, "not so", http.StatusBadRequest)
				return
			}
			sum = after
			http.Redirect(w, r, "/basket", http.StatusSeeOther)
		}))
		lab.Target(t, http.MethodPost, "/add", c.body) // something is in the basket
		found := lab.Run(t, kittest.Named(t, Checks(), "price-of-client"), lab.Target(t, http.MethodPost, "/add", c.body))
		got := []string{}
		for _, f := range found {
			got = append(got, f.Place.Name)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: found %v, want %s", name, got, c.want)
		}
	}
}
