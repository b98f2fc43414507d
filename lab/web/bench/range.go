package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/lab/web"
)

// page is a page of the range with one input.
type page struct {
	folder, name string
	class        string
	weak         bool
	post         bool
	param, value string // the input and what it usually is; {self} is the address of the application
	more         string // further inputs, as a query has them
	serve        serve
	proof        string // a value of the input, or a whole proof when it begins with "- "
	expect       string
}

// serve answers a request for a page with what came in its input.
type serve func(s *site, w http.ResponseWriter, r *http.Request, in string)

func (p *page) path() string {
	if p.folder == hiddenFolder {
		return p.name
	}
	return "/" + p.folder + "/" + p.name + ".jsp"
}

// send is the request of a proof with a value in the input of a page.
func (p *page) send() string {
	if strings.HasPrefix(p.proof, "- ") {
		return p.proof
	}
	query := p.param + "=" + strings.ReplaceAll(url.QueryEscape(p.proof), "%7Bport%7D", "{port}")
	if p.more != "" {
		query += "&" + p.more
	}
	if p.post {
		return "- POST " + p.path() + " " + query
	}
	return "- GET " + p.path() + "?" + query
}

// twice are pages once by GET and, those with an even place in the list, once by POST: half of them keep a run short.
func twice(pages []page) (all []page) {
	for i, p := range pages {
		folder := p.folder
		p.folder = folder + "-get"
		all = append(all, p)
		if i%2 == 0 {
			p.folder, p.post = folder+"-post", true
			all = append(all, p)
		}
	}
	return all
}

func rangePages() []page {
	return slices.Concat(twice(xssPages()), twice(xssLooks()), twice(sqlPages()), twice(sqlLooks()), twice(filePages()),
		twice(fetchPages()), twice(redirectPages()), twice(commandPages()), headerPages(), domPages(), hiddenPages())
}

func rangeCases(string) (all []web.Case) {
	for _, p := range rangePages() {
		all = append(all, web.Case{Path: p.path(), Class: p.class, Param: p.param, Value: p.value, True: p.weak, Proof: p.send(), Expect: p.expect})
	}
	return all
}

// buildRange serves the index pages and the pages of all cases.
func buildRange(s *site) {
	folders, indexes := []string{}, map[string][]page{}
	for _, p := range rangePages() {
		if indexes[p.folder] == nil {
			folders = append(folders, p.folder)
		}
		indexes[p.folder] = append(indexes[p.folder], p)
		if p.folder != hiddenFolder {
			s.HandleFunc(p.path(), p.answer(s))
		}
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var out strings.Builder
		for _, f := range folders {
			out.WriteString(link("/"+f+"/", f))
		}
		out.WriteString(link("/any/", "any") + link("/shut/", "shut"))
		show(w, 200, "The range", "<p>Each folder has pages of one kind.</p><ul>"+out.String()+"</ul>")
	})
	for _, f := range folders {
		if f == hiddenFolder {
			continue
		}
		s.HandleFunc("GET /"+f+"/{$}", func(w http.ResponseWriter, r *http.Request) {
			var out strings.Builder
			for _, p := range indexes[f] {
				out.WriteString(link(p.entry(r), path.Base(p.path())))
			}
			show(w, 200, f, "<ul>"+out.String()+"</ul>")
		})
	}
	buildHidden(s)
}

// usual is the usual value of the input, for an application that is at the host of a request.
func (p *page) usual(r *http.Request) string {
	return strings.ReplaceAll(p.value, "{self}", "http://"+r.Host)
}

// entry is where the index of a folder leads for a page: to its form, or to the page with the usual value.
func (p *page) entry(r *http.Request) string {
	if p.post || p.param == "" {
		return p.path()
	}
	query := p.param + "=" + url.QueryEscape(p.usual(r))
	if p.more != "" {
		query += "&" + p.more
	}
	return p.path() + "?" + query
}

// answer serves the form of a page, and what comes of it.
func (p *page) answer(s *site) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		values, method := r.URL.Query(), "get"
		if p.post {
			_ = r.ParseForm() // what cannot be read is not there
			values, method = r.PostForm, "post"
		}
		if p.param == "" || values.Has(p.param) {
			p.serve(s, w, r, values.Get(p.param))
			return
		}
		var fields strings.Builder
		field := func(name, value string) {
			fmt.Fprintf(&fields, "<label>%s <input type=\"text\" name=\"%s\" value=\"%s\"></label>\n", name, name, enc(value))
		}
		field(p.param, p.usual(r))
		more, _ := url.ParseQuery(p.more) // it is written in this package
		for name, value := range more {
			field(name, value[0])
		}
		show(w, 200, p.name, fmt.Sprintf("<form action=\"%s\" method=\"%s\">\n%s<input type=\"submit\" value=\"Send\"></form>", p.path(), method, fields.String()))
	}
}
