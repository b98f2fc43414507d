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
			{ID: "backoffice-default-login", CWE: "CWE-1392", Also: []string{"CWE-521", "CWE-798", "CWE-1393"}, Path: "/login", Title: "The default password works", Words: `default (cred|pass|login)|weak pass|admin.?admin`},
			{ID: "backoffice-export", CWE: "CWE-306", Also: []string{"CWE-425", "CWE-862", "CWE-284", "CWE-200"}, Path: "/admin/export.csv", Title: "The customers can be exported without a login", Words: `export|unauth|without (a )?(log|auth)|csv|exposed`},
			{ID: "backoffice-actuator", CWE: "CWE-215", Also: []string{"CWE-200", "CWE-497"}, Path: "/actuator", Title: "The index of the management endpoints is public, with a heap dump", Words: `actuator|heap ?dump|management endpoint`},
			{ID: "backoffice-environment", CWE: "CWE-215", Also: []string{"CWE-200", "CWE-497"}, Path: "/actuator/env", Title: "The environment of the application is public", Words: `actuator|environment`},
			{ID: "backoffice-stack-trace", CWE: "CWE-209", Path: "/report", Param: "month", Title: "An error shows the inside of the application", Words: `stack ?trace|verbose|error|exception`},
			{ID: "backoffice-cookie", CWE: "CWE-1004", Also: []string{"CWE-1275", "CWE-614"}, Path: "/login", Title: "The session cookie has no HttpOnly", Words: `cookie`},
			{ID: "backoffice-robots", CWE: "CWE-200", Path: "/robots.txt", Title: "robots.txt names the administration", Words: `robots`},
			plainPassword("backoffice", "/login"),
		},
	}
}

func newBackoffice() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Sales", `<h1>Sales</h1><p><a href="/login">Log in</a></p><p><a href="/report?month=2026-10">October</a></p>`))
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "JSESSIONID=5A8E21C0D3F94B7E; Path=/; SameSite=Lax")
		page(w, http.StatusOK, "Log in", "<h1>Log in</h1>"+loginForm)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") == "admin" && r.FormValue("password") == "admin" {
			page(w, http.StatusOK, "Sales", "<h1>Welcome, admin</h1>")
			return
		}
		page(w, http.StatusUnauthorized, "Log in", "<h1>That was not right</h1>"+loginForm)
	})
	mux.HandleFunc("GET /admin/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
	mux.HandleFunc("GET /admin/export.csv", text("text/csv", "id,name,mail\n1,Made-up Mia,mia@customers.example\n"))
	mux.HandleFunc("GET /report", report)
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /admin/\n"))
	mux.HandleFunc("GET /actuator", func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + html.EscapeString(r.Host) + "/actuator"
		answer(w, http.StatusOK, "application/vnd.spring-boot.actuator.v3+json", `{"_links":{"self":{"href":"`+base+`","templated":false},"env":{"href":"`+base+`/env","templated":false},"heapdump":{"href":"`+base+`/heapdump","templated":false}}}`)
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
	page(w, http.StatusOK, "Report", "<h1>Report for "+html.EscapeString(month)+"</h1><p>12 orders.</p>")
}
