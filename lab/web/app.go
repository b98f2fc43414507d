package web

import (
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the database
)

// App is the Go application of the lab: each case of its stack is a filter and a sink, as in the applications of the
// other stacks. It is weak on purpose: it serves loopback only.
type App struct {
	place Place
	db    *sql.DB
	cases map[string]Case
	files http.Handler
	mu    sync.Mutex
	notes map[string][]string
	kept  map[string]string // what visitors have typed, by their cookie and the case
}

const data = `CREATE TABLE items (id INT, name TEXT, price INT, owner TEXT);
CREATE TABLE users (id INT, name TEXT, pass TEXT, mail TEXT);
CREATE TABLE log (who TEXT, what TEXT);
CREATE TABLE counters (page TEXT, n INT);
INSERT INTO items VALUES (1,'chair',30,'warehouse'),(2,'table',80,'warehouse'),(3,'lamp',120,'warehouse'),
 (4,'desk',200,'warehouse'),(5,'sofa',500,'warehouse');
INSERT INTO users VALUES (1,'anna','secret','anna@lab.example'),(2,'ben','hidden','ben@lab.example');
INSERT INTO counters VALUES ('home',0);`

// NewApp makes the application, which serves what WriteSite wrote to site, and its cases.
func NewApp(site string, p Place, cases []Case) (*App, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(data); err != nil {
		return nil, err
	}
	a := &App{place: p, db: db, cases: map[string]Case{}, files: http.FileServer(http.Dir(site)), notes: map[string][]string{},
		kept: map[string]string{}}
	for _, c := range cases {
		a.cases[c.Path] = c
		if later := c.Later(); later != "" {
			a.cases[later] = c
		}
	}
	return a, nil
}

// Close closes its database.
func (a *App) Close() error { return a.db.Close() }

func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := a.cases[r.URL.Path]
	if !ok {
		for path, one := range a.cases {
			if one.Source == "path" && strings.HasPrefix(r.URL.Path, path+"/") {
				c, ok = one, true
			}
		}
	}
	if !ok {
		a.files.ServeHTTP(w, r)
		return
	}
	if c.Later() != "" && r.URL.Path == c.Path {
		a.keep(w, r, &c)
		return
	}
	v, other := a.input(w, r, &c)
	if c.Filter == "reject" && regexp.MustCompile(`[^\w .,+/?=:-]`).MatchString(v) {
		show(w, http.StatusForbidden, "<p>Forbidden characters.</p>")
		return
	}
	switch c.Filter {
	case "base64":
		plain, _ := base64.StdEncoding.DecodeString(v)
		v = string(plain)
	case "nospace":
		v = strings.Join(strings.Fields(v), "")
	case "script":
		v = once(v, "<script>")
	case "list":
		usual := strings.NewReplacer("{self}", a.place.Self, "{files}", a.place.Files).Replace(c.Value)
		if !slices.Contains([]string{usual, "table", "beta", "b.txt", "price", "/help"}, v) {
			show(w, http.StatusOK, "<p>Unknown value.</p>")
			return
		}
	}
	switch c.Class {
	case "sql":
		a.sql(w, &c, v, other["pass"])
	case "xss":
		a.page(w, r, &c, v)
	case "command":
		a.command(w, r, &c, v)
	case "path":
		a.file(w, &c, v)
	case "redirect":
		redirect(w, &c, v)
	case "ssrf":
		fetch(w, r, v)
	case "crlf":
		header(w, &c, v)
	}
}

