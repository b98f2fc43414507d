package bench

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const up = "../../../../../../../../../../../../"

// missing is how a page answers when there is no such file.
type missing func(w http.ResponseWriter, r *http.Request, in string)

func missings() map[string]missing {
	return map[string]missing{
		"404": func(w http.ResponseWriter, _ *http.Request, _ string) {
			show(w, 404, "Files", "<p>There is no such file.</p>")
		},
		"500": func(w http.ResponseWriter, _ *http.Request, in string) {
			show(w, 500, "Files", "<p>open "+enc(in)+": no such file or directory</p>")
		},
		"200": func(w http.ResponseWriter, _ *http.Request, _ string) { show(w, 200, "Files", "<p>Choose a file.</p>") },
		"302": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "/home.html", http.StatusFound)
		},
	}
}

// reading is a page that reads a file.
type reading struct {
	name, value string
	find        func(folder, in string) string // the name of the file; "" for none
	fails       string                         // a word of missings
	kind        string                         // the type of the answer; without, the text stands in a page
	proof       string
}

func (x *reading) page(folder string, weak bool) page {
	fails := missings()[x.fails]
	return page{folder: folder, name: x.name, class: "path", weak: weak, param: "target", value: x.value, proof: x.proof, expect: "root:x:0:0",
		serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
			name := x.find(filepath.Join(s.files, "docs"), in)
			text, err := readFile(name)
			if err != nil {
				fails(w, r, in)
				return
			}
			switch x.kind {
			case "":
				show(w, 200, "Files", "<pre>"+enc(text)+"</pre>")
			case htmlType:
				show(w, 200, "Files", text)
			default:
				if x.kind == "application/octet-stream" {
					w.Header().Set("Content-Disposition", `attachment; filename="file.txt"`)
				}
				write(w, 200, x.kind, text)
			}
		}}
}

// readFile is the text of a file, as far as 64 KiB.
func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", os.ErrNotExist
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	return string(text), err
}

