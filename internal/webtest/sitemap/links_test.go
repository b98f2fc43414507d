package sitemap_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// What ends the session by the text of its link or button is not sent; what a link back to the page says is a script's.
func TestLinksThatEndTheSession(t *testing.T) {
	_, asked := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<a href="/bye">Sign out</a> <a href="/x?do=9"><b>Log</b> <i>off</i></a> <a href="#">Log out</a> <a href="/help">Help</a>
			<form method="post" action="/end"><input type="hidden" name="t" value="1"><button>Logout</button></form>
			<form method="post" action="/find"><input name="q"><button>Find</button></form>`,
		"/bye": "<p>bye", "/x": "<p>x", "/help": "<p>help", "/end": "<p>end", "/find": "<p>found"}))
	has(t, asked, "GET /help", "POST /find q=test")
	hasNot(t, asked, "GET /bye", "GET /x?do=9", "POST /end t=1")
}

// Objects within objects that a script sends are kept as they stand, by fetch and by XMLHttpRequest.
func TestNestedObjectsOfScripts(t *testing.T) {
	m, _ := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{"/": `<script>
		function a() { fetch("/a", {method: "POST", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({filter: {name: "desk", below: 9}, all: true})}) }
		function b() { var x = new XMLHttpRequest(); x.open("POST", "/b"); x.setRequestHeader("Content-Type", "application/json");
			x.onload = function () { show(x) }; x.send(JSON.stringify({feed: {source: "http://h.test/rss"}})) }</script>`,
		"/a": "{}", "/b": "{}"}))
	bodies := map[string]string{}
	for _, e := range m.Entries {
		bodies[e.Request.URL.Path] = string(e.Request.Body)
	}
	if bodies["/a"] != `{"all":true,"filter":{"below":9,"name":"desk"}}` || bodies["/b"] != `{"feed":{"source":"http://h.test/rss"}}` {
		t.Errorf("%v", bodies)
	}
}

// What a script reads of controls by their ids has their values, also of such that stand in no form, as texts or numbers;
// passwords are not among them, nor members of other objects of the same name.
func TestControlsThatScriptsRead(t *testing.T) {
	const controls = `<select id="kind"><option>oak.csv</option><option>elm.csv</option></select><input id="size" value="12">
		<input id="pin" type="password" value="s3"><script src="/app.js"></script>`
	for script, want := range map[string]string{
		`fetch("/a", {method: "POST", body: JSON.stringify({kind: kind.value, most: Number(document.getElementById("size").value)})})`: `{"kind":"oak.csv","most":12}`,
		`fetch("/a", {method: "POST", body: JSON.stringify({of: {kind: $('#kind').val(), size: size.value}})})`:                        `{"of":{"kind":"oak.csv","size":"12"}}`,
		`fetch("/a", {method: "POST", body: JSON.stringify({kind: tree.kind.value, word: pin.value, n: parseInt(size.value, 10)})})`:   `{"kind":"test","n":12,"word":"test"}`,
	} {
		site := pages(map[string]string{"/": controls, "/a": "{}"})
		m, _ := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/app.js" {
				w.Header().Set("Content-Type", "text/javascript")
				fmt.Fprint(w, script)
				return
			}
			site.ServeHTTP(w, r)
		}))
		got := ""
		for _, e := range m.Entries {
			if e.Request.URL.Path == "/a" {
				got = string(e.Request.Body)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// What a script sends of a form has the value that the form shows. An interface that does not find what it is asked for is
// there; a page for what is not found says that it is not.
func TestCallsOfScripts(t *testing.T) {
	m, _ := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<form id="f"><input name="box" value="12"><input name="word"></form><script>
				function a(e) { fetch("/api/check", {method: "POST", body: JSON.stringify({box: e.box.value, word: e.word.value})}) }
				function b(e) { fetch("/api/gone", {method: "POST", body: JSON.stringify({box: e.box.value})}) }</script>`)
			return
		}
		w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/html"}[r.URL.Path == "/api/check"])
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "{}")
	}))
	bodies := map[string]string{}
	for _, e := range m.Entries {
		bodies[e.Request.URL.Path] = string(e.Request.Body)
	}
	if _, isThere := bodies["/api/gone"]; isThere || bodies["/api/check"] != `{"box":"12","word":"test"}` {
		t.Errorf("%v", bodies)
	}
}

// A field that takes pictures gets one, another a text; a form that logs in names the fields of the user and the password.
func TestFieldsByType(t *testing.T) {
	m, _ := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<form method="post" action="/pic" enctype="multipart/form-data"><input type="file" name="f" accept="image/*"></form>
			<form method="post" action="/doc" enctype="multipart/form-data"><input type="file" name="f" accept=".csv"></form>
			<form method="post" action="/in"><input name="usr"><input type="password" name="psw"></form>`,
		"/pic": "<p>a", "/doc": "<p>b", "/in": "<p>c"}))
	for _, e := range m.Entries {
		body := string(e.Request.Body)
		switch e.Request.URL.Path {
		case "/pic", "/doc":
			isPicture := strings.Contains(body, `filename="vedette.png"`) && strings.Contains(body, "IHDR")
			if isPicture != (e.Request.URL.Path == "/pic") {
				t.Errorf("%s: %q", e.Request.URL.Path, body)
			}
		case "/in":
			if e.Request.Login != [2]string{"usr", "psw"} {
				t.Errorf("the fields of the login: %v", e.Request.Login)
			}
		}
	}
	if len(m.Entries) != 4 {
		t.Errorf("%d entries", len(m.Entries))
	}
}

// A form with two fields of passwords sets one, and is not sent.
func TestFormsOfNewPasswords(t *testing.T) {
	_, asked := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<form action="/c"><input type="password" name="new"><input type="password" name="again"><input type="hidden" name="go" value="1"></form>`}))
	if slices.ContainsFunc(asked, func(line string) bool { return len(line) > 8 && line[:7] == "GET /c?" }) {
		t.Errorf("%v", asked)
	}
}
