package remote

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// An entity whose file the parser misses is found by the error alone; not one whose text the application looks up, nor
// one that is refused with its address.
func TestEntitiesInErrors(t *testing.T) {
	address := regexp.MustCompile(`SYSTEM "file://(/[^"]*)"`)
	for name, c := range map[string]struct {
		says string
		any  bool
		want int
	}{"java": {"java.io.FileNotFoundException: %s (No such file or directory)", false, 1},
		"php":    {`failed to load external entity "%s"`, false, 1},
		"looked": {"%s: not found", true, 0}, "refused": {"DOCTYPE is disallowed; %s", false, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m := address.FindSubmatch(body)
			switch {
			case m != nil:
				http.Error(w, fmt.Sprintf(c.says, m[1]), http.StatusInternalServerError)
			case c.any:
				http.Error(w, fmt.Sprintf(c.says, bytes.TrimSuffix(bytes.SplitAfter(body, []byte("<pen>"))[1],
					[]byte("</pen></order>"))), http.StatusInternalServerError)
			default:
				fmt.Fprint(w, "<ok/>")
			}
		}))
		target := lab.Target(t, http.MethodPost, "/", `<?xml version="1.0"?><order><pen>2</pen></order>`)
		found := lab.Run(t, kittest.Named(t, Checks(), "xxe"), target)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			holds(t, lab, f)
		}
	}
}

// A value that is read as XML and includes a file is found; not one that is escaped before, nor one whose parser
// includes nothing.
func TestInclusionOfXML(t *testing.T) {
	href := regexp.MustCompile(`<x:include[^>]*href="([^"]*)"[^>]*/>`)
	for name, c := range map[string]struct{ escapes, includes, want int }{"weak": {0, 1, 1}, "escaped": {1, 1, 0},
		"plain": {0, 0, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			text := r.FormValue("motto")
			if c.escapes == 1 {
				text = html.EscapeString(text)
			}
			var card struct {
				Text string `xml:",chardata"`
			}
			if err := xml.Unmarshal([]byte("<card>"+text+"</card>"), &card); err != nil {
				http.Error(w, "no card", http.StatusBadRequest)
				return
			}
			if m := href.FindStringSubmatch(text); m != nil && c.includes == 1 && strings.HasSuffix(m[1], "/etc/passwd") {
				card.Text = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin"
			}
			fmt.Fprintf(w, "<h1>%s</h1>", html.EscapeString(card.Text))
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "xinclude"), lab.Target(t, http.MethodGet, "/card?motto=hello", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			holds(t, lab, f)
		}
	}
}
