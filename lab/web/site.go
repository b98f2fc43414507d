package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where an application of the lab is: what stands for {self} and {files} in the values of cases.
type Place struct {
	Self  string // its URL, without a slash at the end
	Files string // the folder with its files
}

// Fill is a value or a proof of a case as it is sent to an application at a place.
func (p Place) Fill(c *Case, text string) string {
	text = strings.NewReplacer("{self}", p.Self, "{files}", p.Files).Replace(text)
	if c.Filter == "base64" {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// WriteSite writes what all applications serve as it is: the front page, a page for each area and each sink with links,
// forms and scripts that lead to the cases, and in files the files that the cases read.
func WriteSite(dir string, p Place, cases []Case) error {
	pages := map[string]string{"home.html": page("Home", "<p>Welcome home.</p>"), "internal.txt": "internal-only\n"}
	front, areas := "", map[string]string{}
	for _, c := range cases {
		parts := strings.Split(c.Path, "/") // "", area, sink, page
		area, sink := parts[1], parts[1]+"/"+parts[2]
		if areas[area] == "" {
			front += fmt.Sprintf("<li><a href=\"/%s/\">%s</a></li>\n", area, area)
		}
		if pages[sink] == "" {
			areas[area] += fmt.Sprintf("<li><a href=\"/%s/\">%s</a></li>\n", sink, parts[2])
		}
		pages[sink] += entry(p, &c)
	}
	for sink, body := range pages {
		if strings.Contains(sink, ".") {
			continue
		}
		delete(pages, sink)
		pages[sink+"/index.html"] = page(sink, "<p id=\"out\"></p>\n"+body)
	}
	for area, list := range areas {
		pages[area+"/index.html"] = page(area, "<ul>"+list+"</ul>")
	}
	pages["index.html"] = page("Lab", "<ul>"+front+"</ul>")
	for name, text := range pages {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := write(filepath.Join(p.Files, name), "the text of "+name+"\n"); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(p.Files, "home.html"), "<p>Our home.</p>\n"); err != nil {
		return err
	}
	return os.Chmod(p.Files, 0o777) // commands run there, as whoever serves; nothing should be written
}

// Written are the names of files that were written where commands run: a tester that changes nothing writes none.
func Written(p Place) (names []string, err error) {
	all, err := os.ReadDir(p.Files)
	for _, f := range all {
		if !slices.Contains([]string{"a.txt", "b.txt", "home.html"}, f.Name()) {
			names = append(names, f.Name())
		}
	}
	return names, err
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func page(title, body string) string {
	return fmt.Sprintf("<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1>\n%s</body></html>\n", title, title, body)
}

// entry is what leads to a case.
func entry(p Place, c *Case) string {
	value, name := p.Fill(c, c.Value), strings.Trim(strings.ReplaceAll(c.Path, "/", " "), " ")
	extra := map[string]string{}
	if c.Sink == "login" {
		extra["pass"] = "secret"
	}
	call := func(options string) string {
		function := "call" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, c.Path)
		return fmt.Sprintf("<p><button onclick=\"%s()\">%s</button></p>\n<script>function %s(){fetch(%s,%s)"+
			".then(r=>r.text()).then(t=>{document.getElementById(\"out\").textContent=t})}</script>\n",
			function, name, function, quote(c.Path), options)
	}
	switch c.Source {
	case "query":
		return fmt.Sprintf("<p><a href=\"%s\">%s</a></p>\n", html.EscapeString(c.Path+"?"+url.Values{c.Param: {value}}.Encode()), name)
	case "path":
		return fmt.Sprintf("<p><a href=\"%s\">%s</a></p>\n", html.EscapeString(c.Path+"/"+url.PathEscape(value)), name)
	case "kept":
		return fmt.Sprintf("<form method=\"post\" action=\"%s\">%s: <input name=\"%s\" value=\"%s\"><button>Go</button></form>\n"+
			"<p><a href=\"%s\">view</a></p>\n", c.Path, name, c.Param, html.EscapeString(value), c.Later())
	case "form", "steps":
		fields := fmt.Sprintf("<input name=\"%s\" value=\"%s\">", c.Param, html.EscapeString(value))
		if v, ok := extra["pass"]; ok {
			fields += fmt.Sprintf("<input name=\"pass\" type=\"password\" value=\"%s\">", v)
		}
		return fmt.Sprintf("<form method=\"post\" action=\"%s\">%s: %s<button>Go</button></form>\n", c.Path, name, fields)
	case "json":
		extra[c.Param] = value
		return call("{method:\"POST\",headers:{\"Content-Type\":\"application/json\"},body:JSON.stringify(" + quote(extra) + ")}")
	case "xml":
		return call("{method:\"POST\",headers:{\"Content-Type\":\"application/xml\"},body:" + quote(value) + "}")
	}
	if c.Source == "header" && !slices.Contains([]string{"Referer", "User-Agent"}, c.Param) {
		return call("{headers:{" + quote(c.Param) + ":" + quote(value) + "}}")
	}
	return fmt.Sprintf("<p><a href=\"%s\">%s</a></p>\n", c.Path, name)
}

func quote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}
