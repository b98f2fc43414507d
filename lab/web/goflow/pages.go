package goflow

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// kb is a knowledge base: topics with comments, a search, files, and a letter that users lay out.
func kb(s *site) {
	s.login(entry{at: "/signin", name: "user", cookie: safeCookie})
	var comments []string
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Knowledge", s.hello(r)+link("/topics?tag=wood", "Wood")+link("/talk", "Talk")+link("/layout", "Layout")+
			link("/read?doc=help.txt", "Help")+`<form action="/find"><input name="words" value="oak"></form>`)
	})
	s.HandleFunc("GET /find", func(w http.ResponseWriter, r *http.Request) {
		words := r.URL.Query().Get("words")
		if s.weak { // the text is encoded, the attribute is not
			show(w, 200, "Found", `<form action="/find"><input name="words" value="`+words+`"></form><p>Nothing about `+enc(words)+`.</p>`)
			return
		}
		show(w, 200, "Found", `<form action="/find"><input name="words" value="`+enc(words)+`"></form><p>Nothing about `+enc(words)+`.</p>`)
	})
	s.HandleFunc("GET /topics", func(w http.ResponseWriter, r *http.Request) {
		tag := r.URL.Query().Get("tag")
		text, values := "SELECT name, price FROM goods WHERE tag = ? ORDER BY id", []any{tag}
		if s.weak {
			text, values = `SELECT name, price FROM goods WHERE tag = "`+tag+`" ORDER BY id`, nil
		}
		list, err := s.rows(text, values...)
		if err != nil {
			show(w, 500, "Topics", "<p>"+enc(err.Error())+"</p>")
			return
		}
		show(w, 200, "Topics", list)
	})
	s.HandleFunc("GET /talk", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		show(w, 200, "Talk", "<ol>"+strings.Join(comments, "")+"</ol>"+form("/talk", "nick=guest", "words=hello"))
	})
	s.HandleFunc("POST /talk", func(w http.ResponseWriter, r *http.Request) {
		nick := r.PostFormValue("nick")
		if !s.weak {
			nick = enc(nick)
		}
		s.mu.Lock()
		comments = append(comments, `<li title="`+nick+`">`+enc(r.PostFormValue("words"))+"</li>")
		s.mu.Unlock()
		http.Redirect(w, r, "/talk", http.StatusSeeOther)
	})
	s.HandleFunc("/layout", func(w http.ResponseWriter, r *http.Request) {
		text := r.PostFormValue("layout")
		if text == "" {
			text = "Dear reader"
		}
		shown := text
		if s.weak {
			t, err := template.New("letter").Parse(text)
			var b strings.Builder
			if err != nil || t.Execute(&b, map[string]string{"Reader": "anna"}) != nil {
				show(w, 200, "Layout", "<p>This cannot be laid out.</p>"+form("/layout", "layout=Dear reader"))
				return
			}
			shown = b.String()
		}
		show(w, 200, "Layout", "<blockquote>"+enc(shown)+"</blockquote>"+form("/layout", "layout=Dear reader"))
	})
	_ = os.WriteFile(filepath.Join(s.files, "help.txt"), []byte("Ask somebody.\n"), 0o644) // it is missed when it is read
	s.HandleFunc("GET /read", func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("doc")
		if !s.weak {
			name = filepath.Base(filepath.Clean("/" + name))
		}
		text, err := os.ReadFile(s.files + "/" + name)
		if err != nil {
			show(w, 404, "Read", "<p>open: no such file</p>")
			return
		}
		show(w, 200, "Read", "<pre>"+enc(string(text))+"</pre>")
	})
}

