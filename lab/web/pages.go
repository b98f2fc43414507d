package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

func (a *App) page(w http.ResponseWriter, r *http.Request, c *Case, v string) {
	switch c.Filter {
	case "angle":
		v = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(v)
	case "quote":
		v = strings.NewReplacer(`"`, "&quot;", "'", "&#39;").Replace(v)
	case "all":
		v = encode(v)
	case "local":
		if !regexp.MustCompile(`^/[^/\\]`).MatchString(v) {
			v = "/"
		}
		v = encode(v)
	case "json":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"hello": %s}`, plainJSON(v))
		return
	case "text":
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		fmt.Fprint(w, "Hello "+v)
		return
	}
	if c.Sink == "stored" {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.Method == http.MethodPost {
			a.notes[c.Path] = append(a.notes[c.Path], v)
			http.Redirect(w, r, c.Path, http.StatusSeeOther)
			return
		}
		show(w, http.StatusOK, "<ul><li>"+strings.Join(a.notes[c.Path], "</li><li>")+"</li></ul>")
		return
	}
	if c.Sink == "href" && c.Filter == "plain" {
		v = encode(v)
	}
	if c.Sink == "handler" && c.Filter == "plain" {
		v = strings.NewReplacer(`"`, "&quot;", "<", "&lt;").Replace(v)
	}
	switch c.Sink {
	case "literal":
		v = strings.NewReplacer("`", "", "</", "").Replace(v)
	case "block":
		v = plainJSON(v)
	}
	show(w, http.StatusOK, strings.ReplaceAll(contexts[c.Sink], "VALUE", v))
}

// plainJSON is a text as JSON that leaves markup alone, as most languages write it.
func plainJSON(v string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of a text: it cannot fail
	return strings.TrimSpace(b.String())
}

var contexts = map[string]string{"text": "<p>Hello VALUE</p>", "quoted": `<p title="VALUE">Hello</p>`,
	"single": "<p title='VALUE'>Hello</p>", "bare": "<input value=VALUE>", "href": `<a href="VALUE">site</a>`,
	"string": "<script>var a = 'VALUE';</script>", "dstring": `<script>var a = "VALUE";</script>`,
	"literal": "<script>var a = `VALUE`;</script>", "block": `<script>var a = {"name": VALUE};</script>`,
	"comment": "<!-- VALUE -->", "textarea": "<textarea>VALUE</textarea>", "title": "<title>VALUE</title>",
	"style": "<style>/* VALUE */</style>", "handler": `<button onclick="hello('VALUE')">Hello</button>`,
	"value": `<input type="text" value="VALUE">`}