func filePages() (all []page) {
	plain := func(folder, in string) string { return folder + "/" + in }
	for _, x := range []reading{
		{"page-404", "readme.txt", plain, "404", "", up + "etc/passwd"},
		{"page-500", "readme.txt", plain, "500", "", up + "etc/passwd"},
		{"page-200", "readme.txt", plain, "200", "", up + "etc/passwd"},
		{"page-302", "readme.txt", plain, "302", "", up + "etc/passwd"},
		{"included", "pages/home.html", plain, "404", htmlType, up + "etc/passwd"},
		{"plain", "news.txt", plain, "404", "text/plain; charset=utf-8", up + "etc/passwd"},
		{"download", "news.txt", plain, "500", "application/octet-stream", up + "etc/passwd"},
		{"picture", "news.txt", plain, "404", "image/png", up + "etc/passwd"},
		{"absolute", "readme.txt", func(folder, in string) string {
			if strings.HasPrefix(in, "/") {
				return in
			}
			return folder + "/" + filepath.Base(in)
		}, "404", "", "/etc/passwd"},
		{"ups-dropped-once", "readme.txt", func(folder, in string) string { return folder + "/" + strings.ReplaceAll(in, "../", "") }, "404", "",
			strings.ReplaceAll(up, "../", "....//") + "etc/passwd"},
		{"ups-refused-first", "readme.txt", func(folder, in string) string {
			if strings.HasPrefix(in, "..") || strings.HasPrefix(in, "/") {
				return ""
			}
			return folder + "/" + in
		}, "200", "", "pages/../" + up + "etc/passwd"},
		{"decoded-after", "readme.txt", func(folder, in string) string {
			out, err := url.PathUnescape(strings.ReplaceAll(in, "../", ""))
			if err != nil {
				return ""
			}
			return folder + "/" + out
		}, "404", "", strings.ReplaceAll(up, "../", "..%2f") + "etc/passwd"},
		{"backslashes", "readme.txt", func(folder, in string) string {
			return folder + "/" + strings.ReplaceAll(strings.ReplaceAll(in, "../", ""), `\`, "/")
		}, "500", "", strings.ReplaceAll(up, "/", `\`) + `etc\passwd`},
		{"prefix-checked", "pages/home.html", func(folder, in string) string {
			if !strings.HasPrefix(in, "pages/") {
				return ""
			}
			return folder + "/" + in
		}, "302", htmlType, "pages/../" + up + "etc/passwd"},
		{"ends-at-zero", "readme.txt", func(folder, in string) string { // as a function of C ends a text
			if !strings.HasSuffix(in, ".txt") {
				return ""
			}
			in, _, _ = strings.Cut(in, "\x00")
			return folder + "/" + in
		}, "404", "", up + "etc/passwd\x00.txt"},
		{"has-ending", "readme.txt", func(folder, in string) string {
			if !strings.Contains(in, ".txt") {
				return ""
			}
			return filepath.Clean(folder + "/" + in)
		}, "404", "", "x.txt/../" + up + "etc/passwd"},
		{"address", "file:readme.txt", func(folder, in string) string {
			in = strings.TrimPrefix(in, "file:")
			if strings.HasPrefix(in, "/") {
				return filepath.Clean(in)
			}
			return folder + "/" + filepath.Base(in)
		}, "500", "", "file:///etc/passwd"},
	} {
		all = append(all, x.page("files", true))
	}
	return append(all, fileLooks()...)
}

// fileLooks are pages that read only what they should.
func fileLooks() (all []page) {
	for _, x := range []reading{
		{"last-part", "readme.txt", func(folder, in string) string { return folder + "/" + filepath.Base(filepath.Clean("/"+in)) }, "500", "", up + "etc/passwd"},
		{"listed", "readme.txt", func(folder, in string) string {
			return map[string]string{"readme.txt": folder + "/readme.txt", "news.txt": folder + "/news.txt"}[in]
		}, "404", "", up + "etc/passwd"},
		{"rooted", "readme.txt", func(folder, in string) string { return folder + filepath.Clean("/"+in) }, "200", "", up + "etc/passwd"},
		{"rooted-500", "pages/home.html", func(folder, in string) string { return folder + filepath.Clean("/"+in) }, "500", htmlType, "/etc/passwd"},
		{"ups-refused", "readme.txt", func(folder, in string) string {
			if strings.Contains(in, "..") || strings.ContainsAny(in, "\\\x00") {
				return ""
			}
			return folder + "/" + in
		}, "302", "", up + "etc/passwd"},
		{"within", "readme.txt", func(folder, in string) string {
			if name := filepath.Join(folder, in); strings.HasPrefix(name, folder+"/") {
				return name
			}
			return ""
		}, "404", "", "pages/../" + up + "etc/passwd"},
	} {
		all = append(all, x.page("files-looks", false))
	}
	return append(all, page{folder: "files-looks", name: "article", class: "path", param: "target", value: "readme.txt", proof: up + "etc/passwd",
		expect: `root:\w*:0:0`, serve: func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
			show(w, 200, "Handbook", "<p>There is no page "+enc(in)+". Others read about /etc/passwd: each line has a name, x, a number, a group "+
				"and a shell, such as daemon or bin with /usr/sbin/nologin.</p>")
		}})
}

// fetch is the text at an address, as far as 64 KiB.
func fetch(r *http.Request, address string) (string, error) {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it would reach further
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	got, err := client.Do(ask)
	if err != nil {
		return "", err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, 1<<16))
	return string(text), err
}

// hostIs reports whether an address is of http and of a host.
func hostIs(address, host string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && u.Host == host
}

func fetchPages() (all []page) {
	const house, self = "The house of the lab", "http://127.0.0.1:{port}/home.html"
	one := func(folder, name, value string, weak bool, status int, allowed func(r *http.Request, in string) string, proof string, raw bool) {
		all = append(all, page{folder: folder, name: name, class: "ssrf", weak: weak, param: "target", value: value, proof: proof, expect: house,
			serve: func(_ *site, w http.ResponseWriter, r *http.Request, in string) {
				text, err := "", error(nil)
				address := allowed(r, in)
				if address != "" {
					text, err = fetch(r, address)
				}
				switch {
				case address == "" || err != nil && status == http.StatusFound:
					http.Redirect(w, r, "/home", http.StatusFound)
				case err != nil:
					show(w, status, "Included", "<p>It cannot be included.</p>")
				case raw:
					write(w, 200, htmlType, text)
				default:
					show(w, 200, "Included", "<pre>"+enc(text)+"</pre>")
				}
			}})
	}
	as := func(_ *http.Request, in string) string { return in }
	one("remote", "any-404", "{self}/home.html", true, 404, as, self, false)
	one("remote", "any-500", "{self}/home.html", true, 500, as, self, true)
	one("remote", "any-200", "{self}/home.html", true, 200, as, self, false)
	one("remote", "any-302", "{self}/home.html", true, 302, as, self, false)
	one("remote", "scheme-added", "www.lab.example/in", true, 500, func(_ *http.Request, in string) string { return "http://" + in }, "127.0.0.1:{port}/home.html", true)
	one("remote", "ends-with-html", "{self}/home.html", true, 404, func(_ *http.Request, in string) string {
		if !strings.HasSuffix(in, ".html") {
			return ""
		}
		return in
	}, self, false)
	one("remote", "names-refused", "http://www.lab.example/in", true, 200, func(_ *http.Request, in string) string {
		if strings.Contains(in, "127.0.0.1") || strings.Contains(in, "localhost") {
			return ""
		}
		return in
	}, "http://LOCALHOST:{port}/home.html", false)
	one("remote", "must-have-host", "http://www.lab.example/in", true, 200, func(_ *http.Request, in string) string {
		if !strings.Contains(in, "www.lab.example") {
			return ""
		}
		return in
	}, self+"?www.lab.example", false)
	one("remote-looks", "listed", "about", false, 200, func(r *http.Request, in string) string {
		return map[string]string{"about": "http://" + r.Host + "/missing.html"}[in]
	}, self, false)
	one("remote-looks", "host-checked", "http://www.lab.example/in", false, 500, func(_ *http.Request, in string) string {
		if !hostIs(in, "www.lab.example") {
			return ""
		}
		return in
	}, self+"?www.lab.example", false)
	all = append(all, page{folder: "remote-looks", name: "shown-alone", class: "ssrf", param: "target", value: "http://www.lab.example/in", proof: self, expect: house,
		serve: func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
			show(w, 200, "Bookmark", "<p>We keep the address <code>"+enc(in)+"</code>.</p>")
		}})
	return all
}
