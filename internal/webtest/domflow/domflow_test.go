package domflow_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/domflow"
)

const image = `'"><img src=x onerror=q7()>`

func opened(t testing.TB, fragment, query string) *url.URL {
	t.Helper()
	u, err := url.Parse("http://lab.example/page")
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = query
	u.Fragment, u.RawFragment = fragment, strings.NewReplacer("%", "%25", " ", "%20").Replace(fragment)
	return u
}

// page is a document with an element a and a script.
func page(script string) string {
	return "<html><body><p id=a></p><select id='b'></select><script>" + script + "</script></body></html>"
}

func TestRuns(t *testing.T) {
	read := "var v = decodeURIComponent(location.hash.slice(1));"
	at := "document.getElementById('a')"
	for script, want := range map[string]bool{
		read + at + ".innerHTML = v":                                                                   true,
		read + "document.write('<b>' + v + '</b>')":                                                    true,
		read + "document.body.insertAdjacentHTML('beforeend', v)":                                      true,
		read + "$('#a').html(v)":                                                                       true,
		read + at + ".textContent = v":                                                                 false,
		read + at + ".innerText = v":                                                                   false,
		read + "var other = 1; " + at + ".innerHTML = 'hello ' + other":                                false,
		at + ".innerHTML = location.hash":                                                              false, // browsers escape what stands there
		at + ".innerHTML = unescape(document.URL.split('#')[1])":                                       true,
		read + at + ".innerHTML = v.replace(/</g, '&lt;')":                                             false,
		read + at + ".innerHTML = v.replace('<', '&lt;')":                                              false,
		read + at + ".innerHTML = v.replace(/script/gi, '')":                                           true,
		read + at + ".innerHTML = DOMPurify.sanitize(v)":                                               false,
		read + at + ".innerHTML = escapeHtml(v)":                                                       false,
		"function clean(s) { return s.replace(/[^a-z]/g, '') } " + read + at + ".innerHTML = clean(v)": false,
		"function show(s) { " + at + ".innerHTML = '<i>' + s + '</i>' } " + read + "show(v)":           true,
		"function never(s) { " + at + ".innerHTML = s } " + read:                                       false,
		read + "if (/^[a-z]+$/.test(v)) " + at + ".innerHTML = v":                                      false,
		read + "if (!['de', 'fr'].includes(v)) v = 'de'; " + at + ".innerHTML = v":                     false,
		read + "if (isSafe(v)) " + at + ".innerHTML = v":                                               false,
		read + "if (!isSafe(v)) throw 1; " + at + ".innerHTML = v":                                     false,
		read + "if (settings.raw) " + at + ".innerHTML = v":                                            false,
		read + "if (v) { " + at + ".innerHTML = v }":                                                   true,
		read + "var e = document.getElementById('missing'); e.innerHTML = v":                           false,
		read + "document.getElementById('missing').x = 1; " + at + ".innerHTML = v":                    false,
		read + "try { nothing.at.all() } catch (e) {} " + at + ".innerHTML = v":                        true,
		read + at + ".innerHTML = `<em>${v}</em>`":                                                     true,
		read + at + ".innerHTML = '<textarea>' + v + '</textarea>'":                                    false,
		read + at + ".innerHTML = '<script>' + v":                                                      false,
		"window.onload = function () { " + read + at + ".innerHTML = v }":                              true,
		"addEventListener('hashchange', () => { " + read + at + ".innerHTML = v })":                    true,
		"addEventListener('click', () => { " + read + at + ".innerHTML = v })":                         false,
		"$(function () { " + read + "$('#a').html(v) })":                                               true,
		"fetch('/x').then(r => r.text()).then(d => { " + at + ".innerHTML = d })":                      false,
		"const { hash } = location; " + at + ".innerHTML = decodeURIComponent(hash)":                   true,
		"const views = { async hello(n) { " + at + ".innerHTML = decodeURIComponent(n) } };" +
			"const go = async () => { const [, v, n] = ('x/hello/' + location.hash).split('/'); if (views[v]) return views[v](n) }; go()": true,
		"var o = document.createElement('option'); " + read + "document.getElementById('b').appendChild(o); o.outerHTML = '<option value=\"' + v + '\">'": true,
		"var parts = []; for (var i = 0; i < 2; i++) parts.push(i); " + read + at + ".innerHTML = parts.join() + v":                                       true,
		"switch (location.hash.length > 1) { case true: " + read + at + ".innerHTML = v }":                                                                true,
		"while (true) { a() } " + read + at + ".innerHTML = v":                                                                                            false,
		"this is no script": false,
	} {
		if got := domflow.Runs(page(script), opened(t, image, ""), "q7"); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
	}
}

