package recorded

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// written is a request as text, for comparison.
func written(q *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", q.Method, q.URL)
	for _, h := range q.Headers {
		fmt.Fprintf(&b, " | %s: %s", h.Name, h.Value)
	}
	if len(q.Body) > 0 {
		fmt.Fprintf(&b, " || %s", q.Body)
	}
	return b.String()
}

const post = "POST /user?a=1 HTTP/1.1\r\nHost: shop.test:8080\r\nContent-Length: 3\r\nAccept-Encoding: gzip\r\n" +
	"Connection: close\r\nCookie: s=1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nb=2\r\n"

const wantPost = " | Cookie: s=1 | Content-Type: application/x-www-form-urlencoded || b=2"

const petstore = `
openapi: 3.0.0
info: {title: t, version: "1"}
servers: [{url: "https://{where}.test/v1/", variables: {where: {default: api}}}]
components:
  schemas:
    Node: {type: object, properties: {name: {type: string}, next: {$ref: '#/components/schemas/Node'}}}
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer, default: 7}}]
    get:
      parameters:
        - {name: q, in: query, schema: {type: string, enum: [a b, c]}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string, example: s1}}
    put:
      requestBody:
        content:
          application/json: {schema: {$ref: '#/components/schemas/Node'}}
          application/x-www-form-urlencoded: {schema: {type: object, properties: {n: {type: integer, minimum: 3}}}}
          application/xml: {schema: {type: object, xml: {name: pet}, properties: {tag: {type: array, items: {type: string}}}}}
`

func TestRead(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString([]byte(post))
	for name, c := range map[string]struct {
		format, text string
		vars         map[string]string
		want         []string
	}{
		"burp": {"burp", `<?xml version="1.0"?><!DOCTYPE items [<!ELEMENT items (item*)>]>
<items burpVersion="2"><item><url><![CDATA[https://shop.test:8080/user?a=1]]></url><host ip="1">x</host>
<request base64="true"><![CDATA[` + b64 + `]]></request><response>x</response></item>
<item><url>http://b.test/</url><request base64="false"><![CDATA[GET / HTTP/1.1
Host: other.test

]]></request></item></items>`, nil, []string{"POST https://shop.test:8080/user?a=1" + wantPost,
			"GET http://b.test/ | Host: other.test"}},
		"jsonl": {"jsonl", `{"url":"https://shop.test:8080/user?a=1","request":{"raw":` + fmt.Sprintf("%q", post) + `}}
{"request":{"method":"PATCH","endpoint":"http://k.test/x","headers":{"X-A":"1"},"body":"z"}}
{"url":"http://p.test/y","request":{"header":{"method":"DELETE","path":"/y","scheme":"http","X-B":"2"}}}`, nil,
			[]string{"POST https://shop.test:8080/user?a=1" + wantPost, "PATCH http://k.test/x | X-A: 1 || z",
				"DELETE http://p.test/y | X-B: 2"}},
		"yaml": {"yaml", "timestamp: 2024-02-20T19:24:13+05:30\nurl: http://shop.test:8080/user\nrequest:\n  raw: |+\n" +
			"    PUT /user HTTP/1.1\n    Host: shop.test:8080\n    Content-Length: 3\n\n    {}\n\n---\n---\nnote: 1\n", nil,
			[]string{"PUT http://shop.test:8080/user || {}\n"}},
		"raw": {"raw", "### first\nGET /a HTTP/1.1\nHost: a.test\nX: y\n\n###\n\nPOST http://b.test/c HTTP/1.1\nHost: b.test\n\nk=v\n###\n",
			nil, []string{"GET a.test/a | X: y", "POST http://b.test/c || k=v"}},
		"chunks": {"raw", "POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", nil,
			[]string{"POST a.test/a || abc"}},
		"equal requests": {"raw", "GET /a HTTP/1.1\nHost: a.test\n###\nGET /a HTTP/1.1\nHost: a.test\nConnection: close\n", nil,
			[]string{"GET a.test/a"}},
		"openapi": {"openapi", petstore, map[string]string{"X-Trace": "t"}, []string{
			"GET https://api.test/v1/pets/7?q=a+b | X-Trace: t | Cookie: session=s1",
			`PUT https://api.test/v1/pets/7 | Content-Type: application/json || {"name":"string"}`,
			"PUT https://api.test/v1/pets/7 | Content-Type: application/x-www-form-urlencoded || n=3",
			"PUT https://api.test/v1/pets/7 | Content-Type: application/xml || <pet><tag>string</tag></pet>"}},
		"swagger": {"swagger", `{"swagger":"2.0","info":{"title":"t","version":"1"},"host":"s.test","basePath":"/b",
"schemes":["https"],"paths":{"/x":{"post":{"consumes":["application/json"],"parameters":[
{"in":"query","name":"q","type":"string","default":"d"},
{"in":"body","name":"b","schema":{"type":"object","properties":{"n":{"type":"boolean"}}}}],
"responses":{"200":{"description":"x"}}}}}}`, nil,
			[]string{`POST https://s.test/b/x?q=d | Content-Type: application/json || {"n":true}`}},
		"postman": {"postman", `{"info":{"schema":"v2.1.0"},"auth":{"type":"bearer","bearer":[{"key":"token","value":"{{t}}"}]},
"variable":[{"key":"base","value":"https://p.test"},{"key":"t","value":"old"}],"item":[{"name":"folder","item":[
{"name":"a","request":{"method":"POST","header":[{"key":"X","value":"1"},{"key":"Y","value":"2","disabled":true}],
"url":{"raw":"{{base}}/u/:id?z=1","variable":[{"key":"id","value":"5"}]},
"body":{"mode":"raw","raw":"{\"a\":1}","options":{"raw":{"language":"json"}}}}}]},
{"name":"b","request":{"auth":{"type":"noauth"},"method":"POST","url":"{{base}}/f",
"body":{"mode":"urlencoded","urlencoded":[{"key":"k","value":"a b"}]}}},{"name":"c","request":"https://p.test/get"}]}`,
			map[string]string{"t": "new"}, []string{
				`POST https://p.test/u/5?z=1 | X: 1 | Authorization: Bearer new | Content-Type: application/json || {"a":1}`,
				"POST https://p.test/f | Content-Type: application/x-www-form-urlencoded || k=a+b", "GET https://p.test/get"}},
	} {
		got, err := Read(c.format, "f", strings.NewReader(c.text), Options{Vars: c.vars})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var all []string
		for i := range got.Requests {
			all = append(all, written(&got.Requests[i]))
		}
		if strings.Join(all, "\n") != strings.Join(c.want, "\n") || len(got.Missing)+len(got.LeftOut) > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", name, strings.Join(all, "\n"), strings.Join(c.want, "\n"), got.Missing)
		}
	}
}

