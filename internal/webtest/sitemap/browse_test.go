package sitemap_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// TestBrowserRunsScripts has an application of which no address stands in a text.
func TestBrowserRunsScripts(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	pool := browser.New(browser.Config{Nobody: true})
	defer pool.Close()
	m, asked := crawl(t, client.Config{}, sitemap.Config{Browser: pool}, pages(map[string]string{
		"/": `<div id=app></div><script>
			const j = (...p) => "/" + p.join("/");
			const live = new WebSocket(location.origin.replace("http", "ws") + j("li", "ve"));
			const show = () => {
				app.innerHTML = location.hash === "#/items" ? '<button id=b>Search</button><button id=d>Delete it</button>' : '<a href="#/items">items</a><a href="' + j("made","page") + '">m</a>';
				if (window.b) b.onclick = () => live.send(JSON.stringify({type: "find", term: "y"})) || fetch(j("api", "find"), {method: "PO" + "ST", headers: {"Content-Type": "application/json", "X-Kind": "k"}, body: JSON.stringify({term: "x"})});
				if (window.d) d.onclick = () => fetch(j("api", "gone"));
			};
			window.onhashchange = show; show();
			const x = new XMLHttpRequest(); x.open("GET", j("api", "list") + "?page=1"); x.send();
		</script>`,
		"/made/page": "<b>made</b>", "/api/find": `{"found": 1}`, "/api/list": `{"list": []}`, "/api/gone": `{}`,
	}))
	has(t, lines(m), "GET /made/page", "GET /api/list?page=1", `POST /api/find {"term":"x"}`,
		`WEBSOCKET /li/ve {"type":"find","term":"y"}`)
	hasNot(t, asked, "gone")
	if m.Headers["X-Kind"] == "" {
		t.Errorf("headers %v", m.Headers)
	}
}
