package technique

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"html"
	htmltemplate "html/template"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/antchfx/xmlquery"
	"github.com/dop251/goja"
	_ "modernc.org/sqlite"
)

// database has users: 1 alice, 2 bob, 3 carol.
var database = sync.OnceValue(func() *sql.DB {
	db, err := sql.Open("sqlite", "file:technique?mode=memory&cache=shared")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range []string{"CREATE TABLE users (id INTEGER, name TEXT, pass TEXT)",
		"INSERT INTO users VALUES (1, 'alice', 'a'), (2, 'bob', 'b'), (3, 'carol', 'c')"} {
		if _, err := db.Exec(s); err != nil {
			panic(err)
		}
	}
	return db
})

// query answers with the rows of a statement; loud with the message of its error.
func query(loud bool, statement func(v string) (string, []any)) func(string) string {
	return func(v string) string {
		text, args := statement(v)
		rows, err := database().Query(text, args...)
		if err != nil {
			if loud {
				return "<p>sqlite3.OperationalError: " + html.EscapeString(err.Error()) + "</p>"
			}
			return "<p>something went wrong</p>"
		}
		defer rows.Close()
		out := "<table>"
		for rows.Next() {
			var id, name string
			if err := rows.Scan(&id, &name); err != nil {
				return "<p>something went wrong</p>"
			}
			out += "<tr><td>" + id + "</td><td>" + name + "</td></tr>"
		}
		if rows.Err() != nil {
			return "<p>something went wrong</p>"
		}
		return out + "</table>"
	}
}

func statement(format string) func(string) (string, []any) {
	return func(v string) (string, []any) { return fmt.Sprintf(format, v), nil }
}

func shell(format string, show bool) func(string) string {
	return func(v string) string {
		out, _ := exec.Command("sh", "-c", fmt.Sprintf(format, v)).Output()
		if !show {
			return "<p>done</p>"
		}
		return "<pre>" + html.EscapeString(string(out)) + "</pre>"
	}
}

// disk is what the applications that read files can see.
var disk = map[string]string{
	"/etc/passwd":     "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n",
	"/etc/group":      "root:x:0:\ndaemon:x:1:\n",
	"/app/data/a.txt": "hello", "/app/data/docs/a.txt": "hello", "/data/a.txt": "hello",
	"/windows/win.ini": "; for 16-bit app support\n[fonts]\n[extensions]\n[mci extensions]\n",
}

// stripped takes blanks, comments and words of SQL out of what another application gets, again and again.
func stripped(app func(string) string) func(string) string {
	words := regexp.MustCompile(`(?i)\s|union|select|or|and|case|--|/\*`)
	return func(v string) string {
		for words.MatchString(v) {
			v = words.ReplaceAllString(v, "")
		}
		return app(v)
	}
}

// noBraces refuses two braces, and computes what a statement of a template prints.
func noBraces(pattern string) func(string) string {
	return func(v string) string {
		if strings.Contains(v, "{{") || strings.Contains(v, "}}") {
			return "<p>No braces, please"
		}
		return "<p>Hello " + replaceMath(v, pattern) + "</p>"
	}
}

// begins reads a file whose name begins as a pattern says.
func begins(pattern, name string) func(string) string {
	allowed := regexp.MustCompile(pattern)
	return func(v string) string {
		switch {
		case v == name:
			return "<p>hello</p>"
		case allowed.MatchString(v):
			return read(path.Join("/app/data", v))
		}
		return "<p>No such file</p>"
	}
}

func read(name string) string {
	if name, _, ok := strings.Cut(name, "\x00"); ok {
		return read(name)
	}
	if text, ok := disk[path.Clean(name)]; ok {
		return "<pre>" + html.EscapeString(text) + "</pre>"
	}
	return "<p>there is no such file</p>"
}

func script(code string) string {
	value, err := goja.New().RunString(code)
	if err != nil {
		return "<p>error</p>"
	}
	return "<p>" + html.EscapeString(value.String()) + "</p>"
}

// sleeps says how long a text asks a database to sleep, in a header that the test reads.
func sleeps(pattern string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(v string) string {
		if m := re.FindStringSubmatch(v); m != nil {
			return "slept " + m[1]
		}
		return "slept 0"
	}
}