// An entry with a fault is an error that names file and place; where that is wanted it is left out, with the same words.
func TestFaults(t *testing.T) {
	for format, texts := range map[string]map[string]string{
		"burp": {
			"<x/>": "f: it is not an export", "<items><item>": "f:1: XML syntax error",
			"<items>\n<item><url>http://a.test</url><request base64='true'>!</request></item></items>": "f:2: its request is not base64",
			"<items>\n\n<item><url>ftp://a</url><request>GET / HTTP/1.1</request></item></items>":      "f:3: ",
		},
		"jsonl": {
			"{\"url\":\"http://a.test\"}\n{": "f:2: ", "[]": "f:1: ", "{\"request\":{}}": "f:1: it has neither",
			"{}\n{\"url\":\"http://a.test\",\"request\":{\"raw\":\"x\"}}": "f:1: ",
			strings.Repeat("[", 200): "f:1: ",
			"{\"url\":\"http://a.test\",\"request\":{\"method\":\"A B\"}}":                    "f:1: \"A B\" is not a method",
			"{\"url\":\"http://a.test\",\"request\":{\"headers\":{\"a b\":\"1\"}}}":           "f:1: \"a b\" is not a header",
			"{\"url\":\"http://a.test\",\"request\":{\"raw\":\"CONNECT a.test:1 HTTP/1.1\"}}": "f:1: CONNECT",
		},
		"yaml": {"- 1": "f: line 1", "url: &a http://a.test\nrequest: {raw: *a}": "f: ",
			"a: 1\n---\n\nurl: http://a.test\nrequest: {raw: nonsense}": "f:4: \"nonsense\" is not a request line"},
		"raw": {"GET / HTTP/1.1\n\n": "f:1: it names no host", "###\n\nx": "f:3: ",
			"GET / HTTP/1.1\nHost: a.test\nno header\n": "f:1: \"no header\" is not a header line"},
		"openapi": {"swagger: '2.0'": "f: it does not say", "openapi: 3.0.0\ninfo: {title: t, version: '1'}\npaths: {}": "f: servers: ",
			"openapi: 3.0.0\ninfo: {title: t, version: '1'}\nservers: [{url: /v1}]\npaths: {/: {get: {}}}": "f: servers[0]: \"/v1\"",
			"openapi: 3.0.0\nservers: [{url: 'http://a.test'}]\npaths: {'/{x}': {get: {}}}":                "f: paths./{x}.get: no parameter",
			"{\n\"openapi\": ,": "f:2: "},
		"postman": {"{}": "f: it is not a collection", "{\"info\":{},\"item\":[{\"name\":\"n\",\"request\":{\"url\":1}}]}": "f: item[0] (n): url"},
	} {
		for text, want := range texts {
			got, err := Read(format, "f", strings.NewReader(text), Options{})
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %q: %v %+v, want %s", format, text, err, got, want)
			}
		}
	}
	got, err := Read("raw", "f", strings.NewReader("GET / HTTP/1.1\n###\nGET / HTTP/1.1\nHost: a.test\n"), Options{Lenient: true})
	if err != nil || len(got.Requests) != 1 || len(got.LeftOut) != 1 || !strings.HasPrefix(got.LeftOut[0], "f:1: ") {
		t.Errorf("%+v %v", got, err)
	}
}

