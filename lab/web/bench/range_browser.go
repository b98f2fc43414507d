package bench

import (
	"net/http"
	"strings"
)

// domPages are pages whose script uses its address. The proof is the line of the script that does it.
func domPages() (all []page) {
	one := func(folder, name string, weak bool, script, proof string) {
		body := "<p id=\"out\"></p>\n<a id=\"back\" href=\"/\">Back</a>\n<div id=\"box\"></div>\n<script>\n" + script + "\n</script>"
		p := page{folder: folder, name: name, class: "xss", weak: weak, expect: proof,
			serve: func(_ *site, w http.ResponseWriter, _ *http.Request, _ string) { show(w, 200, "Welcome", body) }}
		p.proof = "- GET " + p.path()
		all = append(all, p)
	}
	const hash = "var part = decodeURIComponent(location.hash.slice(1));\n"
	const query = "var part = new URLSearchParams(location.search).get('name') || 'guest';\n"
	one("browser", "hash-html", true, hash+"document.getElementById('out').innerHTML = 'Hello ' + part;", `innerHTML = 'Hello ' \+ part`)
	one("browser", "hash-write", true, hash+"document.write('<p>Hello ' + part + '</p>');", `write\('<p>Hello ' \+ part`)
	one("browser", "hash-eval", true, hash+"if (part) { eval('var n = ' + part); }", `eval\('var n = ' \+ part`)
	one("browser", "hash-location", true, hash+"if (part) { location.href = part; }", "href = part")
	one("browser", "query-html", true, query+"document.getElementById('box').insertAdjacentHTML('beforeend', '<b>' + part + '</b>');", `insertAdjacentHTML\('beforeend', '<b>' \+ part`)
	one("browser", "query-attribute", true, query+"document.write('<img alt=\"' + part + '\" src=\"/home.html\">');", `alt="' \+ part`)
	one("browser", "query-link", true, query+"document.getElementById('back').setAttribute('href', part);", `setAttribute\('href', part`)
	one("browser", "query-timer", true, query+"setTimeout('document.title = \"' + part + '\"', 10);", `title = "' \+ part`)
	one("browser", "path-html", true, "document.getElementById('out').innerHTML = decodeURIComponent(location.href);", `innerHTML = decodeURIComponent\(location`)
	one("browser", "message", true, "window.addEventListener('message', function (e) { document.getElementById('out').innerHTML = e.data; });", "innerHTML = e.data")
	const html = `innerHTML|write\(|eval\(|insertAdjacent|setAttribute|href = part|setTimeout\('`
	one("browser-looks", "hash-text", false, hash+"document.getElementById('out').textContent = 'Hello ' + part;", html)
	one("browser-looks", "query-node", false, query+"document.getElementById('box').appendChild(document.createTextNode(part));", html)
	one("browser-looks", "hash-number", false, hash+"document.getElementById('out').innerHTML = 'Page ' + (parseInt(part, 10) || 1);", `innerHTML = 'Page ' \+ part`)
	one("browser-looks", "query-encoded", false, query+"document.write('<p>Hello ' + part.replace(/[^a-z]/g, '') + '</p>');", `write\('<p>Hello ' \+ part \+`)
	one("browser-looks", "hash-listed", false, hash+"if (part === 'home' || part === 'range') { location.href = '/' + part + '.html'; }", "href = part")
	return all
}

const hiddenFolder = "old"

const source = `<%@ page import="java.sql.*" %>
<% String db_user = "shop"; String db_password = "Teal-Heron-41";
   Connection c = DriverManager.getConnection("jdbc:postgresql://db.lab.example/shop", db_user, db_password); %>
`

// hidden are files that nothing links to, with what they have.
func hidden() map[string]string {
	return map[string]string{
		"/old/shop.jsp.bak":   source,
		"/old/shop.jsp.old":   source,
		"/old/login.jsp~":     source,
		"/old/.shop.jsp.swp":  "b0VIM 8.2\x00\x00" + source,
		"/old/shop.txt":       source,
		"/old/web.config.bak": "<configuration><add key=\"db_password\" value=\"Teal-Heron-41\"/></configuration>\n",
		"/old/.env":           "DB_USER=shop\ndb_password=Teal-Heron-41\n",
		"/old/backup.sql":     "CREATE TABLE members (name text, pass text);\nINSERT INTO members VALUES ('root', 'db_password Teal-Heron-41');\n",
	}
}

// hiddenPages are files that were left beside pages, by their paths. What looks like some of them stands in a folder that
// answers every name, and in one that refuses every copy.
func hiddenPages() (all []page) {
	one := func(path string, weak bool) {
		all = append(all, page{folder: hiddenFolder, name: path, class: "exposure", weak: weak, proof: "- GET " + path, expect: "^200(?s).*Teal-Heron"})
	}
	for _, name := range []string{"/old/shop.jsp.bak", "/old/shop.jsp.old", "/old/login.jsp~", "/old/.shop.jsp.swp", "/old/shop.txt", "/old/web.config.bak",
		"/old/.env", "/old/backup.sql"} {
		one(name, true)
	}
	for _, name := range []string{"/any/shop.jsp.bak", "/any/.env", "/any/backup.sql", "/shut/shop.jsp.bak", "/shut/.env"} {
		one(name, false)
	}
	return all
}

// buildHidden serves the folders of old files.
func buildHidden(s *site) {
	for path, text := range hidden() {
		s.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			kind := "application/octet-stream"
			if strings.HasSuffix(path, ".txt") || strings.HasSuffix(path, ".sql") {
				kind = "text/plain; charset=utf-8"
			}
			write(w, 200, kind, text)
		})
	}
	for _, folder := range []string{"old", "any", "shut"} {
		pages := "<ul>" + link("/"+folder+"/shop.jsp", "Shop") + link("/"+folder+"/login.jsp", "Login") + "</ul>"
		s.HandleFunc("GET /"+folder+"/{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, 200, folder, pages) })
		for _, name := range []string{"shop", "login"} {
			s.HandleFunc("GET /"+folder+"/"+name+".jsp", func(w http.ResponseWriter, _ *http.Request) {
				show(w, 200, name, "<p>This part of the shop is closed.</p>"+pages)
			})
		}
	}
	s.HandleFunc("GET /any/", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Shop", "<p>We did not find "+enc(r.URL.Path)+". Is it one of these?</p>"+link("/any/shop.jsp", "Shop"))
	})
	s.HandleFunc("GET /shut/", func(w http.ResponseWriter, _ *http.Request) {
		show(w, http.StatusForbidden, "Shop", "<p>You may not see this.</p>")
	})
}
