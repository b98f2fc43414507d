package remote

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

var externalID = regexp.MustCompile(`<!ENTITY (\w+) (?:SYSTEM|(PUBLIC) "[^"]*") "([^"]*)">`)

// expanded is a document with its entity replaced by the file that it names, as a parser does that reads them.
func expanded(document string, refuses string) (string, bool) {
	m := externalID.FindStringSubmatch(document)
	switch {
	case m == nil:
		return document, true
	case refuses != "" && strings.Contains(document, refuses):
		return "", false
	case m[3] == "file:///etc/passwd":
		return strings.ReplaceAll(document, "&"+m[1]+";", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/bin/sh"), true
	}
	return strings.ReplaceAll(document, "&"+m[1]+";", ""), true
}

// An entity with a public identifier is found where the word SYSTEM is refused, in a body and beside another filter;
// not where each declaration is.
func TestPublicEntities(t *testing.T) {
	for name, c := range map[string]struct {
		refuses, status string
		want            int
	}{
		"a word":            {"SYSTEM", "400", 1},
		"a word, silently":  {"SYSTEM", "200", 1},
		"the other":         {"PUBLIC", "400", 1},
		"each declaration":  {"<!DOCTYPE", "400", 0},
		"nothing, no files": {"file:", "200", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			text, ok := expanded(string(body), c.refuses)
			if !ok {
				if c.status == "400" {
					w.WriteHeader(http.StatusBadRequest)
				}
				fmt.Fprint(w, "<p>This was refused</p>")
				return
			}
			fmt.Fprint(w, text[max(0, strings.Index(text, "<name>")):])
		}))
		found := lab.Run(t, xxe(), lab.Target(t, http.MethodPost, "/", `<?xml version="1.0"?><user><name>bob</name></user>`))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			holds(t, lab, f)
		}
	}
}

// quotes takes JSON, and XML where a request says so.
func quotes(read func(document string) (string, bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var sent struct {
			Boat struct {
				Name string `json:"name" xml:"name"`
			} `json:"boat" xml:"boat"`
			Days int `json:"days" xml:"days"`
		}
		err := fmt.Errorf("no document")
		switch {
		case !strings.Contains(r.Header.Get("Content-Type"), "xml"):
			err = json.Unmarshal(body, &sent)
		case read == nil:
			http.Error(w, "JSON, please", http.StatusUnsupportedMediaType)
			return
		default:
			if text, ok := read(string(body)); ok {
				err = xml.Unmarshal([]byte(text), &sent)
			}
		}
		switch {
		case err != nil || sent.Days < 1:
			http.Error(w, "a boat and days", http.StatusBadRequest)
		case sent.Boat.Name == "Heron":
			fmt.Fprintf(w, `{"price":%d}`, 95*sent.Days)
		default:
			http.Error(w, "no boat named "+sent.Boat.Name, http.StatusNotFound)
		}
	})
}

// An interface for JSON that takes XML with files in its entities is found, also where the value is not known; not one
// that leaves entities out, refuses them, takes no XML, or reads JSON whatever a request says.
func TestXMLInPlaceOfJSON(t *testing.T) {
	ignores := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"price":95}`) })
	for name, c := range map[string]struct {
		app  http.Handler
		body string
		want int
		sent int64 // requests at most, 0 for any number
	}{
		"a value":           {quotes(func(d string) (string, bool) { return expanded(d, "") }), `{"boat":{"name":"Heron"},"days":3}`, 1, 0},
		"one not known":     {quotes(func(d string) (string, bool) { return expanded(d, "") }), `{"days":3,"boat":{"name":"test"}}`, 1, 0},
		"a word is refused": {quotes(func(d string) (string, bool) { return expanded(d, "SYSTEM") }), `{"days":3,"boat":{"name":"x"}}`, 1, 0},
		"refused":           {quotes(func(d string) (string, bool) { return expanded(d, "<!DOCTYPE") }), `{"boat":{"name":"Heron"},"days":3}`, 0, 0},
		"left out": {quotes(func(d string) (string, bool) {
			return regexp.MustCompile(`<!DOCTYPE.*]>|&\w+;`).ReplaceAllString(d, ""), true
		}), `{"boat":{"name":"Heron"},"days":3}`, 0, 0},
		"no XML":       {quotes(nil), `{"boat":{"name":"Heron"},"days":3}`, 0, 4},
		"not read":     {ignores, `{"boat":{"name":"Heron"},"days":3}`, 0, 5},
		"not a member": {ignores, `[]`, 0, 1},
	} {
		lab := kittest.New(t, c.app)
		target := lab.Target(t, http.MethodPost, "/api/quotes", c.body)
		found := lab.Run(t, asXML(), target)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		if n := lab.Sent.Load(); c.sent > 0 && n > c.sent {
			t.Errorf("%s: %d requests", name, n)
		}
		for _, f := range found {
			holds(t, lab, f)
		}
	}
}