func TestParameters(t *testing.T) {
	encoded := url.PathEscape(image)
	for script, want := range map[string]bool{
		"a.innerHTML = new URLSearchParams(location.search).get('q')":                                                            true,
		"a.innerHTML = new URL(location.href).searchParams.get('q')":                                                             true,
		"a.innerHTML = new URLSearchParams(location.search).get('other')":                                                        false,
		"a.innerHTML = location.search":                                                                                          false,
		"var at = location.href.indexOf('q='); if (at >= 0) document.write(decodeURIComponent(location.href.substring(at + 2)))": true,
		"var m = /[?&]q=([^&]*)/.exec(location.search); if (m) document.write(decodeURIComponent(m[1]))":                         true,
		"var m = location.search.match(/q=(\\d+)/); if (m) document.write(m[1])":                                                 false,
	} {
		if got := domflow.Runs(page(script), opened(t, "", "q="+encoded), "q7"); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
	}
}

func TestCodeAndAddresses(t *testing.T) {
	read := "var v = decodeURIComponent(location.hash.slice(1));"
	for script, c := range map[string]struct {
		text string
		want bool
	}{
		read + "eval('f(\"' + v + '\")')":                                              {`"-q7()-"`, true},
		read + "eval('f(\"' + JSON.stringify(v) + '\")')":                              {`"-q7()-"`, false},
		read + "setTimeout('f(\"' + v + '\")', 10)":                                    {`"-q7()-"`, true},
		read + "a.innerHTML = '<script>' + v + '<\\/script>'":                          {"q7()", false},
		read + "document.write('<script>' + v + '<\\/script>')":                        {"q7()", true},
		"a.innerHTML = location.hash":                                                  {"<svg/onload=q7()>", false},
		read + "a.innerHTML = v":                                                       {"<svg/onload=q7()>", true},
		read + "location.href = v":                                                     {"javascript:q7()", true},
		read + "if (v) location = v":                                                   {"javascript:q7()", true},
		read + "location.assign('/go?to=' + v)":                                        {"javascript:q7()", false},
		read + "if (v[0] === '/') location.href = v":                                   {"javascript:q7()", false},
		"(function () { " + read + "if (!v.startsWith('/')) return; location = v })()": {"javascript:q7()", false},
		"(function () { " + read + "if (v.startsWith('/')) return; location = v })()":  {"javascript:q7()", true},
	} {
		if got := domflow.Runs(page(script), opened(t, c.text, ""), "q7"); got != c.want {
			t.Errorf("%s: %v, want %v", script, got, c.want)
		}
	}
}

func TestScriptsOfElsewhere(t *testing.T) {
	document := `<p id=a></p><script src="/show.js"></script><script>show(decodeURIComponent(location.hash))</script>`
	p := domflow.Read(document, func(src string) string {
		return map[string]string{"/show.js": "function show(v) { document.getElementById('a').innerHTML = v }"}[src]
	})
	all := p.Writes(opened(t, image, ""), "q7")
	if len(all) != 1 || !all[0].Sure || !all[0].Runs("q7") || all[0].Sink != "innerHTML" {
		t.Errorf("writes %+v", all)
	}
	if domflow.Runs(document, opened(t, image, ""), "q7") {
		t.Error("a script of elsewhere is not in the document")
	}
}

