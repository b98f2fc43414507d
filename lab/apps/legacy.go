package apps

import (
	"html"
	"net/http"
)

func legacy() App {
	return App{
		Name: "legacy", About: "an intranet on ASP.NET, with a certificate of long ago", handler: newLegacy, tls: expired,
		Weaknesses: []Weakness{
			{"legacy-expired", "298 295 296", "", "", "The certificate has expired and is its own authority",
				`expired|self.signed|certificate`},
			{"legacy-tls-version", "327 326", "", "", "Only versions of TLS that are not safe any more",
				`tls ?(v|1)|obsolete|deprecated|weak (tls|protocol)`},
			{"legacy-hsts", "319 523 693", "", "", "HSTS is missing", `hsts|strict.transport`},
			{"legacy-cookie", "614 1004 1275", "", "", "The session cookie has no Secure", `cookie`},
			{"legacy-version", "497 200", "", "", "The version of the framework is disclosed in a header",
				`version|x-aspnet`},
			{"legacy-error", "209", "/*", "", "Errors show the version of the framework", `error|exception|stack`},
			{"legacy-elmah", "532 200 209", "/elmah.axd", "", "The log of errors is public", `elmah|error log`},
			{"legacy-viewer", "639 284 862 425 200", "/payslip.aspx", "staff", "Payslips of anybody by their number",
				`idor|payslip|access control|authori[sz]ation|object`},
		},
	}
}

func newLegacy() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "ASP.NET_SessionId=k3vw0mzqj1xh5c2a; path=/; HttpOnly; SameSite=Lax")
		page(w, "Intranet", `<h1>Intranet</h1><p><a href="/payslip.aspx?staff=17">Your payslip</a></p>`)
	})
	mux.HandleFunc("GET /payslip.aspx", func(w http.ResponseWriter, r *http.Request) {
		staff := map[string]string{"17": "Made-up Mia: 2,000", "18": "Made-up Max: 2,100"}[r.FormValue("staff")]
		if staff == "" {
			errorPage(w, http.StatusNotFound, "Not found", "<h1>There is no such payslip</h1>")
			return
		}
		page(w, "Payslip", "<h1>"+html.EscapeString(staff)+"</h1>")
	})
	mux.HandleFunc("GET /elmah.axd", view("Error log for / on LEGACY-1", `<h1>Error Log for / on LEGACY-1</h1><p>12 errors. Powered by <a href="https://elmah.example/">ELMAH</a>, version 1.2.</p>`))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		errorPage(w, http.StatusNotFound, "The resource cannot be found.", `<h1>Server Error in '/' Application.<hr></h1><h2>The resource cannot be found.</h2><b>Requested URL: </b>`+html.EscapeString(r.URL.Path)+
			`<hr><b>Version Information:</b>&nbsp;Microsoft .NET Framework Version:4.0.30319; ASP.NET Version:4.7.3282.0`)
	})
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-AspNet-Version", "4.0.30319")
		mux.ServeHTTP(w, r)
	}))
}
