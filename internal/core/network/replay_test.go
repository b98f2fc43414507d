package network

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
)

const captured = "POST /a%2fb?x=1 HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 30\r\nAccept-Encoding: gzip\r\nX-One: 1\r\nX-Two: 2\r\n\r\n" +
	`{"user":{"role":"a","n":1.50}}`

func TestRequestOf(t *testing.T) {
	one := "uno"
	o, err := requestOf("https://app.example.com:8443/a%2fb?x=1", document{Request: []byte(captured)}, Edits{
		Headers: map[string]*string{"x-one": &one, "X-Two": nil, "X-Three": &one},
		JSON: []Mutation{{Path: "/user/role", Value: "admin"}, {Path: "/list", Value: []any{1}}, {Path: "/list/-", Value: "<"},
			{Path: "/list/0", Remove: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Method != "POST" || o.URL.String() != "https://app.example.com:8443/a%2fb?x=1" || o.Host != "app.example.com" ||
		string(o.Body) != `{"list":["<"],"user":{"n":1.50,"role":"admin"}}` {
		t.Errorf("%+v %s", o, o.Body)
	}
	if len(o.Header) != 2 || o.Header.Get("X-One") != one || o.Header.Get("X-Three") != one {
		t.Errorf("headers: %v", o.Header)
	}
}

func TestRefusedReplays(t *testing.T) {
	value, lines := "v", "a\r\nHost: other"
	for name, c := range map[string]struct {
		doc   document
		edits Edits
		kind  errs.Kind
	}{
		"cut":               {document{Request: []byte(captured), RequestCut: true}, Edits{}, errs.Conflict},
		"no request":        {document{Request: []byte("\x16\x03\x01")}, Edits{}, errs.Conflict},
		"absolute target":   {document{Request: []byte("GET http://x/ HTTP/1.1\r\n\r\n")}, Edits{}, errs.Conflict},
		"host":              {document{Request: []byte(captured)}, Edits{Headers: map[string]*string{"HOST": &value}}, errs.Invalid},
		"length":            {document{Request: []byte(captured)}, Edits{Headers: map[string]*string{"content-length": &value}}, errs.Invalid},
		"two lines":         {document{Request: []byte(captured)}, Edits{Headers: map[string]*string{"X": &lines}}, errs.Invalid},
		"no name":           {document{Request: []byte(captured)}, Edits{Headers: map[string]*string{"X:": &value}}, errs.Invalid},
		"another site":      {document{Request: []byte(captured)}, Edits{Path: "http://other.example.com/"}, errs.Invalid},
		"user of an URL":    {document{Request: []byte(captured)}, Edits{Path: "@other.example.com/"}, errs.Invalid},
		"a line in a path":  {document{Request: []byte(captured)}, Edits{Path: "/ HTTP/1.1\r\nHost: x"}, errs.Invalid},
		"no JSON":           {document{Request: []byte("POST / HTTP/1.1\r\n\r\nx")}, Edits{JSON: []Mutation{{Path: "/a"}}}, errs.Invalid},
		"nothing there":     {document{Request: []byte(captured)}, Edits{JSON: []Mutation{{Path: "/user/x/y"}}}, errs.Invalid},
		"nothing to remove": {document{Request: []byte(captured)}, Edits{JSON: []Mutation{{Path: "/z", Remove: true}}}, errs.Invalid},
	} {
		if _, err := requestOf("https://app.example.com/", c.doc, c.edits); !errs.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a path says, the request goes to the host that it went to.
func TestReplayIsPinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.OneOf(rapid.String(), rapid.StringMatching(`[/\\@:?#%.a-z0-9 ]{0,20}`)).Draw(t, "path")
		o, err := requestOf("http://app.example.com:81/", document{Request: []byte(captured)}, Edits{Path: "/" + path})
		if err != nil {
			return
		}
		if r, err := http.NewRequest(http.MethodGet, o.URL.String(), nil); err != nil || r.URL.Host != "app.example.com:81" ||
			r.URL.Scheme != "http" || r.URL.User != nil || strings.ContainsAny(o.URL.RequestURI(), " \r\n") {
			t.Fatalf("%q leads to %v, %v", path, o.URL, err)
		}
	})
}

// FuzzMutated: no document and no pointer makes it fail otherwise than with a refusal.
func FuzzMutated(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, "/a/1/b", false)
	f.Add(`[]`, "/-", false)
	f.Add(`1`, "", true)
	f.Fuzz(func(t *testing.T, doc, pointer string, remove bool) {
		if _, err := mutated([]byte(doc), []Mutation{{Path: pointer, Value: 1.0, Remove: remove}}); err != nil && !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
	})
}
