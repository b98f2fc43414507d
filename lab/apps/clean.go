package apps

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// clean has no weaknesses, but much that looks like one: it answers every path with 200, quotes error
// messages, echoes input, redirects, and has password forms.
func clean() App {
	return App{Name: "clean", About: "a security magazine that is safe but looks vulnerable", handler: newClean, tls: sound}
}

// quoted are error messages and file contents that articles quote.
const quoted = `You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near ''' at line 1
SQL logic error: unrecognized token: "'" (1)
SQLITE_ERROR: near "x": syntax error
ERROR:  unterminated quoted string at or near "'" LINE 1
ORA-01756: quoted string not properly terminated
Traceback (most recent call last):
  File "/srv/app.py", line 31, in days
ValueError: invalid literal for int()
java.lang.NullPointerException
	at example.Controller.month(Controller.java:41)
root:x:0:0:root:/root:/bin/bash
NAME="Some Linux"
ID=some
VERSION_ID="1"
dial tcp 127.0.0.1:1: connect: connection refused
Failed to connect to 127.0.0.1 port 1: Connection refused
-----BEGIN OPENSSH PRIVATE KEY-----
AKIALABMADEUPNOTREAL
[core]
	repositoryformatversion = 0
DB_PASSWORD=made-up-and-not-a-password
Server Error in '/' Application
<title>Index of /</title>
`

func newClean() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("The Quiet Harbour", `<h1>The Quiet Harbour</h1><nav><a href="/blog/sql-injection">SQL injection explained</a> <a href="/blog/?page=2">Older</a>
<a href="/files/">Index of our articles</a> <a href="/download?file=poster.txt">Poster</a> <a href="/go?next=/blog/">Blog</a> <a href="/preview?url=https://partner.example/a.png">Preview</a>
<a href="/greet?name=you">Greeting</a> <a href="/quote?text=hello">Quote</a> <a href="/login">Log in</a> <a href="/api/echo?q=hello">API</a> <a href="/plain?q=hello">Text</a> <a href="/issue?id=3">Issue 3</a> <a href="/fragile?n=3">Three</a> <a href="/logout">Log out</a></nav>
<form action="/search"><input name="q" value="harbour"></form>`))
	mux.HandleFunc("GET /blog/", func(w http.ResponseWriter, r *http.Request) {
		page(w, "SQL injection explained", "<h1>SQL injection explained</h1><p>You asked for "+html.EscapeString(r.URL.String())+".</p><pre>"+html.EscapeString(quoted)+"</pre>")
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		q := html.EscapeString(r.FormValue("q"))
		page(w, "Search", `<h1>Results for “`+q+`”</h1><input name="q" value="`+q+`"><script type="application/json">{"q": `+scriptString(r.FormValue("q"))+"}</script><p>SQL logic error? See our article.</p>")
	})
	mux.HandleFunc("GET /quote", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Quote", "<!-- "+html.EscapeString(r.FormValue("text"))+" --><textarea>"+html.EscapeString(r.FormValue("text"))+"</textarea>")
	})
	mux.HandleFunc("GET /greet", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Hello", "<h1>Hello, "+html.EscapeString(r.FormValue("name"))+"</h1><p>1234 times 4321 is 5332114, and 7 times 7 is 49.</p>")
	})
	mux.HandleFunc("GET /api/echo", func(w http.ResponseWriter, r *http.Request) {
		send(w, "application/json", `{"q":"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(r.FormValue("q"))+`"}`)
	})
	mux.HandleFunc("GET /plain", func(w http.ResponseWriter, r *http.Request) {
		send(w, "text/plain; charset=utf-8", r.FormValue("q")+"\n")
	})
	mux.HandleFunc("GET /issue", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("id"))
		if err != nil || n < 1 || n > 9 {
			errorPage(w, http.StatusNotFound, "Not found", "<h1>There is no such issue</h1>")
			return
		}
		page(w, "Issue", "<h1>Issue "+strconv.Itoa(n)+"</h1>")
	})
	mux.HandleFunc("GET /fragile", func(w http.ResponseWriter, r *http.Request) {
		if _, err := strconv.Atoi(r.FormValue("n")); err != nil {
			errorPage(w, http.StatusInternalServerError, "Something went wrong", "<h1>Something went wrong</h1><p>Please tell us the number 5f2c. A syntax error near your keyboard?</p>")
			return
		}
		page(w, "Number", "<h1>Thank you</h1>")
	})
	mux.HandleFunc("GET /download", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("file") != "poster.txt" {
			errorPage(w, http.StatusNotFound, "Not found", "<h1>"+html.EscapeString(r.FormValue("file"))+" is not there</h1><p>NAME=Some Linux is not here, either.</p>")
			return
		}
		send(w, "text/plain; charset=utf-8", "A poster.\n")
	})
	mux.HandleFunc("GET /go", cleanRedirect)
	mux.HandleFunc("GET /preview", func(w http.ResponseWriter, r *http.Request) {
		address := r.FormValue("url")
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host != "partner.example" {
			errorPage(w, http.StatusBadRequest, "Not allowed", "<h1>We do not fetch "+html.EscapeString(address)+"</h1><p>Only partner.example. A connection refused by us was never made.</p>")
			return
		}
		page(w, "Preview", "<h1>A preview</h1>")
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "__Host-session=9b1f0c7e2a5d4836; Path=/; Secure; HttpOnly; SameSite=Strict")
		page(w, "Admin login", "<h1>Admin login</h1>"+loginForm)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, _ *http.Request) {
		errorPage(w, http.StatusUnauthorized, "Admin login", "<h1>That was not right</h1>"+loginForm)
	})
	mux.HandleFunc("GET /files/{$}", view("Index of our articles", `<h1>Index of our articles</h1><ul><li><a href="/blog/one">one</a></li><li><a href="/blog/two">two</a></li></ul>`))
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /search\n"))
	mux.HandleFunc("GET /.well-known/security.txt", text("text/plain", "Contact: mailto:security@quiet-harbour.example\nExpires: 2030-01-01T00:00:00Z\n"))
	mux.HandleFunc("GET /health", text("text/plain", "ok\n"))
	mux.HandleFunc("GET /", view("The Quiet Harbour", `<div id="root"></div><noscript>Panel, console, dashboard: please switch scripts on.</noscript>`))
	safe := guarded(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
		if r.Header.Get("Origin") == "https://app.quiet-harbour.example" {
			w.Header().Set("Access-Control-Allow-Origin", "https://app.quiet-harbour.example")
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		safe.ServeHTTP(w, r)
	})
}

// cleanRedirect leads to a few places of its own, and says where it would not go.
func cleanRedirect(w http.ResponseWriter, r *http.Request) {
	next := r.FormValue("next")
	if !slices.Contains([]string{"/", "/blog/", "/login"}, next) {
		w.Header().Set("Location", "/login?next="+url.QueryEscape(next))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	w.Header().Set("Location", next)
	w.WriteHeader(http.StatusSeeOther)
}

// scriptString is a text as a string of JSON that ends no script.
func scriptString(s string) string {
	text, err := json.Marshal(s) // it escapes <, > and &
	if err != nil {
		return `""`
	}
	return string(text)
}
