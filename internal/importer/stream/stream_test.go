package stream_test

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/importer/stream"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

var texts = []string{
	`{"a":[1,2.5e3,-4,true,false,null,"x\"\\]}"],"b":{"c":{}},"d":[]}`, `[]`, `{}`, ` [ 1 , { "a" : "é😀" } ] `, `"text"`, `12`,
	`{"a":1`, `{"a"}`, `{a:1}`, `[1,]`, `[1 2]`, `{"a":1,}`, `]`, `[}`, `{"a":"b`, `nul`, `{"a":tru}`, "[\"a\nb\"]", `[1],`, ``,
	strings.Repeat("[", 300), strings.Repeat("[", 100) + strings.Repeat("]", 100), `{"k":"` + strings.Repeat("v", 10_000) + `"}`,
}

// TestJSON takes values out of texts, and compares with encoding/json: a valid text is taken whole, and a text whose
// brackets do not fit is refused.
func TestJSON(t *testing.T) {
	for _, text := range texts {
		checkJSON(t, text)
	}
}

func checkJSON(t *testing.T, text string) {
	t.Helper()
	s := stream.NewJSON(bufio.NewReader(strings.NewReader(text)))
	if _, err := s.Space(); err != nil {
		if strings.TrimSpace(text) != "" && !errors.Is(err, io.EOF) {
			t.Errorf("%.40q: %v", text, err)
		}
		return
	}
	raw, over, err := s.Take(nil)
	if over || len(text) > stream.MaxItem {
		t.Fatalf("%.40q is too large", text)
	}
	valid := json.Valid([]byte(text)) && !stream.Deep([]byte(text))
	if valid && (err != nil || string(raw) != strings.Trim(text, " \t\r\n")) {
		t.Errorf("%.60q: %q, %v", text, raw, err)
	}
	if err != nil && !errs.Is(err, errs.Invalid) && !errors.Is(err, io.EOF) {
		t.Errorf("%.60q: %v is no fault of the text", text, err)
	}
	if err == nil && json.Valid(raw) && !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), string(raw)) {
		t.Errorf("%.60q: %q is not how it begins", text, raw)
	}
}

// TestJSONWithout leaves members out.
func TestJSONWithout(t *testing.T) {
	s := stream.NewJSON(bufio.NewReader(strings.NewReader(`{"a": [1, {"b": 2}], "c": "d", "e": {}} rest`)))
	raw, _, err := s.Take(map[string]bool{"a": true, "e": true})
	if err != nil || string(raw) != `{"a":null,"c":"d","e":null}` {
		t.Errorf("%s, %v", raw, err)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(checkJSON)
}

var documents = []string{
	`<a><b x="1" y='2'>text &amp; &#233; <![CDATA[<raw> ]]></b><!-- c <x> --><?pi a?></a>`,
	`<!DOCTYPE a [<!ENTITY x "y"><!ELEMENT a (b)>]><a>é</a>`, `<a>`, `<a></b>`, `text`, ``, `<a x="<>">1</a>`,
	`<a>]]&gt;</a>`, `<a><![CDATA[]]]]><![CDATA[>]]></a>`, `<a><!---->b</a>`, `<a b=c>d</a>`, "<a>\x01\xff&#0;&#xFFFE;&#x1F600;</a>",
}

// TestGuard: what XML allows goes through it unchanged; what XML has not is replaced.
func TestGuard(t *testing.T) {
	for _, text := range documents {
		checkGuard(t, text)
	}
	guarded, err := io.ReadAll(stream.NewGuard(bufio.NewReader(strings.NewReader("<a>\x01b\xffc&#0;d&#x9;</a>"))))
	if err != nil || string(guarded) != "<a>\uFFFDb\uFFFDc\uFFFDd&#x9;</a>" {
		t.Errorf("%q, %v", guarded, err)
	}
	latin := "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe9\x80</a>"
	guarded, err = io.ReadAll(stream.NewGuard(bufio.NewReader(strings.NewReader(latin))))
	if err != nil || !strings.HasSuffix(string(guarded), "<a>é€</a>") {
		t.Errorf("%q, %v", guarded, err)
	}
}

// checkGuard compares the tokens behind the guard with those of the text itself, where that can be read.
func checkGuard(t *testing.T, text string) {
	t.Helper()
	plain, err := tokens(strings.NewReader(text))
	if err != nil || strings.Contains(text, "encoding") {
		_, _ = tokens(stream.NewGuard(bufio.NewReader(strings.NewReader(text)))) // it must end
		return
	}
	guarded, err := tokens(stream.NewGuard(bufio.NewReader(strings.NewReader(text))))
	if err != nil || guarded != plain {
		t.Errorf("%.80q:\n%s\n%s (%v)", text, plain, guarded, err)
	}
}

func tokens(r io.Reader) (string, error) {
	dec := xml.NewDecoder(r)
	dec.Strict = false
	dec.CharsetReader = stream.Charset
	var all strings.Builder
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			all.WriteString("<" + token.Name.Local)
			for _, a := range token.Attr {
				all.WriteString(" " + a.Name.Local + "=" + a.Value)
			}
		case xml.EndElement:
			all.WriteString(">" + token.Name.Local)
		case xml.CharData:
			all.Write(token)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(checkGuard)
}
