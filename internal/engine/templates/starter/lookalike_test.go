package starter_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
)

// maxRequests bounds what the whole catalogue sends to one host; the package comment
// names it.
const maxRequests = 300

// TestLookAlikes runs the whole catalogue against servers that answer every path alike.
// Nothing may be found on them but, where a page is served, what its headers lack.
func TestLookAlikes(t *testing.T) {
	programs := compile(t, templates(t)...)
	quoted := everyPositiveBody(t)
	asJSON, err := json.Marshal(map[string]string{"quoted": quoted})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	page := func(body string) string {
		return "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Page not found</title></head><body>" + body + "</body></html>"
	}
	login := answer(200, "text/html",
		page(`<div id="root"><form><input type="password"></form></div><script src="/app.js"></script>`))
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		page    bool // the headers of the answer are open to complaint
	}{
		"soft 404": {answer(200, "text/html; charset=utf-8", page("<h1>Sorry, that page is gone</h1>")),
			true},
		"article quoting all":      {answer(200, "text/html", page("<pre>"+html.EscapeString(quoted)+"</pre>")), true},
		"login page of one script": {login, true},
		"all paths lead to login": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/sign-in" {
				login(w, r)
				return
			}
			http.Redirect(w, r, "/sign-in", http.StatusFound)
		}, true},
		"404 with good headers": {func(w http.ResponseWriter, r *http.Request) {
			for name, value := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Frame-Options": "DENY",
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Strict-Transport-Security": "max-age=63072000",
			} {
				w.Header().Set(name, value)
			}
			http.NotFound(w, r)
		}, false},
		"empty":            {answer(200, "", ""), false},
		"plain ok":         {answer(200, "text/plain", "ok\n"), false},
		"text quoting all": {answer(200, "text/plain", "> "+strings.ReplaceAll(quoted, "\n", "\n> ")), false},
		"JSON quoting all": {answer(200, "application/json", string(asJSON)), false},
		"zeros":            {answer(200, "application/octet-stream", strings.Repeat("\x00", 4096)), false},
		"echo": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			fmt.Fprintf(w, "%s %s\n", r.Method, r.URL)
			_ = r.Header.Write(w)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			report, events := scan(t, newEngine(t), serve(t, c.handler), programs...)
			for _, ev := range events {
				if category := path.Dir(ev.TemplatePath); !c.page || category != "headers" {
					t.Errorf("%s found at %s", ev.TemplateID, ev.MatchedAt)
				}
			}
			if report.Requests > maxRequests {
				t.Errorf("%d requests were sent to one host", report.Requests)
			}
		})
	}
}

// everyPositiveBody is all that the positive cases answer, one after another.
func everyPositiveBody(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, tmpl := range templates(t) {
		for _, c := range readCases(t, caseFile(tmpl.ID)) {
			for _, body := range c.Bodies() {
				if c.Positive {
					all.WriteString(strings.ToValidUTF8(body, "?") + "\n")
				}
			}
		}
	}
	return all.String()
}