// computes is sleeps for work, of which each unit takes so many seconds.
func computes(pattern string, unit float64) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(v string) string {
		if m := re.FindStringSubmatch(v); m != nil {
			n, _ := strconv.ParseFloat(m[1], 64)
			return fmt.Sprint("slept ", n*unit)
		}
		return "slept 0"
	}
}

// listed lists in the order of a value, or as usual where that is none.
func listed(usual string) func(string) string {
	ask := query(false, statement("SELECT id, name FROM users ORDER BY id %s"))
	return func(v string) string {
		if page := ask(v); strings.Contains(page, "<tr>") {
			return page
		}
		return ask(usual)
	}
}

// apps answer to a value.
var apps = map[string]func(string) string{
	"sqlite-string": query(true, statement("SELECT id, name FROM users WHERE id='%s'")),
	"sqlite-no-blanks": func(v string) string {
		return query(false, statement("SELECT id, name FROM users WHERE (id='%s')"))(strings.Join(strings.Fields(v), ""))
	},
	"sqlite-strips-words":      stripped(query(false, statement("SELECT id, name FROM users WHERE (id='%s')"))),
	"sqlite-like-strips-words": stripped(query(false, statement("SELECT id, name FROM users WHERE id LIKE '%%%s%%'"))),
	"sqlite-quiet":             query(false, statement("SELECT id, name FROM users WHERE (id='%s')")),
	"sqlite-number":            query(false, statement("SELECT id, name FROM users WHERE id=%s")),
	"sqlite-double":            query(false, statement(`SELECT id, name FROM users WHERE CAST(id AS TEXT)="%s"`)),
	"sqlite-like":              query(false, statement("SELECT id, name FROM users WHERE id LIKE '%%%s%%'")),
	"sqlite-like-paren":        query(false, statement("SELECT id, name FROM users WHERE (lower(id) LIKE lower('%%%s%%'))")),
	"sqlite-column":            query(false, statement("SELECT id, %s FROM users")),
	"sqlite-order":             query(false, statement("SELECT id, name FROM users ORDER BY %s")),
	"sqlite-direction":         query(true, statement("SELECT id, name FROM users ORDER BY name %s")),
	"sqlite-offset":            query(true, statement("SELECT id, name FROM users ORDER BY id LIMIT 3 OFFSET %s")),
	"sqlite-limit":             query(false, statement("SELECT id, name FROM users LIMIT %s")),
	"sqlite-login":             query(false, statement("SELECT id, name FROM users WHERE name='%s' AND pass='zz'")),
	"sqlite-login-silent": func(v string) string {
		if strings.Contains(query(false, statement("SELECT id, name FROM users WHERE name='%s' AND pass='zz'"))(v), "<tr>") {
			return "<p>welcome</p>"
		}
		return "<p>no such user</p>"
	},
	"bound": query(true, func(v string) (string, []any) {
		return "SELECT id, name FROM users WHERE id=?", []any{v}
	}),
	"casts": func(v string) string {
		n, _ := strconv.Atoi(regexp.MustCompile(`^-?\d*`).FindString(v))
		return query(true, statement("SELECT id, name FROM users WHERE id=%s"))(strconv.Itoa(n))
	},
	"strips-quotes": func(v string) string {
		v = strings.NewReplacer("'", "", `"`, "").Replace(v)
		return query(true, func(string) (string, []any) { return "SELECT id, name FROM users WHERE id=?", []any{v} })(v)
	},
	"mysql-message": func(v string) string {
		if strings.Count(v, "'")%2 == 1 {
			return "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server " +
				"version for the right syntax to use near '" + html.EscapeString(v[strings.Index(v, "'")+1:]) + "' at line 1"
		}
		if m := regexp.MustCompile(`extractvalue\(1,concat\(0x7e,\((\d+)\*(\d+)\)\)\)`).FindStringSubmatch(v); m != nil {
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			return fmt.Sprintf("XPATH syntax error: '~%d'", a*b)
		}
		return "<p>nothing</p>"
	},
	"fixed-message": func(string) string {
		return "<p>You have an error in your SQL syntax; check the manual that corresponds to your MySQL server</p>"
	},
	"validator-message": func(v string) string {
		if strings.ContainsAny(v, `'"\`) {
			return "<p>You have an error in your SQL syntax; check the manual that corresponds to your MySQL server</p>"
		}
		return "<p>ok</p>"
	},
	"echo":         func(v string) string { return "<p>You asked for " + v + "</p>" },
	"escaped-echo": func(v string) string { return "<p>You asked for " + html.EscapeString(v) + "</p>" },
	// What is not understood is listed as usual; one word turns the list around.
	"sqlite-turned":      listed("ASC"),
	"sqlite-turned-back": listed("DESC"),
	"turned-by-words": func(v string) string {
		way := "ASC"
		if strings.EqualFold(v, "DESC") || strings.HasPrefix(v, "*(CASE") {
			way = "DESC"
		}
		return query(false, statement("SELECT id, name FROM users ORDER BY id %s"))(way)
	},
	"turned-at-random": func(string) string {
		return query(false, statement("SELECT id, name FROM users ORDER BY id %s"))([]string{"ASC", "DESC"}[rand.IntN(2)])
	},
	// Python fills in the members of what a place names.
	"python-format": func(v string) string {
		out := strings.ReplaceAll(v, "{name}", "Ann")
		out = strings.ReplaceAll(out, "{name.__class__.__base__.__name__}", "object")
		if strings.ContainsAny(out, "{}") {
			return "<p>a place is not known</p>"
		}
		return "<p>" + html.EscapeString(out) + "</p>"
	},
	"filled-in": func(v string) string {
		return "<p>" + html.EscapeString(regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllString(v, "Ann")) + "</p>"
	},
	"strips-braces": func(v string) string {
		return "<p>" + html.EscapeString(strings.NewReplacer("{", "", "}", "", "$", "", "#", "").Replace(v)) + "</p>"
	},
	// A random number may have a zero, so that one of two texts that differ in their numbers alone may lose nothing.
	"keeps-letters": func(v string) string {
		return "<p>unknown action " + regexp.MustCompile(`[^1-9a-zA-Z]+`).ReplaceAllString(v, "") + "</p>"
	},
	"keeps-digits": func(v string) string {
		return "<p>no item " + regexp.MustCompile(`[^1-9]+`).ReplaceAllString(v, "") + "</p>"
	},
	"random": func(string) string { return "<p>" + []string{"yes", "no", "maybe"}[rand.IntN(3)] + "</p>" },
	"firewall": func(v string) string {
		if regexp.MustCompile(`(?i)\b(and|or|select|case)\b`).MatchString(v) {
			return "<p>blocked</p>"
		}
		return "<p>ok</p>"
	},
	"slow-on-words": func(v string) string {
		if regexp.MustCompile(`(?i)sleep|waitfor|randomblob`).MatchString(v) {
			return "slept 5"
		}
		return "slept 0"
	},
	// A volatile function in a condition is called for each of five rows, one in a statement of its own once.
	"sleeps-postgres-rows": func(v string) string {
		if m := regexp.MustCompile(`^[a-z]+'\|\|pg_sleep\((\d+)\)\|\|'$`).FindStringSubmatch(v); m != nil {
			n, _ := strconv.Atoi(m[1])
			return fmt.Sprint("slept ", 5*n)
		}
		return sleeps(`^[a-z]+'\|\|\(SELECT''FROM/\*\*/pg_sleep\((\d+)\)\)\|\|'$`)(v)
	},
	"sleeps-postgres-filtered": func(v string) string {
		return sleeps(`^[a-z]+'\|\|pg_sleep\((\d+)\)\|\|'$`)(regexp.MustCompile(`(?i)select`).ReplaceAllString(v, ""))
	},
	"computes-sqlite": computes(`^[a-z]+'\|\|\(SELECT.*RANDOMBLOB\((\d+)\).*\|\|'$`, 12e-8),
	"computes-slowly": computes(`^\d+-\(SELECT.*RANDOMBLOB\((\d+)\).*\)b\)$`, 15e-7),
	"slow-by-length":  func(v string) string { return fmt.Sprint("slept ", float64(len(v))/100) },
	// A cache that the first such text fills.
	"slow-once": func(v string) string {
		if strings.Contains(v, "RANDOMBLOB(01000000)") {
			return "slept 0.6"
		}
		return "slept 0"
	},
	"sleeps-mysql": sleeps(`(?i)^[a-z]+'AND\(SELECT.*SLEEP\((\d+)\)`),
	"sleeps-mysql-filtered": func(v string) string {
		return sleeps(`(?i)^[a-z]+'-IF\(@(?:[a-z]+),0,SLEEP\((\d+)\)\+\(@[a-z]+:=1\)\)-'$`)(regexp.MustCompile(`(?i)select|union`).ReplaceAllString(v, ""))
	},
	"sleeps-postgres": sleeps(`^\d+-\(SELECT\(0\)FROM/\*\*/pg_sleep\((\d+)\)\)$`),
	"shell-silent":    sleeps(`;sleep (\d+);`),
	// In single quotes a shell runs what stands behind the end of a text. Another application refuses what ends a command.
	"shell-silent-single": sleeps(`^[^']*'\$\(sleep\$\{IFS\}(\d+)\)'$`),
	"shell-silent-filtered": func(v string) string {
		v = regexp.MustCompile("[;|&`\n\\s]").ReplaceAllString(v, "")
		return sleeps(`'\$\(sleep\$\{IFS\}(\d+)\)'`)(v)
	},

	"shell":              shell("echo looked up %s", true),
	"shell-single":       shell("echo 'looked up %s'", true),
	"shell-double":       shell(`echo "looked up %s"`, true),
	"shell-no-semicolon": func(v string) string { return shell("echo %s", true)(strings.ReplaceAll(v, ";", "")) },
	// Only a new line comes through: the output of a command, and that alone, as where the command itself says nothing.
	"shell-no-signs":       noSigns(shell("echo looked up %s", true)),
	"shell-no-signs-quiet": noSigns(shell("test -e %s", true)),
	"words-no-signs":       noSigns(func(v string) string { return "<pre>" + html.EscapeString(v) + "</pre>" }),
	"no-shell": func(v string) string {
		out, _ := exec.Command("echo", v).Output()
		return "<pre>" + html.EscapeString(string(out)) + "</pre>"
	},
	"calculator": func(v string) string {
		if m := regexp.MustCompile(`^[^A-Za-z]*(\d+) ?\\?\* ?(\d+)[^A-Za-z]*$`).FindStringSubmatch(v); m != nil {
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			return fmt.Sprintf("<p>%s is %d</p>", html.EscapeString(v), a*b)
		}
		return "<p>I can only multiply, and not " + html.EscapeString(v) + "</p>"
	},

	"jinja": func(v string) string {
		return "<p>Hello " + replaceMath(v, `\{\{(\d+)\*(\d+)\}\}`) + "</p>"
	},
	"jinja-inner": func(v string) string {
		if strings.Contains(v, "}}") || strings.Count(v, "'")%2 == 1 {
			return "<p>template syntax error</p>"
		}
		return "<p>Hello " + html.EscapeString(replaceMath(v, `'~\((\d+)\*(\d+)\)~'`)) + "</p>"
	},
	// A greeting of the user in a text of an expression: braces mean nothing there.
	"jinja-inner-text": func(v string) string {
		if strings.Count(v, "'")%2 == 1 {
			return "<p>template syntax error</p>"
		}
		return "<p>" + html.EscapeString(replaceMath(v, `'~\((\d+)\*(\d+)\)~'`)) + " anna</p>"
	},
	"expression-language": func(v string) string {
		return "<p>Hello " + html.EscapeString(replaceMath(v, `\$\{(\d+)\*(\d+)\}`)) + "</p>"
	},
	"erb":               func(v string) string { return "<p>Hello " + replaceMath(v, `<%= ?(\d+)\*(\d+) ?%>`) + "</p>" },
	"ejs-question":      marked("<?=", "?>"),
	"jinja-square":      marked("[[", "]]"),
	"freemarker-square": marked("[=", "]"),
	// A wiki makes links of what is in square brackets.
	"links-square": func(v string) string {
		return "<p>" + regexp.MustCompile(`\[\[([^][]*)\]\]`).ReplaceAllString(html.EscapeString(v), `<a href="/wiki/$1">$1</a>`) + "</p>"
	},
	"jinja-no-braces":  noBraces(`\{% ?print\((\d+)\*(\d+)\) ?%\}`),
	"django-no-braces": noBraces(`\{% ?widthratio (\d+) 1 (\d+) ?%\}`),
	"go-template": func(v string) string {
		parsed, err := template.New("").Parse("<p>Hello " + v + "</p>")
		if err != nil {
			return "<p>error</p>"
		}
		var b strings.Builder
		_ = parsed.Execute(&b, nil)
		return b.String()
	},
	"eval-script":        script,
	"eval-script-single": func(v string) string { return script("'hello " + v + "'") },

	"files": func(v string) string { return read("/app/data/" + v) },
	"files-absolute": func(v string) string {
		if !strings.HasPrefix(v, "/") || strings.Contains(v, "..") {
			return "<p>no</p>"
		}
		return read(v)
	},
	"files-strips-once": func(v string) string { return read("/app/data/" + strings.ReplaceAll(v, "../", "")) },
	"files-decodes-twice": func(v string) string {
		if strings.Contains(v, "../") {
			return "<p>no</p>"
		}
		v, _ = url.QueryUnescape(v)
		return read("/app/data/" + v)
	},
	"files-suffix": func(v string) string { return read("/app/data/" + strings.TrimSuffix(v, ".txt") + ".txt") },
	"files-prefix": func(v string) string {
		if !strings.HasPrefix(v, "docs/") {
			return "<p>no</p>"
		}
		return read("/app/data/" + v)
	},
	"counts-characters": func(v string) string {
		return fmt.Sprintf("<p>%d words, %d quotes, %d signs</p>", len(strings.Fields(v)), strings.Count(v, "'"), strings.Count(v, "="))
	},
	"files-refuses-first": func(v string) string {
		if strings.HasPrefix(v, "..") || strings.HasPrefix(v, "/") {
			return "<p>no</p>"
		}
		return read("/app/data/" + v)
	},
	"files-first-line": func(v string) string {
		first, _, _ := strings.Cut(read("/app/data/"+v), "\n")
		return first
	},
	"files-windows": func(v string) string {
		if strings.Contains(v, `\`) {
			return "<p>no</p>"
		}
		return read("/app/data/" + v)
	},
	"files-begins":        begins(`^[a-z]`, "alto"),
	"files-begins-number": begins(`^\d`, "2"),
	"files-safe":          func(v string) string { return read("/app/data/" + path.Base(v)) },
	"shows-passwd":        func(string) string { return "<p>Such a file begins with</p><pre>" + disk["/etc/passwd"] + "</pre>" },
	"java-include": func(v string) string {
		if path.Clean("/jsp/"+v) == "/WEB-INF/web.xml" {
			return "<?xml version=\"1.0\"?><web-app version=\"3\"><servlet/></web-app>"
		}
		if v == "a.jsp" {
			return "<p>a page</p>"
		}
		return "<p>not found</p>"
	},
	"java-include-safe": func(v string) string { return "<p>" + html.EscapeString(v) + " &lt;web-app&gt;</p>" },
	// A front controller that adds the ending to the name of a module, or knows its modules.
	"php-module": func(v string) string {
		rest, filtered := strings.CutPrefix(v, "php://filter/convert.base64-encode/resource=")
		switch {
		case filtered && rest == "start":
			return base64.StdEncoding.EncodeToString([]byte("<?php echo 'begin'; require 'settings.php'; ?>"))
		case v == "start":
			return "<p>begin</p>"
		}
		return "<p>there is no such module</p>"
	},
	"php-module-safe": func(v string) string {
		if v == "start" {
			return "<p>begin</p>"
		}
		return "<p>there is no such module: " + html.EscapeString(base64.StdEncoding.EncodeToString([]byte(v))) + "</p>"
	},
	"php-include": func(v string) string {
		if rest, ok := strings.CutPrefix(v, "php://filter/convert.base64-encode/resource="); ok && rest == "home.php" {
			return base64.StdEncoding.EncodeToString([]byte("<?php echo 'this is home'; include 'config.php'; ?>"))
		}
		if v != "home.php" {
			return "<p>not found</p>"
		}
		return "<p>home</p>"
	},

	// measured says how long a name is, and finds nobody.
	"measured": func(v string) string { return fmt.Sprintf("<p>%d letters</p>", len(v)) },
	// registered is a login that knows the names which others have registered, that of an earlier test among them.
	"registered": func(v string) string {
		if v == "alice" || v == "alice)(objectClass=*" || v == "alice)(|(qabcdefghiz=*)(objectClass=*)" {
			return "<p>welcome</p>"
		}
		return "<p>wrong name</p>"
	},
	"directory": func(v string) string {
		all := map[string]string{"alice": "Alice A", "bob": "Bob B"}
		switch {
		case strings.Count(v, "(") != strings.Count(v, ")") || strings.Contains(v, "(*"):
			return "<p>error</p>"
		case strings.HasSuffix(v, "=*)(objectClass=*)"):
			name, _, _ := strings.Cut(v, ")(|(")
			if name == "*" {
				return "<p>Alice A</p><p>Bob B</p>"
			}
			return "<p>" + all[name] + "</p>"
		case strings.ContainsAny(v, "()"):
			return "<p>nobody</p>"
		case v == "*":
			return "<p>Alice A</p><p>Bob B</p>"
		case all[v] != "":
			return "<p>" + all[v] + "</p>"
		}
		return "<p>nobody</p>"
	},
	"directory-message": func(v string) string {
		if strings.ContainsAny(v, "()") {
			return "<pre>javax.naming.directory.InvalidSearchFilterException: Unbalanced parenthesis</pre>"
		}
		return "<p>nobody</p>"
	},
	"fixed-ldap-message": func(v string) string {
		if strings.ContainsAny(v, `()\'`) {
			return "<pre>Bad search filter</pre>"
		}
		return "<p>nobody</p>"
	},
	// A guest book that has kept what an earlier test wrote: what is cut from its page as an echo was there before.
	"kept": func(v string) string {
		return "<ol><li>*)(objectClass=*</li><li>hello</li></ol><p>Yours: " + html.EscapeString(v) + "</p>"
	},
	"glob": func(v string) string {
		if ok, _ := path.Match(v, "alice"); ok {
			return "<p>Alice A</p>"
		}
		return "<p>nobody</p>"
	},
	"xpath": func(v string) string {
		doc, err := xmlquery.Parse(strings.NewReader("<users><user><name>alice</name></user><user><name>bob</name></user></users>"))
		if err != nil {
			return err.Error()
		}
		found, err := xmlquery.QueryAll(doc, "//user[name='"+v+"']")
		if err != nil {
			return "<p>error</p>"
		}
		return fmt.Sprintf("<p>%d users</p>", len(found))
	},
	"where-script": func(v string) string {
		value, err := goja.New().RunString("['alice','bob'].filter(function(n){return n=='" + v + "'}).join()")
		if err != nil {
			return "<p>error</p>"
		}
		return "<p>" + value.String() + "</p>"
	},
}

func replaceMath(v, pattern string) string {
	re := regexp.MustCompile(pattern)
	return re.ReplaceAllStringFunc(v, func(s string) string {
		m := re.FindStringSubmatch(s)
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[2])
		return strconv.Itoa(a * b)
	})
}

// serve answers with an application to the parameter q.
func serve(t *testing.T, name string) http.Handler {
	t.Helper()
	app := apps[name]
	if app == nil {
		t.Fatalf("there is no application %q", name)
	}
	page := htmltemplate.Must(htmltemplate.New("").Parse("<html><head><title>Application</title></head><body>{{.}}</body></html>"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(name, "java") {
			w.Header().Set("Set-Cookie", "JSESSIONID=1")
		}
		if strings.HasPrefix(name, "php") {
			w.Header().Set("X-Powered-By", "PHP/8.2")
		}
		body := app(r.FormValue("q"))
		if took, ok := strings.CutPrefix(body, "slept "); ok {
			w.Header().Set("X-Slept", took)
		}
		_ = page.Execute(w, htmltemplate.HTML(body))
	})
}
