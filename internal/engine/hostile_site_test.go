//go:build linux

package engine_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// hostileBodies are what the site answers, by the kind of the case.
var hostileBodies = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"xpath": "<html><body>" + strings.Repeat("<div><p class='a'>words</p><b>b</b></div>", 3000) + "</body></html>",
		"jq":    `{"list":[` + strings.Repeat(`{"a":"words","n":12345},`, 5000) + `{}],"s":"` + strings.Repeat("a", 10_000) + `"}`,
		"regex": strings.Repeat("a", 2<<20),
		"dsl":   strings.Repeat("abc ", 64<<10),
		"text":  "yes",
		"flow":  "yes",
	}
})

// hostileSite answers "/KIND" with the body of that kind of case, and helps templates that send many requests.
func hostileSite(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/loop": // redirects, each to another address
		http.Redirect(w, r, "/loop?x"+r.URL.RawQuery, http.StatusFound)
	case "/cookies": // 20 more with each request
		for i := range 20 {
			name := fmt.Sprintf("c%d_%d", len(r.Cookies()), i)
			http.SetCookie(w, &http.Cookie{Name: name, Value: strings.Repeat("v", 200)})
		}
	case "/headers":
		for i := range 2000 {
			w.Header().Add(fmt.Sprintf("X-%d", i), strings.Repeat("h", 100))
		}
	case "/echo":
		fmt.Fprintf(w, "%.1000s", r.URL.RawQuery)
	case "/huge":
		line := strings.Repeat("0123456789abcde\n", 4096)
		for range 200 {
			fmt.Fprint(w, line)
		}
	default:
		fmt.Fprint(w, hostileBodies()[strings.Trim(r.URL.Path, "/")])
	}
}

// hostileServices are the addresses of what a case names: the services of lab, FLOOD, which writes lines without end,
// and FILES, a folder.
func hostileServices(t *testing.T, c hostileCase) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := c.target + c.source
	if c.kind == "dns" || strings.Contains(names, "TCP") || strings.Contains(names, "TLS") || strings.Contains(names, "WS") {
		all = lab(t)
	}
	all["SITE"] = serve(t, hostileSite)
	if strings.Contains(names, "FLOOD") {
		all["FLOOD"] = listen(t, nil, flood)
	}
	if strings.Contains(names, "FILES") {
		all["FILES"] = hostileFiles(t)
	}
	return all
}

func flood(conn net.Conn) {
	lines := []byte(strings.Repeat("READY and so on\r\n", 1024))
	for {
		if _, err := conn.Write(lines); err != nil {
			return
		}
	}
}

// hostileFiles is a folder with a line of 20 MB, 200,000 lines, and 500 small files.
func hostileFiles(t *testing.T) string {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("line.txt", strings.Repeat("a", 20_000_000))
	write("lines.txt", strings.Repeat("word word\n", 200_000))
	for i := range 500 {
		write(fmt.Sprintf("%d.txt", i), "small\n")
	}
	return folder
}
