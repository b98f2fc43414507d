package remote

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// reached is the status at an address; 0 for none.
func reached(address string) int {
	// As resolvers of C read it, which that of Go does not.
	r, err := http.Get(strings.NewReplacer("//0x7f000001", "//127.0.0.1", "//127.1:", "//127.0.0.1:").Replace(address))
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}

// A checker of links tells the status of what it has asked for, also where it refuses the usual names of its own machine.
// One that knows its paths, or its pages, or tells its own status, asks for nothing. A page with a letter that is cut
// breaks nothing.
func TestStatusOfAnAddress(t *testing.T) {
	refuses := func(address string, hosts ...string) bool {
		for _, host := range hosts {
			if strings.Contains(address, host) {
				return true
			}
		}
		return false
	}
	asJSON := func(status int) string { return fmt.Sprintf(`{"reachable": %t, "status": %d}`, status > 0, status) }
	asPage := func(status int) string {
		return fmt.Sprintf("<table><tr><td>Link</td><td>%d</td></tr></table>", status)
	}
	own := func(address string, isHost func(host string) bool) int {
		u, err := url.Parse(address)
		switch {
		case err != nil || !isHost(u.Hostname()):
			return 0
		case u.Path == "/" || u.Path == "/terms":
			return http.StatusOK
		}
		return http.StatusNotFound
	}
	for name, c := range map[string]struct {
		answer func(address string) string
		want   string
	}{
		"an interface": {func(a string) string { return asJSON(reached(a)) }, "{a}"},
		"a page":       {func(a string) string { return asPage(reached(a)) }, "{a}"},
		"a list of hosts": {func(a string) string {
			if refuses(a, "localhost", "127.0.0.1") {
				return `{"error": "not allowed"}`
			}
			return asJSON(reached(a))
		}, "{o}"},
		"a longer list of hosts": {func(a string) string {
			if refuses(a, "localhost", "127.0.0.1", "0x", "[") {
				return `{"error": "not allowed"}`
			}
			return asJSON(reached(a))
		}, "{z}"},
		"all that begins with 127": {func(a string) string {
			if refuses(a, "localhost", "127.", "0x", "[") {
				return "<p>That address is not allowed.</p>"
			}
			return asPage(reached(a))
		}, "{0}"},
		"paths that are known":       {func(a string) string { return asJSON(own(a, func(string) bool { return true })) }, ""},
		"its own status":             {func(string) string { return `{"status": 200}` }, ""},
		"whether it is reached":      {func(a string) string { return fmt.Sprintf(`{"reachable": %t}`, reached(a) > 0) }, ""},
		"a number that grows":        {func(a string) string { return fmt.Sprintf(`{"letters": %d}`, 180+len(a)) }, ""},
		"nothing is allowed":         {func(string) string { return `{"error": "not allowed"}` }, ""},
		"the address, with a number": {func(a string) string { return asPage(0) + " 200 " + a }, ""},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<!DOCTYPE html><html lang="ko"><head><meta charset="utf-8"><title>링크 카드</title></head><body>`+"\n"+
					`<p class="about">A card for a link</p>`+"\n</body></html>")
			case "/api/cards":
				var in struct{ URL string }
				_ = json.NewDecoder(r.Body).Decode(&in)
				text := c.answer(in.URL)
				w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/html"}[text[0] == '{'])
				fmt.Fprint(w, text)
			default:
				http.NotFound(w, r)
			}
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "ssrf"), lab.Target(t, http.MethodPost, "/api/cards", `{"url":""}`))
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: reports %s", name, kittest.Titles(found))
		case c.want != "" && (len(found) != 1 || found[0].Variant != c.want || found[0].Confidence != kit.Proved):
			t.Errorf("%s: found %s, want %s", name, kittest.Titles(found), c.want)
		case c.want != "":
			lab.Holds(t, found[0])
		}
	}
}

// What is fetched may come within a page, or a text of JSON, in base64; a picture of the application's own does not
// count.
func TestContentInBase64(t *testing.T) {
	const front = "<html><h1>Welcome to this application</h1>\n<p>It has a page of its own</p>\n</html>"
	encode := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		answer func(address string) string
		want   int
	}{
		"a picture": {func(a string) string {
			return `<img src="data:image/jpeg;base64,` + encode([]byte(get(a))) + `">`
		}, 1},
		"a text of JSON": {func(a string) string {
			text, _ := json.Marshal(map[string]string{"type": "image/png", "data": base64.URLEncoding.EncodeToString([]byte("GIF89a?" + get(a)))})
			return string(text)
		}, 1},
		"its own": {func(string) string { return `<img src="data:text/html;base64,` + encode([]byte(front)) + `">` }, 0},
		"the address": {func(a string) string {
			return `<img src="data:text/html;base64,` + encode([]byte("There is nothing to be seen at "+a)) + `">`
		}, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/":
				fmt.Fprint(w, front)
			case "/preview":
				fmt.Fprint(w, c.answer(r.FormValue("picture")))
			default:
				http.NotFound(w, r)
			}
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "ssrf"), lab.Target(t, http.MethodGet, "/preview?picture=http://pictures.example/a.jpg", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
