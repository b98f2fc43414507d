package apps

import (
	"net/http"
	"strings"
)

func ops() App {
	return App{
		Name: "ops", About: "a proxy that shows what was meant for the operators", handler: newOps,
		Weaknesses: []Weakness{
			{"ops-apache-status", "497 200", "/server-status", "", "The status of the web server is public",
				`server.status|apache status`},
			{"ops-nginx-status", "497 200", "/nginx_status", "", "The counters of the proxy are public",
				`nginx|stub.status`},
			{"ops-prometheus", "306 200", "/prometheus/*", "", "The monitoring is open without a login",
				`prometheus|monitoring`},
			{"ops-registry", "306 200", "/v2/*", "", "The registry lists images without a login", `registry`},
			{"ops-panel", "306 284 425 862", "/console/jobs", "", "A panel of their own is open without a login",
				`panel|console|unauth|without (a )?(log|auth)`},
			{"ops-logs", "532 538 200 552", "/logs/access.log", "", "The log of requests is public, with tokens in it",
				`\blogs?\b`},
			{"ops-version", "497 200", "", "", "The version is disclosed in a header", `version|banner|server header`},
			noHeaders("ops"),
		},
	}
}

func newOps() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("gate-3", `<h1>gate-3</h1><p>Nothing to see. <a href="/imprint">Imprint</a></p>`))
	mux.HandleFunc("GET /imprint", view("Imprint", "<h1>Imprint</h1><p>Made up.</p>"))
	mux.HandleFunc("GET /server-status", text("text/html", `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html><head>
<title>Apache Status</title>
</head><body>
<h1>Apache Server Status for gate-3.lab.example (via 127.0.1.1)</h1>

<dl><dt>Server Version: Apache/2.4.41 (Ubuntu)</dt>
<dt>Server MPM: event</dt>
<dt>Server Built: 2023-10-26T13:37:01
</dt></dl><hr /><dl>
<dt>Server uptime:  1 day 2 hours 55 minutes 8 seconds</dt>
<dt>Total accesses: 18204 - Total Traffic: 212.4 MB - Total Duration: 60312</dt>
</dl></body></html>
`))
	mux.HandleFunc("GET /nginx_status", text("text/plain", "Active connections: 3 \nserver accepts handled requests\n 120 120 311 \nReading: 0 Writing: 1 Waiting: 2 \n"))
	mux.HandleFunc("GET /prometheus/api/v1/status/buildinfo", text("application/json", `{"status":"success","data":{"version":"2.45.0","revision":"8ef767e396bf8445f009f945b0162fd71827f445","branch":"HEAD","buildUser":"root@lab","buildDate":"20230623-15:09:49","goVersion":"go1.20.5"}}`))
	mux.HandleFunc("GET /v2/{$}", registry("{}"))
	mux.HandleFunc("GET /v2/_catalog", registry(`{"repositories":["gate/api","gate/web"]}`))
	mux.HandleFunc("GET /console/jobs", view("Jobs", `<h1>Jobs</h1><table><tr><td>nightly-export</td><td><form method="post" action="/console/jobs"><button name="run" value="nightly-export">Run</button></form></td></tr></table>`))
	mux.HandleFunc("GET /logs/access.log", text("text/plain", strings.Repeat("203.0.113.7 - - [12/Mar/2024:09:14:02 +0000] \"GET /reset?token=made-up-and-void HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0\"\n", 3)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "Apache/2.4.41 (Ubuntu)")
		mux.ServeHTTP(w, r)
	})
}

func registry(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		send(w, "application/json", body)
	}
}
