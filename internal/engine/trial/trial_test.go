package trial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/trial"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

const template = `id: version
info: {name: V, author: ada, severity: low}
http:
  - path: ["{{BaseURL}}/version?a=1", "http://elsewhere.example:7/version?a=1"]
    matchers: [{type: word, words: ["engine "]}]
    extractors: [{type: regex, group: 1, regex: ['engine ([0-9.]+)']}]
`

func compile(t testing.TB, text string) *program.Program {
	t.Helper()
	parsed, err := syntax.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Compile(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRunJudgesCases(t *testing.T) {
	p := compile(t, template)
	cases, err := trial.Read("cases.txtar", []byte(`-- positive/a version --
extracts 1.2
GET /version → 200

engine 1.2
-- positive/another version --
extracts 1.3
GET /version → 200

engine 1.2
-- positive/not there --
GET /other → 200

engine 1.2
-- negative/a page --
* * → 200

<h1>motor</h1>
-- negative/a version --
* * → 200

engine 1.2
-- positive/over TLS --
tls self-signed
* * → 200

engine 1.2
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", `extracted ["1.2" "1.2"], and not "1.3"`, "did not match; the case has no answer to GET", "",
		"it matched, and must not", ""}
	for i, c := range cases {
		o, err := trial.Run(t.Context(), p, c)
		if err != nil || (want[i] == "") != (o.Reason == "") || !strings.Contains(o.Reason, want[i]) {
			t.Errorf("%s: %+v %v, not %q", c.Name, o, err, want[i])
		}
	}
}

func TestRunOnResponses(t *testing.T) {
	p := compile(t, template)
	for text, positive := range map[string]bool{
		"HTTP/1.1 200 OK\nServer: x\n\nengine 4.5":                                                 true,
		"GET /version HTTP/1.1\r\nHost: a\r\n\r\nHTTP/2 200\r\n\r\nengine 4.5":                     true,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nengine\r\n2\r\n 4\r\n0\r\n\r\n": true,
		"HTTP/1.1 404 Not Found\n\nno":                                                             false,
	} {
		c, err := trial.Answer("r.txt", positive, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := trial.Run(t.Context(), p, c); err != nil || o.Reason != "" {
			t.Errorf("%q: %+v %v", text, o, err)
		}
	}
	if _, err := trial.Answer("r.txt", true, []byte("nothing")); errs.From(err).Param != "response" {
		t.Error(err)
	}
}

func TestRunOnARecord(t *testing.T) {
	har := `{"log": {"entries": [
	 {"request": {"method": "GET", "url": "https://a.example/version?a=2", "headers": []},
	  "response": {"status": 200, "statusText": "OK", "headers": [], "content": {"text": "engine 9"}}},
	 {"request": {"method": "GET", "url": "https://a.example/version?a=1", "headers": []},
	  "response": {"status": 200, "statusText": "OK", "headers": [{"name": "Content-Encoding", "value": "gzip"}],
	   "content": {"text": "ZW5naW5lIDQuNQ==", "encoding": "base64"}}}]}}`
	all, err := recorded.ReadExchanges([]byte(har))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	c, err := trial.Site("a.har", true, all)
	if err != nil {
		t.Fatal(err)
	}
	o, err := trial.Run(t.Context(), compile(t, template), c)
	if err != nil || o.Reason != "" || !slices.Contains(o.Extracted, "4.5") || slices.Contains(o.Extracted, "9") {
		t.Errorf("%+v %v", o, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "no direction": "-- a --\n* * → 200\n", "no route": "-- positive/a --\n",
		"a setting": "-- positive/a --\nwarp 9\n* * → 200\n", "a kind of TLS": "-- positive/a --\ntls odd\n* * → 200\n",
		"a header": "-- positive/a --\n* * → 200\nno header\n", "a status": "-- positive/a --\n* * → 100\n",
		"an expression": "-- positive/a --\nGET /a?q~( → 200\n",
	} {
		if _, err := trial.Read("c.txtar", []byte(text)); errs.From(err).Param != "cases" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := trial.Check("t.yaml", []string{"http", "dns"}); errs.From(err).Param != "template" {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("-- positive/a --\nextracts 1\nGET /a?q~x → 200\nA: {Origin}\n\n\\x00{9}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = trial.Read("c.txtar", text) })
}
