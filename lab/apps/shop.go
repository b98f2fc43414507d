package apps

import (
	"context"
	"database/sql"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver of the shop's database
)

func shop() App {
	return App{
		Name: "shop", About: "a shop with a search over a real SQL database", handler: newShop,
		Weaknesses: []Weakness{
			{"shop-sqli-search", "89 209", "/search", "q", "SQL injection in the search, told by its errors", `sql`},
			{"shop-sqli-item", "89", "/item", "id", "Blind SQL injection in the number of a product", `sql`},
			{"shop-xss-search", "79", "/search", "q", "Reflected cross-site scripting in the search",
				`xss|cross.site.script|html injection|reflect`},
			{"shop-price", "472 840 602 20", "/cart", "price", "The price is taken from the buyer's form",
				`price|quantity|business|tamper`},
			{"shop-cookie", "1004 1275 614", "", "", "The session cookie has no HttpOnly and no SameSite", `cookie`},
			noHeaders("shop"),
		},
	}
}

type store struct{ db *sql.DB }

func newShop() http.Handler {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic("apps: " + err.Error()) // the name of the driver is a constant
	}
	db.SetMaxOpenConns(1) // each connection would have its own in-memory database
	for _, statement := range []string{
		"CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, price REAL)",
		"INSERT INTO products (name, price) VALUES ('Two-person tent', 189), ('Camping stove', 39.5), ('Head torch', 24), ('Rain jacket', 99)",
		"CREATE TABLE staff (name TEXT, phone TEXT)",
		"INSERT INTO staff VALUES ('Made-up Mia', '+00 0000')",
		"PRAGMA query_only = 1",
	} {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			panic("apps: " + err.Error()) // the statements are constants
		}
	}
	s := store{db}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Fjord Outfitters", `<h1>Fjord Outfitters</h1>
<form action="/search"><input name="q" placeholder="tent"><button>Search</button></form>
<ul><li><a href="/item?id=1">Two-person tent</a></li><li><a href="/item?id=3">Head torch</a></li></ul>
<p><a href="/cart">Your cart</a></p>`))
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /item", s.item)
	mux.HandleFunc("GET /cart", view("Cart", `<h1>Cart</h1><form method="post" action="/cart"><input type="hidden" name="item" value="1"><input type="hidden" name="price" value="189"><button>Order a tent</button></form>`))
	mux.HandleFunc("POST /cart", order)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("sid"); err != nil {
			w.Header().Set("Set-Cookie", "sid=f1c2a9d07be4435a; Path=/")
		}
		mux.ServeHTTP(w, r)
	})
}

func (s store) search(w http.ResponseWriter, r *http.Request) {
	q := r.FormValue("q")
	rows, err := s.db.QueryContext(r.Context(), "SELECT id, name FROM products WHERE name LIKE '%"+q+"%' ORDER BY id LIMIT 20") //nolint:gosec // this is the weakness
	if err != nil {
		errorPage(w, http.StatusInternalServerError, "Error", "<h1>Something went wrong</h1><pre>"+html.EscapeString(err.Error())+"</pre>")
		return
	}
	defer rows.Close()
	var list strings.Builder
	for rows.Next() {
		var id int
		var name string
		if rows.Scan(&id, &name) == nil {
			fmt.Fprintf(&list, `<li><a href="/item?id=%d">%s</a></li>`, id, html.EscapeString(name))
		}
	}
	if rows.Err() != nil {
		list.WriteString("<li>The list is not complete.</li>")
	}
	page(w, "Search", "<h1>Results for "+q+"</h1><ul>"+list.String()+"</ul>")
}

// item answers database errors like missing items, so that the injection is blind.
func (s store) item(w http.ResponseWriter, r *http.Request) {
	var name string
	var price float64
	err := s.db.QueryRowContext(r.Context(), "SELECT name, price FROM products WHERE id = "+r.FormValue("id")).Scan(&name, &price) //nolint:gosec // this is the weakness
	if err != nil {
		errorPage(w, http.StatusNotFound, "Not found", "<h1>We do not have that</h1>")
		return
	}
	page(w, name, fmt.Sprintf("<h1>%s</h1><p>%.2f</p>", html.EscapeString(name), price))
}

func order(w http.ResponseWriter, r *http.Request) {
	price, err := strconv.ParseFloat(r.FormValue("price"), 64)
	if err != nil {
		errorPage(w, http.StatusBadRequest, "Cart", "<h1>There is no price</h1>")
		return
	}
	page(w, "Cart", fmt.Sprintf("<h1>Thank you</h1><p>You pay %.2f.</p>", price))
}
