package apps

import (
	"fmt"
	"html"
	"net/http"
	"time"
)

func backoffice() App {
	return App{
		Name: "backoffice", About: "the administration of a web shop, on a Java framework", handler: newBackoffice,
		Weaknesses: []Weakness{
			{"backoffice-default-login", "1392 521 798 1393", "/login", "", "The default password works",
				`default (cred|pass|login)|weak pass|admin.?admin`},
			{"backoffice-export", "306 425 862 284 200", "/admin/export.csv", "",
				"The customers can be exported without a login", `export|unauth|without (a )?(log|auth)|csv|exposed`},
			{"backoffice-actuator", "215 200 497", "/actuator", "",
				"The index of the management endpoints is public, with a heap dump",
				`actuator|heap ?dump|management endpoint`},
			{"backoffice-environment", "215 200 497", "/actuator/env", "",
				"The environment of the application is public", `actuator|environment`},
			{"backoffice-stack-trace", "209", "/report", "month", "An error shows the inside of the application",
				`stack ?trace|verbose|error|exception`},
			{"backoffice-cookie", "1004 1275 614", "/login", "", "The session cookie has no HttpOnly", `cookie`},
			{"backoffice-robots", "200", "/robots.txt", "", "robots.txt names the administration", `robots`},
			plainPassword("backoffice", "/login"),
		},
	}
}

func newBackoffice() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Sales", `<h1>Sales</h1><p><a href="/login">Log in</a></p><p><a href="/report?month=2026-10">October</a></p>`))
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "JSESSIONID=5A8E21C0D3F94B7E; Path=/; SameSite=Lax")
		page(w, "Log in", "<h1>Log in</h1>"+loginForm)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") == "admin" && r.FormValue("password") == "admin" {
			page(w, "Sales", "<h1>Welcome, admin</h1>")
			return
		}
		errorPage(w, http.StatusUnauthorized, "Log in", "<h1>That was not right</h1>"+loginForm)
	})
	mux.HandleFunc("GET /admin/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
	mux.HandleFunc("GET /admin/export.csv", text("text/csv", "id,name,mail\n1,Made-up Mia,mia@customers.example\n"))
	mux.HandleFunc("GET /report", report)
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /admin/\n"))
	mux.HandleFunc("GET /actuator", func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + html.EscapeString(r.Host) + "/actuator"
		send(w, "application/vnd.spring-boot.actuator.v3+json", `{"_links":{"self":{"href":"`+base+`","templated":false},"env":{"href":"`+base+`/env","templated":false},"heapdump":{"href":"`+base+`/heapdump","templated":false}}}`)
	})
	mux.HandleFunc("GET /actuator/env", text("application/vnd.spring-boot.actuator.v3+json", `{"activeProfiles":["prod"],"propertySources":[{"name":"systemEnvironment","properties":{"DB_PASSWORD":{"value":"******"}}}]}`))
	return guarded(mux)
}

func report(w http.ResponseWriter, r *http.Request) {
	month := r.FormValue("month")
	if _, err := time.Parse("2006-01", month); err != nil {
		answer(w, http.StatusInternalServerError, "text/plain; charset=utf-8", fmt.Sprintf(`java.time.format.DateTimeParseException: Text '%s' could not be parsed at index 0
	at java.base/java.time.format.DateTimeFormatter.parseResolved0(DateTimeFormatter.java:2052)
	at java.base/java.time.YearMonth.parse(YearMonth.java:295)
	at example.sales.ReportController.month(ReportController.java:41)
`, month))
		return
	}
	page(w, "Report", "<h1>Report for "+html.EscapeString(month)+"</h1><p>12 orders.</p>")
}
