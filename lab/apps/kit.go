package apps

import (
	"fmt"
	"html"
	"io"
	"net/http"
)

func answer(w http.ResponseWriter, status int, mediaType, body string) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // an intended weakness of many applications; the client may have disconnected
}

func send(w http.ResponseWriter, mediaType, body string) { answer(w, http.StatusOK, mediaType, body) }

// page sends an HTML page; body is HTML.
func page(w http.ResponseWriter, title, body string) { errorPage(w, http.StatusOK, title, body) }

func errorPage(w http.ResponseWriter, status int, title, body string) {
	answer(w, status, "text/html; charset=utf-8", fmt.Sprintf(
		"<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title></head>\n<body>\n%s\n</body>\n</html>\n", html.EscapeString(title), body))
}

func text(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, mediaType, body) }
}

func view(title, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { page(w, title, body) }
}

// guarded adds security headers to every response.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Frame-Options":         "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

const loginForm = `<form method="post" action="/login"><label>Name <input name="user"></label>` +
	`<label>Password <input name="password" type="password"></label><button>Log in</button></form>`
