package apps

import (
	"html"
	"net/http"
	"strings"
	"sync"
)

func desk() App {
	return App{
		Name: "desk", About: "a help desk whose pages forget to escape in three different places", handler: newDesk,
		Weaknesses: []Weakness{
			{"desk-xss-attribute", "79", "/tickets", "status", "Reflected cross-site scripting in an attribute",
				`xss|cross.site.script|html injection|reflect`},
			{"desk-xss-script", "79", "/board", "tab", "Reflected cross-site scripting in a script",
				`xss|cross.site.script|injection|reflect`},
			{"desk-xss-not-found", "79", "/help/*", "",
				"Reflected cross-site scripting by the path, on the page for what is not there",
				`xss|cross.site.script|html injection|reflect`},
			{"desk-csrf", "352", "/settings", "", "Settings are changed by a request from anywhere",
				`csrf|cross.site request`},
			{"desk-cookie", "1004 1275 614", "/settings", "", "The session cookie has no HttpOnly and no SameSite",
				`cookie`},
			{"desk-login-over-get", "598 200 319", "/login", "", "The password is sent in the address",
				`password|credential|query|get (request|method|form)`},
		},
	}
}

func newDesk() http.Handler {
	var mu sync.Mutex
	mail := "mia@desk.example"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Help desk", `<h1>Help desk</h1><p><a href="/tickets?status=open">Open tickets</a> <a href="/board?tab=new">Board</a> <a href="/help/first-steps">First steps</a> <a href="/settings">Settings</a> <a href="/login">Log in</a></p>`))
	mux.HandleFunc("GET /tickets", func(w http.ResponseWriter, r *http.Request) {
		status := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(r.FormValue("status"))
		page(w, "Tickets", `<h1>Tickets</h1><form action="/tickets"><input name="status" value="`+status+`"></form><p>None.</p>`)
	})
	mux.HandleFunc("GET /board", func(w http.ResponseWriter, r *http.Request) {
		tab := strings.NewReplacer("<", `\u003c`, "\n", " ", "\r", " ").Replace(r.FormValue("tab"))
		page(w, "Board", `<h1>Board</h1><script>var tab = "`+tab+`"; document.title = "Board";</script>`)
	})
	mux.HandleFunc("GET /help/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/help/first-steps" {
			page(w, "First steps", "<h1>First steps</h1><p>Write a ticket.</p>")
			return
		}
		errorPage(w, http.StatusNotFound, "Not found", "<h1>Nothing about "+strings.TrimPrefix(r.URL.Path, "/help/")+"</h1>")
	})
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Set-Cookie", "session=9b1f0c7e2a5d4836; Path=/")
		page(w, "Settings", `<h1>Settings</h1><p>Mail: `+html.EscapeString(mail)+`</p><form method="post" action="/settings"><input name="mail"><button>Change</button></form>`)
	})
	mux.HandleFunc("POST /settings", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("session"); err != nil {
			errorPage(w, http.StatusForbidden, "Settings", "<h1>Log in first</h1>")
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if given := r.FormValue("mail"); len(given) < 200 {
			mail = given
		}
		http.Redirect(w, r, "/settings", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /login", view("Log in", `<h1>Log in</h1><form action="/welcome"><input name="user"><input name="password" type="password"><button>Log in</button></form>`))
	return guarded(mux)
}