// keep keeps what a visitor has typed for the request that uses it.
func (a *App) keep(w http.ResponseWriter, r *http.Request, c *Case) {
	visit, err := r.Cookie("visit")
	if err != nil {
		visit = &http.Cookie{Name: "visit", Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
		http.SetCookie(w, visit)
	}
	if r.Method == http.MethodPost {
		a.mu.Lock()
		a.kept[visit.Value+c.Path] = r.PostFormValue(c.Param)
		a.mu.Unlock()
	}
	show(w, http.StatusOK, afterwards(c))
}

// afterwards is what follows the request that brings a value: a link to what uses it, or the next step.
func afterwards(c *Case) string {
	if c.Source == "steps" {
		return `<form method="post" action="` + c.Later() + `"><input name="sure" value="yes"><button>Go</button></form>`
	}
	return `<p>Thank you. <a href="` + c.Later() + `">view</a></p>`
}

// input is the value that a case gets, and the other values of its form or object.
func (a *App) input(w http.ResponseWriter, r *http.Request, c *Case) (v string, other map[string]string) {
	other = map[string]string{}
	switch c.Source {
	case "kept", "steps":
		visit, err := r.Cookie("visit")
		if err != nil {
			return "", other
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.kept[visit.Value+c.Path], other
	case "query":
		return r.URL.Query().Get(c.Param), other
	case "form":
		other["pass"] = r.PostFormValue("pass")
		return r.PostFormValue(c.Param), other
	case "path":
		return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, c.Path), "/"), other
	case "header":
		return r.Header.Get(c.Param), other
	case "json":
		var all map[string]any
		_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&all) // what is none has no values
		for key, value := range all {
			if text, ok := value.(string); ok {
				other[key] = text
			}
		}
		return other[c.Param], other
	}
	if cookie, err := r.Cookie(c.Param); err == nil {
		if plain, err := url.PathUnescape(cookie.Value); err == nil {
			return plain, other
		}
		return cookie.Value, other
	}
	v = a.place.Fill(c, c.Value)
	http.SetCookie(w, &http.Cookie{Name: c.Param, Value: url.PathEscape(v), Path: c.Path, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	return v, other
}

var encode = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace

func show(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, page("Lab", body))
}

func once(text string, words ...string) string {
	for _, word := range words {
		if i := strings.Index(strings.ToLower(text), word); i >= 0 {
			text = text[:i] + text[i+len(word):]
		}
	}
	return text
}

func number(text string) string {
	n, _ := strconv.Atoi(regexp.MustCompile(`^-?\d{1,9}`).FindString(strings.TrimSpace(text)))
	return strconv.Itoa(n)
}

// safe reports whether the sink is used as it should be.
func (c *Case) safe() bool {
	return slices.Contains([]string{"bind", "reject", "list", "number", "decoy"}, c.Filter)
}

func (c *Case) statement(v, pass string) string {
	if c.Filter == "once" {
		v = once(v, "union", "select")
	}
	text, n, column, members := v, v, v, v
	if c.safe() {
		text, n, column = strings.ReplaceAll(v, "'", "''"), number(v), "id"
		if slices.Contains([]string{"name", "price"}, v) {
			column = v
		}
		list := strings.Split(v, ",")
		for i := range list {
			list[i] = number(list[i])
		}
		members = strings.Join(list, ",")
	}
	const items = "SELECT name, price FROM items "
	switch c.Sink {
	case "where", "quiet":
		return items + "WHERE name='" + text + "'"
	case "number", "quietnumber":
		return items + "WHERE id=" + n
	case "like":
		return items + "WHERE name LIKE '%" + text + "%'"
	case "bracket":
		return items + "WHERE ((name='" + text + "') AND price>0)"
	case "members":
		return items + "WHERE id IN (" + members + ")"
	case "order":
		return items + "ORDER BY " + column
	case "column":
		return "SELECT " + column + ", price FROM items"
	case "limit":
		return items + "LIMIT " + n
	case "insert":
		return "INSERT INTO log (who, what) VALUES ('" + text + "', 'view')"
	case "update":
		return "UPDATE counters SET n=n+1 WHERE page='" + text + "'"
	}
	return "SELECT name, mail FROM users WHERE name='" + text + "' AND pass='" + strings.ReplaceAll(pass, "'", "''") + "'"
}

func (a *App) sql(w http.ResponseWriter, c *Case, v, pass string) {
	help := ""
	if c.Filter == "decoy" {
		help = "<p>Help: \"SQL logic error: unrecognized token\" means that a quote is missing.</p>"
	}
	list, err := a.rows(c, v, pass)
	changes := c.Sink == "insert" || c.Sink == "update"
	switch {
	case err != nil && (c.Sink == "where" || c.Sink == "number"):
		show(w, http.StatusOK, help+"<p>Error: "+encode(err.Error())+"</p>")
	case err != nil && changes:
		show(w, http.StatusInternalServerError, "<p>Something went wrong.</p>")
	case changes:
		show(w, http.StatusOK, "<p>Noted.</p>")
	case c.Sink == "login" && list != "":
		show(w, http.StatusOK, "<p>Welcome back.</p>")
	case c.Sink == "login":
		show(w, http.StatusOK, "<p>Wrong name or password.</p>")
	case list == "":
		show(w, http.StatusOK, help+"<p>Nothing found.</p>")
	default:
		show(w, http.StatusOK, help+"<ul>"+list+"</ul>")
	}
}

