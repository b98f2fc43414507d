package syntax_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// bomb is a list whose elements are ten aliases each, ten deep.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]")
	for c := 'b'; c <= 'k'; c++ {
		b.WriteString(", " + string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]")
	}
	return b.String()
}

// Each refusal names the file, the line, the column where there is one and what is
// wrong, and does it soon.
func TestRefusals(t *testing.T) {
	http := func(block string) string { return minimal + "http: [{path: [x], " + block + "}]" }
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {"", "t.yaml:1"},
		"text":          {"hello", "t.yaml:1:1: a template must be a mapping"},
		"tab":           {"id: a\ninfo:\n\tname: x", "t.yaml:3"},
		"unclosed":      {"id: [a", "t.yaml:2:1: did not find"},
		"two documents": {minimal + "---\nid: b\n", "t.yaml:"},
		"not UTF-8":     {"id: \xff", "not valid UTF-8"},
		"too large":     {"#" + strings.Repeat("x", syntax.MaxBytes), "larger than"},
		"no info":       {"id: a\nhttp: [{path: [x]}]", "info: a template needs an info block"},
		"no name": {"id: a\ninfo: {author: a}\nhttp: [{path: [x]}]",
			"t.yaml:2:7: info.name: a template needs a name"},
		"no author": {"id: a\ninfo: {name: a, author: ' , '}\nhttp: [{path: [x]}]",
			"info.author: a template needs an author"},
		"severity": {"id: a\ninfo: {name: a, author: b, severity: awful}", `info.severity: "awful" is none of`},
		"bad id":   {"id: a b\ninfo: {name: a, author: b}\nhttp: [{path: [x]}]", "t.yaml:1:1: id: the id"},
		"nan score": {"id: a\ninfo: {name: a, author: b, classification: {cvss-score: .nan}}",
			"cvss-score: must be a number"},
		"list for text":  {"id: [a]\n", "id: must be a text"},
		"map for list":   {minimal + "http: [{path: {a: b}}]", "http[0].path: must be a text"},
		"text for map":   {minimal + "http: [x]", "http[0]: must be a mapping"},
		"negative count": {http("max-redirects: -1"), "http[0].max-redirects: must not be negative"},
		"many redirects": {http("max-redirects: 101"), "t.yaml:3:20: http[0].max-redirects: 101 redirects are more than 100"},
		"quoted bool":    {http("race: 'true'"), "http[0].race: must be true or false"},
		"number": {http("matchers: [{type: status, status: [a]}]"),
			"t.yaml:3:55: http[0].matchers[0].status[0]: must be a whole number"},
		"key of a list":  {minimal + "? [a]\n: b", "a key must be a word"},
		"key twice":      {minimal + "http: [{path: x}]\nid: b", "t.yaml:4:1: id: the key is written twice"},
		"free key twice": {minimal + "variables: {a: 1, a: 2}", "variables.a: the key is written twice"},
		"unknown key": {http("headres: {a: b}"),
			"http[0].headres: there is no such key in the template language; did you mean headers?"},
		"far key":         {http("zzz: 1"), "http[0].zzz: there is no such key in the template language"},
		"other's key":     {minimal + "ssl: [{path: x}]", "ssl[0].path: there is no such key"},
		"alias bomb":      {minimal[:len(minimal)-2] + ", metadata: {" + bomb() + "}}\n", "more than"},
		"alias to itself": {"id: a\ninfo: {name: n, author: a, metadata: &m {x: *m}}\n", "t.yaml:2"},
		"deep": {"id: a\ninfo: {name: n, author: a, metadata: {x: " + strings.Repeat("[", 500) +
			strings.Repeat("]", 500) + "}}\n", "nested too deep"},
		"very deep": {strings.Repeat("[", 200_000), "t.yaml:"},

		"nothing to do":  {minimal, "http: a template needs at least one request"},
		"empty requests": {minimal + "http: []", "http: a template needs at least one request"},
		"both": {minimal + "http: [{path: x}]\nworkflows: [{template: a}]",
			"t.yaml:4:1: workflows: a workflow has no requests of its own"},
		"old and new": {minimal + "http: [{path: x}]\nrequests: [{path: x}]",
			"requests: http and requests are one key under two names"},
		"tcp and network": {minimal + "network: [{host: x}]\ntcp: [{host: x}]",
			"tcp: tcp and network are one key under two names"},
		"signature": {minimal + "signature: GCP\nhttp: [{path: x}]", `signature: "GCP" is none of AWS`},

		"method": {http("method: FETCH"), `http[0].method: "FETCH" is none of GET`},
		"redirects": {http("redirects: true, host-redirects: true"),
			"http[0].host-redirects: redirects and host-redirects exclude"},
		"protocol-redirects": {http("protocol-redirects: true"), "http[0].protocol-redirects: protocol-redirects needs"},
		"race": {http("race: true, matchers: [{type: dsl, dsl: ['status_code_2 == 1']}]"),
			"http[0].race: a race has no numbered"},
		"fuzzing": {http("fuzzing: [{part: query, fuzz: [a]}], extractors: [{type: regex, part: body_1, regex: [a]}]"),
			"http[0].fuzzing: fuzzing has no numbered"},
		"unsafe": {http("fuzzing: [{part: query, fuzz: [a]}], unsafe: true"),
			"http[0].unsafe: unsafe requests cannot be fuzzed"},
		"unsafe, digest": {minimal + `http: [{raw: ["GET / HTTP/1.1"], unsafe: true, digest-username: a}]`,
			"http[0].digest-username: an unsafe raw request is sent as it is written, without digest-username"},
		"unsafe, signed": {minimal + `http: [{raw: ["GET / HTTP/1.1"], unsafe: true, signature: AWS}]`,
			"http[0].signature: an unsafe raw request is sent as it is written, without signature"},
		"batteringram":  {http("body: '{{a}}{{b}}', payloads: {a: [x], b: [y]}"), "http[0].payloads: batteringram"},
		"attack":        {http("attack: siege, payloads: {a: [x]}"), "http[0].attack"},
		"payload":       {http("payloads: {a: 5}"), "http[0].payloads.a: must be a list"},
		"empty payload": {http("payloads: {a: []}"), "http[0].payloads.a: the payload has no values"},
		"payload level": {http("payloads: {a: {lowest: [a]}}"), "http[0].payloads.a.lowest: there is no such key"},
		"rule":          {http("fuzzing: [{fuzz: [a]}]"), "http[0].fuzzing[0].part: a fuzzing rule needs a part"},
		"rule's part": {http("fuzzing: [{parts: [query, tail], fuzz: [a]}]"),
			`http[0].fuzzing[0].parts[1]: "tail" is none of`},
		"rule's regex": {http("fuzzing: [{part: query, type: replace-regex, fuzz: [a]}]"),
			"replace-regex: a rule of type"},
		"analyzer": {http("analyzer: {name: guess}"), "http[0].analyzer.name"},

		"matcher's type":      {http("matchers: [{words: [a]}]"), "http[0].matchers[0].type: a matcher needs a type"},
		"odd type":            {http("matchers: [{type: words, words: [a]}]"), `"words" is none of status, size, word`},
		"matcher's condition": {http("matchers: [{type: word, condition: xor, words: [a]}]"), "condition"},
		"matcher's list": {http("matchers: [{type: word, words: [a], regex: [b]}]"),
			"matchers[0].regex: a word matcher has no regex"},
		"dsl's part": {http("matchers: [{type: dsl, part: body, dsl: [a]}]"),
			"matchers[0].part: a dsl matcher has no part"},
		"status's encoding": {http("matchers: [{type: status, encoding: hex, status: [1]}]"),
			"matchers[0].encoding: a status matcher has no encoding"},
		"binary's case": {http("matchers: [{type: binary, case-insensitive: true, binary: [aa]}]"),
			"only word matchers can be case-insensitive"},
		"extractor's type": {http("extractors: [{regex: [a]}]"), "http[0].extractors[0].type: an extractor needs a type"},
		"extractor's case": {http("extractors: [{type: regex, case-insensitive: true, regex: [a]}]"),
			"only kval extractors"},
		"pre-condition": {http("pre-condition: [{type: word, dsl: [a]}]"), "http[0].pre-condition[0].dsl"},
		"empty step": {minimal + "workflows: [{matchers: []}]",
			"workflows[0].template: a step names a template or tags"},
		"deep step": {minimal + "workflows: " + strings.Repeat("[{template: a, subtemplates: ", 40) + "[]" +
			strings.Repeat("}]", 40), "nested too deep"},
		"dns type": {minimal + "dns: [{type: B}]", `dns[0].type: "B" is none of A, NS`},
		"action": {minimal + "headless: [{steps: [{action: fly}]}]",
			`headless[0].steps[0].action: "fly" is none of`},
		"threads of frames": {minimal + "websocket: [{threads: 5}]", "websocket[0].threads: there is no such key"},
	} {
		ends(t, name, func() {
			_, err := syntax.Parse("t.yaml", []byte(c.in))
			if !errs.Is(err, errs.Invalid) || errs.From(err).Code != syntax.CodeInvalid ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// What looks like a mistake and is none.
func TestAccepted(t *testing.T) {
	for name, in := range map[string]string{
		"unused payload":   "http: [{body: '{{a}}', payloads: {a: [x], b: [y]}}]",
		"operators of two": "http: [{path: x, matchers-condition: xor}]",
		"switches off":     "http: [{path: x, race: false, matchers: [{type: word, regex: [], words: [a]}]}]",
		"nulls":            "http: [{path: x, headers: ~, threads: ~, race: ~, matchers: ~, body: ~, analyzer: ~, method: ~}]",
		"nothing to send":  "http: [{global-matchers: true}]",
		"no action":        "headless: [{steps: [{args: {code: a}}]}]",
	} {
		if _, err := syntax.Parse("t.yaml", []byte(minimal+in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Leniently, unknown keys are passed over and the last of doubled keys counts.
func TestLenient(t *testing.T) {
	text := minimal + "zzz: {a: 1}\nhttp:\n  - path: [a]\n    what: 1\n    path: [b]\nid: b\n"
	if _, err := syntax.Parse("t.yaml", []byte(text)); err == nil {
		t.Error("strictly, it was read")
	}
	got, err := syntax.Options{Lenient: true}.Parse("t.yaml", []byte(text))
	if err != nil || got.ID != "b" || !reflect.DeepEqual(got.HTTP[0].Path, []string{"b"}) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := (syntax.Options{Lenient: true}).Parse("t.yaml", []byte(minimal+"http: [{race: 5}]")); err == nil {
		t.Error("a wrong value was read")
	}
}

// Merged mappings give what a mapping does not have itself.
func TestMergeKeys(t *testing.T) {
	got := parse(t, minimal+"http:\n  - &one {path: [a], method: GET, headers: {a: 1}}\n  - {<<: *one, method: POST}\n  - {<<: [{body: x}, *one, {body: y}]}\n")
	two, three := got.HTTP[1], got.HTTP[2]
	if two.Method != "POST" || two.Path[0] != "a" || two.Headers[0].Name != "a" || three.Body != "x" ||
		three.Method != "GET" {
		t.Errorf("%+v\n%+v", two, three)
	}
}

func TestRandomMarkers(t *testing.T) {
	text := minimal + "http: [{path: ['/{{randstr}}/{{randstr}}/{{RandStr}}/{{randstr_1}}/{{randstr-1}}/{{xrandstr}}']}]"
	n := 0
	got, err := syntax.Options{NewRandom: func() string { n++; return strings.Repeat("x", n) }}.Parse("t.yaml",
		[]byte(text))
	if err != nil || got.HTTP[0].Path[0] != "/x/x/xx/xxx/{{randstr-1}}/{{xrandstr}}" {
		t.Fatalf("%+v %v", got, err)
	}
	if want := []syntax.Variable{{Name: "{{randstr}}", Value: "x", Data: "x"},
		{Name: "{{RandStr}}", Value: "xx", Data: "xx"},
		{Name: "{{randstr_1}}", Value: "xxx", Data: "xxx"}}; !reflect.DeepEqual(got.Constants, want) {
		t.Errorf("%+v", got.Constants)
	}
	a, b := syntax.Random(), syntax.Random()
	if len(a) != 27 || a == b || strings.Trim(a+b,
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		t.Error(a, b)
	}
}

func TestIncludes(t *testing.T) {
	files := map[string]string{
		"blocks.yaml":   "- path: [a]\r\n  # !include:matchers.yaml\n- path: [b]\n",
		"matchers.yaml": "matchers:\n  - type: word\n    words: [w]",
		"self.yaml":     "# !include:self.yaml",
	}
	read := syntax.Options{Lenient: true, Include: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, errors.New("there is no such file")
		}
		return []byte(text), nil
	}}
	text := minimal + "http:\n  # !include:blocks.yaml\n"
	got, err := read.Parse("t.yaml", []byte(text))
	if err != nil || len(got.HTTP) != 2 || got.HTTP[0].Matchers[0].Words[0] != "w" {
		t.Errorf("%+v %v", got, err)
	}
	for include, want := range map[string]string{"none.yaml": "there is no such file",
		"self.yaml": "self.yaml includes itself"} {
		_, err := read.Parse("t.yaml", []byte(minimal+"# !include:"+include))
		if err == nil || !strings.Contains(err.Error(), ":") || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	// A file that includes two files, each of which does the same, does not grow for ever.
	for i := range 31 {
		next := "f" + string(rune('a'+i+1)) + ".yaml"
		files["f"+string(rune('a'+i))+".yaml"] = strings.Repeat("# !include:"+next+"\n", 2)
	}
	files["f"+string(rune('a'+31))+".yaml"] = "# " + strings.Repeat("x", 1000)
	ends(t, "an include bomb", func() {
		if _, err := read.Parse("t.yaml", []byte(minimal+"# !include:fa.yaml")); err == nil ||
			!strings.Contains(err.Error(), "larger than") {
			t.Error(err)
		}
	})
	if got, err := syntax.Parse("t.yaml", []byte(text+"  - path: [x]\n")); err != nil || len(got.HTTP) != 1 {
		t.Errorf("strictly, an include is a comment: %+v %v", got, err)
	}
}

func TestSignature(t *testing.T) {
	got := parse(t, minimal+"http: [{path: [a]}]\r\n# digest: 4a0b00:922c64590222798bb761d5b6d8e72950\n")
	if want := (syntax.Signature{Present: true, Digest: "4a0b00",
		Fragment: "922c64590222798bb761d5b6d8e72950"}); got.Signature != want {
		t.Errorf("%+v", got.Signature)
	}
	if text := syntax.Unsigned([]byte("a\r\nb\n\n# digest: 00:11\n")); string(text) != "a\nb" {
		t.Errorf("%q", text)
	}
}

func TestJSON(t *testing.T) {
	text := `{"id": "a", "info": {"name": "n \ud83d\ude00", "author": "a", "metadata": {"n": 1.0, "m": 12345678901234567890}},
	"http": [{"path": ["a"], "race": true, "max-size": 10,
	  "matchers": [{"type": "status", "status": [200]}]}]}`
	got, err := syntax.Parse("t.json", []byte(text))
	if err != nil || got.Info.Name != "n 😀" || got.HTTP[0].Matchers[0].Status[0] != 200 ||
		got.HTTP[0].Matchers[0].Line != 3 || got.HTTP[0].MaxSize != 10 || !got.HTTP[0].Race {
		t.Errorf("%+v %v", got, err)
	}
	if m := got.Info.Metadata; m["n"] != 1.0 {
		t.Errorf("%#v", m)
	}
	for in, want := range map[string]string{
		text + "{}":                      "t.json:3:57: there is more after the template",
		"{\n\"id\": \"a\",\n \"id\": 1}": "t.json:3:2: id: the key is written twice",
		"{\n \"idd\": 1}":                "t.json:2:2: idd: there is no such key in the template language; did you mean id?",
		"{\"id\": ":                      "t.json:1:8: unexpected EOF",
		"[1,":                            "t.json:1",
		"":                               "t.json:1",
		strings.Repeat("[", 100_000):     "nested too deep",
		"{a: 1}":                         "invalid character",
	} {
		_, err := syntax.Parse("t.json", []byte(in))
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", in, err)
		}
	}
}

func TestSettings(t *testing.T) {
	got, err := syntax.Settings("p.yml", []byte("tags: [a, 1]\nrate-limit: 5\n"))
	if want := []syntax.Variable{{Name: "tags", Data: []any{"a", 1}, Line: 1},
		{Name: "rate-limit", Value: "5", Data: 5, Line: 2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := syntax.Settings("p.yml", []byte("# nothing\n")); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := syntax.Settings("p.yml", []byte("- a\n")); err == nil {
		t.Error("a list was read")
	}
}
