package apps

import (
	"html"
	"net/http"
	"strings"
	"sync"
)

func cms() App {
	return App{
		Name: "cms", About: "a magazine on a PHP content system, deployed with its working copy", handler: newCMS,
		Weaknesses: []Weakness{
			{"cms-git", "538 527 200 540", "/.git/*", "", "The repository is served", `git`},
			{"cms-env", "538 200 522", "/.env", "", "The environment file is served", `\.env|environment`},
			{"cms-source-backup", "530 538 540", "/config.php.bak", "",
				"A backup of the configuration is served as text", `backup|source|\.bak`},
			{"cms-phpinfo", "215 200 497", "/info.php", "", "phpinfo is public", `phpinfo`},
			{"cms-listing", "548", "/uploads", "", "The uploads are listed", `listing|index of`},
			{"cms-redirect", "601", "/out", "to", "Open redirect in outgoing links", `redirect`},
			{"cms-stored-xss", "79", "/article", "comment", "Stored cross-site scripting in comments",
				`xss|cross.site.script|stored`},
			{"cms-forwarded-host", "644 348 74 20", "", "", "Links are made from X-Forwarded-Host",
				`forwarded|host header|cache poison`},
			{"cms-version", "497 200", "", "", "Versions are disclosed in a header and in the page",
				`version|powered|generator|banner`},
			noHeaders("cms"),
		},
	}
}

func newCMS() http.Handler {
	var mu sync.Mutex
	var comments []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if forwarded := r.Header.Get("X-Forwarded-Host"); forwarded != "" {
			host = forwarded
		}
		send(w, "text/html; charset=utf-8", `<!doctype html><html lang="en"><head><title>The Tide</title><meta name="generator" content="Quill CMS 2.3.1">
<link rel="canonical" href="http://`+html.EscapeString(host)+`/"></head><body><h1>The Tide</h1>
<p><a href="/article?id=7">How harbours work</a> <a href="/out?to=https://example.com/">Our friends</a> <a href="/uploads/">Pictures</a></p></body></html>`)
	})
	mux.HandleFunc("GET /article", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		page(w, "How harbours work", "<h1>How harbours work</h1><ul><li>"+strings.Join(comments, "</li><li>")+`</li></ul><form method="post" action="/article"><textarea name="comment"></textarea><button>Say it</button></form>`)
	})
	mux.HandleFunc("POST /article", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if comment := r.FormValue("comment"); len(comment) < 1000 && len(comments) < 1000 {
			comments = append(comments, comment)
		}
		http.Redirect(w, r, "/article?id=7", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /out", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", strings.NewReplacer("\r", "", "\n", "").Replace(r.FormValue("to")))
		w.WriteHeader(http.StatusFound)
	})
	for path, body := range map[string]string{
		"/.git/HEAD":      "ref: refs/heads/main\n",
		"/.git/config":    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://git.the-tide.example/site.git\n",
		"/.env":           "APP_ENV=production\nDB_USERNAME=tide\nDB_PASSWORD=made-up-and-not-a-password\n",
		"/config.php.bak": "<?php\n$db_host = 'localhost';\n$db_password = 'made-up-and-not-a-password';\n",
	} {
		mux.HandleFunc("GET "+path, text("text/plain", body))
	}
	mux.HandleFunc("GET /info.php", text("text/html; charset=utf-8", `<!DOCTYPE html><html><head><title>PHP 7.4.33 - phpinfo()</title></head><body><h1 class="p">PHP Version 7.4.33</h1><table><tr><td class="e">System </td><td class="v">Linux tide 5.10</td></tr></table></body></html>`))
	mux.HandleFunc("GET /uploads/{$}", text("text/html", "<html>\r\n<head><title>Index of /uploads/</title></head>\r\n<body>\r\n<h1>Index of /uploads/</h1><hr><pre><a href=\"../\">../</a>\r\n<a href=\"pier.txt\">pier.txt</a>  12-Mar-2024 09:14  26\r\n</pre><hr></body>\r\n</html>\r\n"))
	mux.HandleFunc("GET /uploads/pier.txt", text("text/plain", "A picture of a pier.\n"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Powered-By", "PHP/7.4.33")
		mux.ServeHTTP(w, r)
	})
}
