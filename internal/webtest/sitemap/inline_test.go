package sitemap_test

import (
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Addresses that scripts put together are read: a constant before a path, a function around fetch with the method and the
// body as options or as arguments, an identifier behind, and an object that has a name.
func TestAddressesThatScriptsPutTogether(t *testing.T) {
	at, _ := url.Parse("http://site.test/")
	for name, c := range map[string]struct{ script, want string }{
		"constant": {`var root = "/svc/v4"; fetch(root + "/orders", {method: "PUT", body: JSON.stringify({n: 5})})`, `PUT /svc/v4/orders {"n":5}`},
		"template": {"const B = '/rest'; fetch(`${B}/people?sort=age`)", "GET /rest/people?sort=age "},
		"options": {`const root = '/svc'; async function ask(path, o = {}) { const r = await fetch(root + path, o); return r.json(); }
			ask('/orders/new', { method: 'POST', body: JSON.stringify({ item: 'lamp' }) });`, `POST /svc/orders/new {"item":"lamp"}`},
		"arguments": {`const q=(u,m,b)=>fetch("/svc"+u,{method:m,headers:{"content-type":"application/json"},body:JSON.stringify(b)});q("/sign","POST",{email:x,word:y})`,
			`POST /svc/sign {"email":"tester@example.com","word":"test"}`},
		"member": {`class A { get(u) { return fetch('/svc' + u); } all() { return this.get('/rows'); } }; const one = u => fetch(u); one('/solo/3')`, "GET /solo/3 "},
		"behind": {`fetch("/svc/rows/" + row.id + "/tags", {method: "PATCH", body: JSON.stringify({tag: "x"})})`, `PATCH /svc/rows/1/tags {"tag":"x"}`},
		"last": {`function put(n) { fetch('/svc/boxes/' + n, { method: 'PUT', body: JSON.stringify({ label: field('b' + n).value }) }) }`,
			`PUT /svc/boxes/1 {"label":"test"}`},
		"object": {`var sent = { filter: { maker: box.value, old: true }, page: 1 }; fetch('/svc/find', { method: 'POST', body: JSON.stringify(sent) })`, `POST /svc/find {"filter":{"maker":"test","old":true},"page":1}`},
		"envelope": {"fetch('/soap', {method: 'POST', headers: {'Content-Type': 'text/xml'}, body: wrap(`<e:Body xmlns:e='u'><Ask>${x}</Ask></e:Body>`)})",
			"POST /soap <e:Body xmlns:e='u'><Ask>1</Ask></e:Body>"},
		"no document": {`var x = new XMLHttpRequest(); x.open("POST", "/feed"); x.setRequestHeader("Content-Type", "application/atom+xml"); x.send(d);`,
			`POST /feed <?xml version="1.0"?><data><item><name>test</name></item></data>`},
		"no XML":    {"const row = `<Ask>1</Ask>`; fetch('/svc/rows', {method: 'POST', body: 'a=1'})", "POST /svc/rows a=1"},
		"no prefix": {`fetch("/svc/a/" + b + "x")`, "GET /svc/a/1x "},
	} {
		var all []string
		found := false
		for _, r := range sitemap.ScriptCalls(at, c.script) {
			line := r.Method + " " + r.URL.RequestURI() + " " + string(r.Body)
			all = append(all, line)
			found = found || line == c.want
		}
		if !found {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
}

// A script that sends XML which somebody writes into a field sends the document that the page has there.
func TestDocumentThatAPageShows(t *testing.T) {
	m, _ := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<textarea id="x">&lt;order&gt;&lt;pen&gt;2&lt;/pen&gt;&lt;/order&gt;</textarea><script>
			function go() { fetch("/orders", {method: "POST", headers: {"content-type": "application/xml"}, body: x.value}) }</script>`,
		"/orders": "<ok/>"}))
	for _, e := range m.Entries {
		if e.Request.URL.Path == "/orders" && (string(e.Request.Body) != "<order><pen>2</pen></order>" ||
			e.Request.Header.Get("Content-Type") != "application/xml") {
			t.Errorf("%s %s", e.Request.Header, e.Request.Body)
		}
	}
}

// A script that sends a form as JSON sends the fields of that form, and an element of htmx those of the form around it.
func TestFormsThatScriptsSend(t *testing.T) {
	m, asked := crawl(t, client.Config{Level: client.Active}, sitemap.Config{}, pages(map[string]string{
		"/": `<form id="search"><input name="q"></form><form id="me"><input name="city"><input name="nick"></form><script src="/me.js"></script>
			<form><input name="code"><input type="hidden" name="sum" value="9"><button hx-post="/check">Try</button></form>
			<input name="find" hx-post="/live">`,
		"/me.js": `me.onsubmit = () => fetch("/api/me", {method: "PUT", body: JSON.stringify(Object.fromEntries(new FormData(me)))})`,
		"/check": "no", "/live": "none", "/api/me": "{}"}))
	for _, e := range m.Entries {
		if e.Request.URL.Path == "/api/me" && string(e.Request.Body) != `{"city":"test","nick":"tester"}` {
			t.Errorf("%s", e.Request.Body)
		}
	}
	has(t, asked, "PUT /api/me", "POST /check code=test&sum=9", "POST /live find=test")
}
