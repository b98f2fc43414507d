package apps

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

func forecast() App {
	return App{
		Name: "forecast", About: "a weather service in Python, left in debug mode", handler: newForecast,
		Weaknesses: []Weakness{
			{"forecast-console", "489 215 94", "/console", "", "The console of the debugger is public",
				`console|debug`},
			{"forecast-traceback", "209 489", "/days", "n", "An error shows the inside of the application",
				`trace ?back|stack|verbose|error|exception`},
			{"forecast-template", "1336 94 917", "/greet", "name", "A name is evaluated as a template",
				`ssti|template injection`},
			{"forecast-graphql", "200", "/graphql", "", "The schema of the API can be asked for",
				`introspection|graphql`},
			{"forecast-command", "78 77", "/station", "host", "A name of a station reaches a shell",
				`command|rce|shell`},
			{"forecast-key", "798 200 522 540", "/app.js", "", "The script of the page holds a key of the maps service",
				`key|secret|hard.?coded`},
			noHeaders("forecast"),
		},
	}
}

func newForecast() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Forecast", `<h1>Forecast</h1><script src="/app.js"></script><p><a href="/days?n=3">Three days</a></p>
<form action="/greet"><input name="name" value="you"></form><form action="/station"><select name="host"><option value="north-1">North</option></select></form>`))
	mux.HandleFunc("GET /app.js", text("text/javascript", "const maps = {region: 'north', secretAccessKey: 'bWFkZSB1cCBhbmQgbm90IGEga2V5IGF0IGFsbC4u', accessKeyId: 'AKIALABMADEUPNOTREAL'};\n"))
	mux.HandleFunc("GET /days", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil {
			errorPage(w, http.StatusInternalServerError, "ValueError", `<h1>ValueError</h1><pre>Traceback (most recent call last):
  File "/srv/forecast/app.py", line 31, in days
    n = int(request.args["n"])
ValueError: invalid literal for int() with base 10: `+html.EscapeString(strconv.Quote(r.FormValue("n")))+`</pre>`)
			return
		}
		page(w, "Forecast", fmt.Sprintf("<h1>%d days of rain</h1>", n))
	})
	mux.HandleFunc("GET /greet", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Hello", "<h1>Hello, "+render(html.EscapeString(r.FormValue("name")))+"</h1>")
	})
	mux.HandleFunc("GET /station", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Station", "<pre>"+html.EscapeString(shell("probe "+r.FormValue("host")))+"</pre>")
	})
	mux.HandleFunc("GET /console", view("Console // Werkzeug Debugger", `<h1>Interactive Console</h1><script>var CONSOLE_MODE = true, EVALEX = true, EVALEX_TRUSTED = false;</script>`))
	mux.HandleFunc("GET /graphql", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.FormValue("query"), "__schema") {
			answer(w, http.StatusBadRequest, "application/json", `{"errors":[{"message":"Must provide query string."}]}`)
			return
		}
		send(w, "application/json", `{"data":{"__schema":{"queryType":{"name":"Query"}}}}`)
	})
	return mux
}

// render evaluates only products of integers in double braces.
func render(template string) string {
	return regexp.MustCompile(`\{\{\s*(\d{1,6})\s*\*\s*(\d{1,6})\s*\}\}`).ReplaceAllStringFunc(template, func(expression string) string {
		a, b, _ := strings.Cut(strings.Trim(expression, "{} "), "*")
		x, _ := strconv.Atoi(strings.TrimSpace(a)) // digits, by the regular expression
		y, _ := strconv.Atoi(strings.TrimSpace(b))
		return strconv.Itoa(x * y)
	})
}

// shell simulates a shell with two commands: probe and echo.
func shell(line string) string {
	var out strings.Builder
	for command := range strings.SplitSeq(line, ";") {
		name, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
		switch name {
		case "probe":
			out.WriteString(rest + ": no answer\n")
		case "echo":
			out.WriteString(rest + "\n")
		default:
			out.WriteString("sh: " + name + ": not found\n")
		}
	}
	return out.String()
}
