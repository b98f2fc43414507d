package logic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The price that a script takes from a list is found where the order's sum follows it, whatever the article is called;
// not where the application has prices of its own, nor where the answer only says what was sent.
func TestPricesOfScripts(t *testing.T) {
	type line struct {
		Product   any
		UnitPrice float64
		Count     int
	}
	const flat, nested = `{"count":1,"product":"test","unitPrice":"1"}`, `{"customer":"a","lines":[{"articleId":"1","price":1,"quantity":1}]}`
	const list, shelves = `[{"id":"single","price":2.8},{"id":"month","price":59}]`,
		`{"shelves":[{"title":"tea","articles":[{"name":"Assam","id":17,"price":12.5}]}]}`
	own := map[string]float64{"single": 2.8, "month": 59, "17": 12.5}
	for name, c := range map[string]struct {
		list, body string
		answer     func(line) any
		want       int
	}{
		"a list": {list, flat, func(l line) any { return map[string]any{"total": float64(l.Count) * l.UnitPrice} }, 1},
		"shelves": {shelves, nested, func(l line) any {
			return map[string]any{"sum": fmt.Sprintf("%.2f EUR", float64(l.Count)*l.UnitPrice)}
		}, 1},
		"prices of its own": {list, flat, func(l line) any {
			return map[string]any{"unitPrice": l.UnitPrice, "total": float64(l.Count) * own[fmt.Sprint(l.Product)]}
		}, 0},
		"says what was sent": {list, flat, func(l line) any { return l }, 0},
		"no list":            {`[]`, flat, func(l line) any { return map[string]any{"total": float64(l.Count) * l.UnitPrice} }, 0},
		"another price is refused": {list, flat, func(l line) any {
			if l.UnitPrice != own[fmt.Sprint(l.Product)] {
				return nil
			}
			return map[string]any{"total": float64(l.Count) * l.UnitPrice}
		}, 0},
		"no quantity": {list, `{"product":"test","unitPrice":"1"}`, func(l line) any { return map[string]any{"total": l.UnitPrice} }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				fmt.Fprint(w, c.list)
				return
			}
			var in struct {
				line

				Lines []struct {
					ArticleID any
					Price     float64
					Quantity  int
				}
			}
			err := json.NewDecoder(r.Body).Decode(&in)
			if err == nil && len(in.Lines) > 0 {
				in.line = line{in.Lines[0].ArticleID, in.Lines[0].Price, in.Lines[0].Quantity}
			}
			var out any
			if _, known := own[fmt.Sprint(in.Product)]; err == nil && known {
				out = c.answer(in.line)
			}
			if out == nil {
				http.Error(w, `{"error":"product, unitPrice, count"}`, http.StatusUnprocessableEntity)
				return
			}
			_ = json.NewEncoder(w).Encode(out)
		}))
		lab.World.Pages = func() []*message.Request {
			r, _ := message.New(http.MethodGet, lab.URL+"/api/articles")
			return []*message.Request{r}
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "price-of-script"), lab.Target(t, http.MethodPost, "/api/orders", c.body))
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
