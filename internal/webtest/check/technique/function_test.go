package technique

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// phpFunctions are some of those that PHP has.
var phpFunctions = map[string]func(string) string{
	"strtoupper": strings.ToUpper, "trim": strings.TrimSpace,
	"bin2hex":   func(s string) string { return hex.EncodeToString([]byte(s)) },
	"crc32":     func(s string) string { return fmt.Sprint(crc32.ChecksumIEEE([]byte(s))) },
	"str_rot13": func(s string) string { return strings.Map(rot13, s) },
}

func TestFunctionOfField(t *testing.T) {
	some := func(names ...string) func(string) bool {
		return func(name string) bool { return strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") }
	}
	every := func(name string) bool { return phpFunctions[name] != nil }
	for name, c := range map[string]struct {
		method, path, body string
		may                func(name string) bool
		page               string
		found              bool
	}{
		"a form":                  {http.MethodPost, "/format.php", "text=hello&how=strtoupper", every, "", true},
		"an address, by its name": {http.MethodGet, "/list.php?of=a+b&callback=own_view", "", every, "", true},
		"a list of functions":     {http.MethodPost, "/format.php", "text=hello&how=strtoupper", some("strtoupper", "trim"), "", false},
		"two that are offered": {http.MethodPost, "/format.php", "text=hello&how=trim", some("bin2hex", "crc32"),
			"<option>bin2hex<option>crc32", false},
		"another language": {http.MethodPost, "/format", "text=hello&how=strtoupper", every, "", false},
		"a word":           {http.MethodPost, "/format.php", "text=hello&kind=news", every, "", false},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			how, text := r.FormValue("how")+r.FormValue("callback")+r.FormValue("kind"), r.FormValue("text")+r.FormValue("of")
			w.Header().Set("Content-Type", "text/html")
			if f := phpFunctions[how]; f != nil && c.may(how) {
				text = f(text)
			}
			fmt.Fprintf(w, "<pre>%s</pre>%s", text, c.page)
		}))
		target := lab.Target(t, c.method, c.path, c.body)
		before := lab.Sent.Load()
		found := lab.Run(t, functionOfField(), target)
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
		if name == "a word" && lab.Sent.Load() != before {
			t.Error("a field that names no function was tested")
		}
	}
}