// A value that a description needs and does not have is named, and made up only where that is wanted.
func TestMissing(t *testing.T) {
	text := `{"openapi":"3.0.0","servers":[{"url":"http://a.test"}],"security":[{"key":[]}],
"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}}},
"paths":{"/{id}":{"get":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}]}}}}`
	got, err := Read("openapi", "f", strings.NewReader(text), Options{})
	if err != nil || strings.Join(got.Missing, " ") != "X-Key id" || len(got.Requests) > 0 {
		t.Errorf("%+v %v", got, err)
	}
	got, err = Read("openapi", "f", strings.NewReader(text), Options{Vars: map[string]string{"id": "a/b"}})
	if err != nil || strings.Join(got.Missing, " ") != "X-Key" || len(got.Requests) > 0 {
		t.Errorf("%+v %v", got, err)
	}
	got, err = Read("openapi", "f", strings.NewReader(text), Options{Vars: map[string]string{"id": "a/b", "X-Key": "k"}})
	if err != nil || len(got.Requests) != 1 || written(&got.Requests[0]) != "GET http://a.test/a%2Fb | X-Key: k" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = Read("openapi", "f", strings.NewReader(text), Options{Lenient: true})
	if err != nil || len(got.Requests) != 1 || written(&got.Requests[0]) != "GET http://a.test/string" {
		t.Errorf("%+v %v", got, err)
	}
	text = `{"info":{},"item":[{"request":{"url":"{{base}}/x"}}]}`
	if got, err = Read("postman", "f", strings.NewReader(text), Options{}); err != nil || strings.Join(got.Missing, " ") != "base" {
		t.Errorf("%+v %v", got, err)
	}
}

// Requests that differ are different targets, of the same URL.
func TestTarget(t *testing.T) {
	one := Request{URL: "http://A.test/x?y=1#z", Method: "POST", Body: []byte("1")}
	two := one
	two.Body = []byte("2")
	if one.Target() == two.Target() || !strings.HasPrefix(one.Target(), "http://a.test/x?y=1#POST-") {
		t.Error(one.Target(), two.Target())
	}
	bare := Request{URL: "a.test:8080/x", Method: "GET"}
	if !strings.HasPrefix(bare.Target(), "a.test:8080/x#GET-") {
		t.Error(bare.Target())
	}
}

// Whatever a file holds, reading it ends, within bounds, and what is read can be a target.
func FuzzRead(f *testing.F) {
	for _, format := range Formats() {
		f.Add(format, post, true)
	}
	f.Add("openapi", petstore, false)
	f.Add("burp", "<items><item><url>http://a.test</url><request>GET / HTTP/1.1\n\n</request></item></items>", false)
	f.Add("jsonl", `{"url":"http://a.test","request":{"raw":"GET / HTTP/1.1\n\n"}}`, false)
	f.Add("yaml", "url: http://a.test\nrequest: {raw: \"GET / HTTP/1.1\"}", false)
	f.Add("postman", `{"info":{},"item":[{"request":{"url":"http://a.test","body":{"mode":"formdata","formdata":[{"key":"{{a}}"}]}}}]}`, true)
	f.Add("swagger", `{"swagger":"2.0","host":"a.test","paths":{"/":{"get":{"parameters":[{"$ref":"#/x"}]}}}}`, true)
	f.Fuzz(func(t *testing.T, format, text string, lenient bool) {
		got, err := Read(format, "f", strings.NewReader(text), Options{Lenient: lenient})
		if err != nil {
			return
		}
		for i := range got.Requests {
			q := &got.Requests[i]
			if _, err := locate(q.URL); err != nil || !strings.Contains(q.Target(), "#"+q.Method+"-") {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}
