package apps

import (
	"html"
	"net/http"
)

func legacy() App {
	return App{
		Name: "legacy", About: "an intranet on ASP.NET, with a certificate of long ago", handler: newLegacy, tls: expired,
		Weaknesses: []Weakness{
			{ID: "legacy-expired", CWE: "CWE-298", Also: []string{"CWE-295", "CWE-296"}, Title: "The certificate has expired and is its own authority", Words: `expired|self.signed|certificate`},
			{ID: "legacy-tls-version", CWE: "CWE-327", Also: []string{"CWE-326"}, Title: "Only versions of TLS that are not safe any more", Words: `tls ?(v|1)|obsolete|deprecated|weak (tls|protocol)`},
			{ID: "legacy-hsts", CWE: "CWE-319", Also: []string{"CWE-523", "CWE-693"}, Title: "HSTS is missing", Words: `hsts|strict.transport`},
			{ID: "legacy-cookie", CWE: "CWE-614", Also: []string{"CWE-1004", "CWE-1275"}, Title: "The session cookie has no Secure", Words: `cookie`},
			{ID: "legacy-version", CWE: "CWE-497", Also: []string{"CWE-200"}, Title: "The version of the framework is disclosed in a header", Words: `version|x-aspnet`},
			{ID: "legacy-error", CWE: "CWE-209", Path: "/*", Title: "Errors show the version of the framework", Words: `error|exception|stack`},
			{ID: "legacy-elmah", CWE: "CWE-532", Also: []string{"CWE-200", "CWE-209"}, Path: "/elmah.axd", Title: "The log of errors is public", Words: `elmah|error log`},
			{ID: "legacy-viewer", CWE: "CWE-639", Also: []string{"CWE-284", "CWE-862", "CWE-425", "CWE-200"}, Path: "/payslip.aspx", Param: "staff", Title: "Payslips of anybody by their number", Words: `idor|payslip|access control|authori[sz]ation|object`},
		},
	}
}

func newLegacy() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "ASP.NET_SessionId=k3vw0mzqj1xh5c2a; path=/; HttpOnly; SameSite=Lax")
		page(w, http.StatusOK, "Intranet", `<h1>Intranet</h1><p><a href="/payslip.aspx?staff=17">Your payslip</a></p>`)
	})
	mux.HandleFunc("GET /payslip.aspx", func(w http.ResponseWriter, r *http.Request) {
		staff := map[string]string{"17": "Made-up Mia: 2,000", "18": "Made-up Max: 2,100"}[r.FormValue("staff")]
		if staff == "" {
			page(w, http.StatusNotFound, "Not found", "<h1>There is no such payslip</h1>")
			return
		}
		page(w, http.StatusOK, "Payslip", "<h1>"+html.EscapeString(staff)+"</h1>")
	})
	mux.HandleFunc("GET /elmah.axd", view("Error log for / on LEGACY-1", `<h1>Error Log for / on LEGACY-1</h1><p>12 errors. Powered by <a href="https://elmah.example/">ELMAH</a>, version 1.2.</p>`))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		page(w, http.StatusNotFound, "The resource cannot be found.", `<h1>Server Error in '/' Application.<hr></h1><h2>The resource cannot be found.</h2><b>Requested URL: </b>`+html.EscapeString(r.URL.Path)+
			`<hr><b>Version Information:</b>&nbsp;Microsoft .NET Framework Version:4.0.30319; ASP.NET Version:4.7.3282.0`)
	})
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-AspNet-Version", "4.0.30319")
		mux.ServeHTTP(w, r)
	}))
}