func TestViewsOfRoutes(t *testing.T) {
	document := `<div id=a></div><script>const el = document.getElementById('a');
		const views = { async items() { const me = await api('/me'); el.innerHTML = '<p>' + me.count },
			async hello(name) { el.innerHTML = 'Hello ' + decodeURIComponent(name || 'you') } };
		const route = async () => { const [, v, n] = location.hash.split('/'); if (views[v]) return views[v](n);
			(await api('/me')).name ? views.items() : views.login() };
		addEventListener('hashchange', route); route()</script>`
	if !domflow.Runs(document, opened(t, "/hello/<img src=x onerror=q7()>", ""), "q7") {
		t.Error("the view of a route is not followed")
	}
	if domflow.Runs(document, opened(t, "/items/<img src=x onerror=q7()>", ""), "q7") {
		t.Error("a view that does not use its route is reported")
	}
}

// Scripts are those of strangers: what is long, deep or endless ends.
func TestLimits(t *testing.T) {
	for name, script := range map[string]string{
		"deep":    strings.Repeat("(", 100_000),
		"long":    strings.Repeat("a = 1;", 100_000),
		"endless": "function f(n) { return f(n + 1) + f(n) } f(0)",
		"growing": "var s = location.hash; for (var i = 0; i < 1e9; i++) s += s;",
		"ifs":     strings.Repeat("if (a) ", 30_000) + "b()",
	} {
		if domflow.Runs(page(script), opened(t, image, ""), "q7") {
			t.Errorf("%s runs", name)
		}
	}
}

func FuzzRuns(f *testing.F) {
	f.Add("var [a, , b] = location.hash.split('/'); a?.b?.(c => ({...c})); for (const x of [1, 2]) `${x}`; switch (a) { default: }")
	f.Add("class A { static #b = 1; get c() { return this } } label: for (;;) { break label } x ??= y; async () => { await z }")
	f.Fuzz(func(t *testing.T, script string) {
		domflow.Runs(page(script), opened(t, image, "q=q7"), "q7")
	})
}

// What scripts write out of the answers that they ask for is said: in the promises of fetch, awaited, or of a library;
// not what they write as text, escape, or ask for in another way than by address.
func TestAnswersOfTheServer(t *testing.T) {
	at := "document.getElementById('a')"
	const all = "const all = await (await fetch('/rows')).json();"
	for script, want := range map[string]bool{
		"fetch('/rows').then(r => r.json()).then(all => { for (const t of all) { const p = document.createElement('p'); p.innerHTML = t.text } })": true,
		"fetch('/rows').then(function (r) { return r.json() }).then(d => d.forEach(t => { " + at + ".innerHTML += t.text }))":                      true,
		"async function f() { " + all + at + ".innerHTML = all.map(t => `<li>${t.text}</li>`).join('') } f()":                                      true,
		"$.getJSON('/rows', function (all) { $('#a').html(all[0].text) })":                                                                         true,
		"fetch('/rows').then(r => { if (!r.ok) throw 1; return r.json() }).then(all => " + at + ".insertAdjacentHTML('beforeend', all[0].text))":   true,
		"fetch('/rows').then(r => r.json()).then(all => { for (const t of all) { " + at + ".textContent = t.text } })":                             false,
		"fetch('/rows').then(r => r.json()).then(all => " + at + ".innerHTML = escapeHtml(all[0].text))":                                           false,
		"fetch('/rows').then(r => r.json()).then(all => " + at + ".innerHTML = all[0].text.replace(/</g, '&lt;'))":                                 false,
		"fetch('/rows', {method: 'POST'}).then(r => r.json()).then(all => " + at + ".innerHTML = all[0].text)":                                     false,
		"fetch('/none').then(r => r.json()).then(all => " + at + ".innerHTML = all[0].text)":                                                       false,
		"fetch('http://else.example/rows').then(r => r.json()).then(all => " + at + ".innerHTML = all[0].text)":                                    false,
		"fetch('/rows').then(r => r.json()).then(all => { if (all[0].trusted) " + at + ".innerHTML = all[0].text })":                               false,
		"b.onclick = () => fetch('/rows').then(r => r.json()).then(all => " + at + ".innerHTML = all[0].text)":                                     false,
	} {
		p := domflow.Read(page(script), nil)
		p.Ask = func(to *url.URL) (string, bool) {
			return `[{"text": "<img src=x onerror=q7()>", "trusted": false}]`, to.Path == "/rows"
		}
		got := false
		for _, w := range p.Writes(opened(t, "", ""), "q7") {
			got = got || w.Sure && w.Runs("q7")
		}
		if got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}
