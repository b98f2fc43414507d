// Package bench is applications in the manner of public benchmarks for testers of web applications. They were written,
// and their labels proved, before their author saw the tester of this repository: its first run on them says how it does
// on an application that it does not know. They are weak on purpose, keep all in memory and in a folder of their own, and
// serve loopback only.
//
//   - range: folders of pages with one input each, linked from index pages, by GET and by POST.
//   - suite: forms that submit by query, body, header, cookie and the name of a parameter, through helpers that
//     keep, replace or drop the value.
//   - training: an application behind a login with a page for each kind of weakness.
//   - library: an interface with an OpenAPI document, and its mended variant.
//   - arena: folders of pages and numbered tests again, as servlets on Tomcat with PostgreSQL (lab/web/java/arena).
//
// A case stands beside the page that it is about: what it proves is sent by web.Flow.Prove.
package bench

import (
	"database/sql"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the database

	"github.com/vedette-sec/vedette/lab/web"
)

// site is an application that runs.
type site struct {
	*http.ServeMux
	variant string
	weak    bool
	files   string // a folder of its own
	db      *sql.DB

	mu sync.Mutex
}

// app is what is known of an application before it runs.
type app struct {
	variants           []string
	login, users, spec string // as web.Describe takes them
	cases              func(variant string) []web.Case
	build              func(*site)
}

func apps() map[string]app {
	return map[string]app{
		"range":    {[]string{"all"}, "", "-", "", rangeCases, buildRange},
		"suite":    {[]string{"all"}, "", "-", "", suiteCases, buildSuite},
		"training": {[]string{"low"}, "token /login.php username password", "anna root", "", trainingCases, buildTraining},
		"library":  {[]string{"weak", "sound"}, "json /users/v1/login username password", "anna ben", "/openapi.json", libraryCases, buildLibrary},
	}
}

// Flows are the applications for a stack, Go or Java; with cases of some classes, or of all without classes.
func Flows(stack string, classes []string) (all []web.Flow) {
	if stack == "java" {
		if f := web.Describe("java", "arena", "all", "", "-", "", arenaCases(), classes); len(f.Cases) > 0 {
			all = append(all, f)
		}
	}
	if stack != "go" {
		return all
	}
	list := apps()
	for _, name := range []string{"range", "suite", "training", "library"} {
		for _, variant := range list[name].variants {
			a := list[name]
			if f := web.Describe("go", name, variant, a.login, a.users, a.spec, a.cases(variant), classes); len(f.Cases) > 0 {
				all = append(all, f)
			}
		}
	}
	return all
}

const data = `CREATE TABLE goods (id INTEGER, name TEXT, price INTEGER, tag TEXT, made TEXT);
INSERT INTO goods VALUES (1,'chair',30,'wood','2024-03-01'),(2,'table',80,'wood','2024-03-01'),(3,'lamp',120,'steel','2024-05-09'),
(4,'desk',200,'wood','2024-07-21'),(5,'sofa',500,'cloth','2025-01-15');
CREATE TABLE members (name TEXT, pass TEXT, mail TEXT, role TEXT);
INSERT INTO members VALUES ('anna','anna-Pass1','anna@lab.example','user'),('root','root-Pass9','root@lab.example','admin');
CREATE TABLE entries (id INTEGER PRIMARY KEY, who TEXT, words TEXT);
CREATE TABLE visits (page TEXT, n INTEGER);
INSERT INTO visits VALUES ('home',3),('shop',5),('about',1);`

// New makes an application in a variant, with a folder for its files. An application or a variant that there is not is an error.
func New(name, variant, files string) (http.Handler, error) {
	a, ok := apps()[name]
	if !ok || !slices.Contains(a.variants, variant) {
		return nil, fmt.Errorf("there is no %s-%s", name, variant)
	}
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	// In a file, so that a statement that computes for long holds up no other page.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(files, "lab.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)&_pragma=synchronous(OFF)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	if _, err := db.Exec(data); err != nil {
		return nil, err
	}
	s := &site{ServeMux: http.NewServeMux(), variant: variant, weak: variant != "sound", files: files, db: db}
	for file, text := range map[string]string{"docs/readme.txt": "Read this first.\n", "docs/news.txt": "The shop opens at nine.\n",
		"docs/pages/home.html": "<p>Our home.</p>\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(files, file)), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(files, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	s.HandleFunc("GET /home.html", func(w http.ResponseWriter, _ *http.Request) { show(w, 200, "Home", "<p>The house of the lab.</p>") })
	a.build(s)
	return s, nil
}

var enc = html.EscapeString

// doc is a page of HTML.
func doc(title, head, body string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>%s</head>\n<body>\n<h1>%s</h1>\n%s\n</body></html>\n",
		title, head, title, body)
}

// show answers a page of HTML.
func show(w http.ResponseWriter, status int, title, body string) {
	write(w, status, htmlType, doc(title, "", body))
}

const htmlType = "text/html; charset=utf-8"

// write answers a text of a type.
func write(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that left misses nothing
}

func link(to, text string) string {
	return `<li><a href="` + enc(to) + `">` + enc(text) + "</a></li>\n"
}

// list is the names and prices of goods that a statement selects.
func (s *site) list(r *http.Request, text string, values ...any) (string, error) {
	rows, err := s.db.QueryContext(r.Context(), text, values...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var name, price any
		if err := rows.Scan(&name, &price); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "<li>%s: %s</li>", enc(fmt.Sprint(name)), enc(fmt.Sprint(price)))
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	if out.Len() == 0 {
		return "<p>There are no such goods.</p>", nil
	}
	return "<ol>" + out.String() + "</ol>", nil
}