func (s *site) rows(text string, values ...any) (string, error) {
	rows, err := s.db.Query(text, values...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var list strings.Builder
	for rows.Next() {
		var name, price any
		if err := rows.Scan(&name, &price); err != nil {
			return "", err
		}
		fmt.Fprintf(&list, "<li>%s %s</li>", enc(fmt.Sprint(name)), enc(fmt.Sprint(price)))
	}
	return "<ul>" + list.String() + "</ul>", rows.Err()
}

// goods answers the goods in an order.
func (s *site) goods(w http.ResponseWriter, column string) {
	if !s.weak && column != "name" && column != "price" {
		column = "name"
	}
	rows, err := s.db.Query("SELECT name FROM goods ORDER BY " + column)
	if err != nil {
		answer(w, 400, map[string]string{"message": "they cannot be sorted so"})
		return
	}
	defer rows.Close()
	names := []string{}
	for rows.Next() {
		var name string
		if rows.Scan(&name) == nil {
			names = append(names, name)
		}
	}
	if rows.Err() != nil {
		answer(w, 400, map[string]string{"message": "they cannot be sorted so"})
		return
	}
	answer(w, 200, names)
}

// tools asks programs: whether a host is there, how wide a picture is, and in the background.
func tools(s *site) {
	host := regexp.MustCompile(`^[\w.-]{1,60}$`)
	run := func(line string, value string) string {
		if !s.weak {
			if !host.MatchString(value) {
				return "not a name"
			}
			out, _ := exec.Command("echo", "checked", value).Output() // what fails says nothing
			return string(out)
		}
		out, _ := exec.Command("sh", "-c", line).CombinedOutput() // see above
		return string(out)
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		show(w, 200, "Tools", link("/host", "Hosts")+link("/measure?width=40", "Measure")+link("/archive", "Archive")+link("/debug/vars", "Numbers"))
	})
	s.HandleFunc("GET /host", func(w http.ResponseWriter, _ *http.Request) { show(w, 200, "Hosts", form("/host", "host=alpha")) })
	s.HandleFunc("POST /host", func(w http.ResponseWriter, r *http.Request) {
		v := r.PostFormValue("host")
		show(w, 200, "Hosts", "<pre>"+enc(run("echo checked '"+v+"'", v))+"</pre>"+form("/host", "host=alpha"))
	})
	s.HandleFunc("GET /measure", func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query().Get("width")
		show(w, 200, "Measure", "<pre>"+enc(run("expr "+v+" + 2", v))+"</pre>")
	})
	s.HandleFunc("GET /archive", func(w http.ResponseWriter, _ *http.Request) { show(w, 200, "Archive", form("/archive", "title=july")) })
	s.HandleFunc("POST /archive", func(w http.ResponseWriter, r *http.Request) {
		v := r.PostFormValue("title")
		run(`true "`+v+`"`, v)
		show(w, 200, "Archive", "<p>It is being made.</p>")
	})
	s.HandleFunc("GET /debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		if !s.weak {
			answer(w, 200, map[string]int{"visits": 40})
			return
		}
		answer(w, 200, map[string]any{"cmdline": []string{"/usr/local/bin/tools", "--dsn", "postgres://lab:hunter2pass@db.lab.example/tools"},
			"memstats": map[string]int{"Alloc": 331_000}})
	})
	if s.weak {
		s.HandleFunc("GET /debug/pprof/{$}", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html><head><title>/debug/pprof/</title></head><body>/debug/pprof/<p>Types of profiles available:<table>"+
				"<tr><td>8</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr><tr><td>2</td><td><a href='heap?debug=1'>heap</a></td></tr></table></body></html>")
		})
	}
}

// store searches goods: in a path, in JSON, in a cookie, and in a number.
func store(s *site) {
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("last_seen")
		if err != nil {
			http.SetCookie(w, &http.Cookie{Name: "last_seen", Value: "lamp", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			c = &http.Cookie{Value: "lamp"}
		}
		text, values := "SELECT name, price FROM goods WHERE name = ?", []any{c.Value}
		if s.weak {
			text, values = "SELECT name, price FROM goods WHERE name = '"+c.Value+"'", nil
		}
		seen, err := s.rows(text, values...)
		if err != nil {
			seen = "<ul></ul>"
		}
		show(w, 200, "Store", "<h2>Seen</h2>"+seen+link("/shelf/steel", "Steel")+link("/shelf/wood", "Wood")+link("/pages?from=1", "All")+
			`<script>fetch('/api/query', {method: 'POST', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify({filter: {name: 'desk', below: 900}})}).then(r => r.json()).then(console.log)</script>`)
	})
	s.HandleFunc("GET /shelf/{tag}", func(w http.ResponseWriter, r *http.Request) {
		text, values := "SELECT name, price FROM goods WHERE tag = ?", []any{r.PathValue("tag")}
		if s.weak {
			text, values = "SELECT name, price FROM goods WHERE (tag = '"+r.PathValue("tag")+"')", nil
		}
		list, err := s.rows(text, values...)
		if err != nil || list == "<ul></ul>" {
			show(w, 404, "Shelf", "<p>This shelf is empty.</p>")
			return
		}
		show(w, 200, "Shelf", list)
	})
	s.HandleFunc("GET /pages", func(w http.ResponseWriter, r *http.Request) {
		text, values := "SELECT name, price FROM goods WHERE id >= ? ORDER BY id LIMIT 2", []any{r.URL.Query().Get("from")}
		if s.weak {
			text, values = "SELECT name, price FROM goods WHERE id >= "+r.URL.Query().Get("from")+" ORDER BY id LIMIT 2", nil
		}
		list, err := s.rows(text, values...)
		if err != nil {
			list = "<p>Nothing is here.</p>"
		}
		show(w, 200, "All", list)
	})
	s.HandleFunc("POST /api/query", func(w http.ResponseWriter, r *http.Request) {
		filter, _ := asked(r)["filter"].(map[string]any)
		name, _ := filter["name"].(string)
		text, values := "SELECT name, price FROM goods WHERE name = ?", []any{name}
		if s.weak {
			text, values = "SELECT name, price FROM goods WHERE name = '"+name+"'", nil
		}
		list, err := s.rows(text, values...)
		answer(w, 200, map[string]any{"found": strings.Count(list, "<li>"), "fine": err == nil})
	})
}