func (a *App) rows(c *Case, v, pass string) (list string, err error) {
	text := c.statement(v, pass)
	if c.Sink == "insert" || c.Sink == "update" {
		_, err := a.db.Exec(text)
		return "", err
	}
	rows, err := a.db.Query(text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var name, price any
		if err := rows.Scan(&name, &price); err != nil {
			return "", err
		}
		list += fmt.Sprintf("<li>%s %s</li>", encode(fmt.Sprint(name)), encode(fmt.Sprint(price)))
	}
	return list, rows.Err()
}

func (a *App) command(w http.ResponseWriter, r *http.Request, c *Case, v string) {
	v = strings.ReplaceAll(v, "\x00", "")
	if c.Filter == "once" {
		v = once(v, ";", "&")
	}
	help := ""
	if c.Filter == "decoy" {
		help = "<p>Help: \"sh: 1: Syntax error: Unterminated quoted string\" means that a quote is missing. uid=0(root) is the administrator.</p>"
	}
	line := "echo host " + v
	switch c.Sink {
	case "single":
		line = "echo 'host " + v + "'"
	case "dquoted":
		line = `echo "host ` + v + `"`
	}
	cmd := exec.CommandContext(r.Context(), "sh", "-c", line)
	if c.safe() {
		cmd = exec.CommandContext(r.Context(), "echo", "host", v)
	}
	cmd.Dir = a.place.Files
	out, _ := cmd.Output() // a command that fails has no output
	if c.Sink == "silent" {
		out = []byte("Done.")
	}
	show(w, http.StatusOK, help+"<pre>"+encode(string(out))+"</pre>")
}

func (a *App) file(w http.ResponseWriter, c *Case, v string) {
	help := ""
	switch c.Filter {
	case "dots":
		v = strings.ReplaceAll(v, "../", "")
	case "base":
		v = filepath.Base("/" + v)
	case "decoy":
		v = filepath.Base("/" + v)
		help = "<p>Help: \"open: no such file or directory\" means that there is no such file. root:x:0: is the first line of a list of users.</p>"
	}
	name := a.place.Files + "/" + v
	if c.Sink == "absolute" {
		name = v
	}
	if c.Filter == "real" && !strings.HasPrefix(filepath.Clean(name), filepath.Clean(a.place.Files)+"/") {
		show(w, http.StatusOK, "<p>No such file.</p>")
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		show(w, http.StatusOK, help+"<p>No such file.</p>")
		return
	}
	show(w, http.StatusOK, help+"<pre>"+encode(string(text[:min(len(text), 100_000)]))+"</pre>")
}

func redirect(w http.ResponseWriter, c *Case, v string) {
	local := regexp.MustCompile(`^/($|[^/\\\x00-\x20][^\x00-\x20]*$)`).MatchString(v)
	if c.Filter == "local" && !local || c.Filter == "slash" && !strings.HasPrefix(v, "/") ||
		c.Filter == "own" && !strings.Contains(v, "lab.example") {
		v = "/home.html"
	}
	if c.Filter == "inquery" {
		v = "/home.html?next=" + url.QueryEscape(v)
	}
	switch c.Sink {
	case "meta":
		show(w, http.StatusOK, `<meta http-equiv="refresh" content="0;url=`+encode(v)+`">`)
	case "assign":
		show(w, http.StatusOK, "<script>location = "+strings.ReplaceAll(plainJSON(v), "<", `\u003c`)+";</script>")
	default:
		w.Header().Set("Location", v)
		w.WriteHeader(http.StatusFound)
	}
}

func fetch(w http.ResponseWriter, r *http.Request, v string) {
	client := http.Client{Timeout: 3 * time.Second}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, v, nil)
	var answer *http.Response
	if err == nil && req.URL.Hostname() != "127.0.0.1" && req.URL.Hostname() != "localhost" {
		err = errors.New("the lab stays on this machine")
	}
	if err == nil {
		answer, err = client.Do(req)
	}
	if err != nil {
		show(w, http.StatusOK, "<p>It cannot be reached.</p>")
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 10_000))
	show(w, http.StatusOK, "<pre>"+encode(string(text))+"</pre>")
}

// header writes a header as it comes, as old servers did.
func header(w http.ResponseWriter, c *Case, v string) {
	if c.safe() {
		v = strings.NewReplacer("\r", "", "\n", "").Replace(v)
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "no connection", http.StatusInternalServerError)
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	body := page("Lab", "<p>"+html.EscapeString(c.Param)+" chosen.</p>")
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Language: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		v, len(body), body)
}
