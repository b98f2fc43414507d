package object

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// phpName is the name in a serialised array with one text, as PHP reads it.
func phpName(v string) (string, bool) {
	m := regexp.MustCompile(`^a:1:\{i:0;([sS]):(\d+):"([^"]*)";\}$`).FindStringSubmatch(v)
	if m == nil {
		return "", false
	}
	text := m[3]
	if m[1] == "S" {
		text = regexp.MustCompile(`\\[0-9a-f]{2}`).ReplaceAllStringFunc(text, func(e string) string {
			n, _ := strconv.ParseUint(e[1:], 16, 8)
			return string(rune(n))
		})
	}
	n, _ := strconv.Atoi(m[2])
	return text, n == len(text)
}

// stream reads what our streams have: a head, marks that say nothing, and a text.
func stream(head, nothing, rest []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(rest, head)
	if !ok {
		return "", false
	}
	for len(rest) > 0 {
		if after, is := bytes.CutPrefix(rest, nothing); is {
			rest = after
			continue
		}
		break
	}
	rest, ok = bytes.CutPrefix(rest, []byte{0x74})
	return string(rest), ok
}

// packedStream reads a packed stream as stream does.
func packedStream(as *base64.Encoding, p packing, head []byte) func(string) (string, bool) {
	return func(v string) (string, bool) {
		raw, err := as.DecodeString(v)
		plain, ok := p.unpacked(raw)
		if err != nil || !ok {
			return "", false
		}
		return stream(head, []byte("N0"), plain)
	}
}

func TestSerialised(t *testing.T) {
	java, pickle := []byte{0xac, 0xed, 0, 5}, []byte{0x80, 4}
	encode := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		value string
		read  func(v string) (string, bool)
		found bool
	}{
		"php": {`a:1:{i:0;s:5:"alice";}`, phpName, true},
		"php in base64": {encode([]byte(`a:1:{i:0;s:5:"alice";}`)), func(v string) (string, bool) {
			plain, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return "", false
			}
			return phpName(string(plain))
		}, true},
		"java": {encode(append(java, []byte("talice")...)), func(v string) (string, bool) {
			plain, _ := base64.StdEncoding.DecodeString(v)
			return stream(java, []byte{0x79}, plain)
		}, true},
		"pickle": {encode(append(pickle, []byte("talice")...)), func(v string) (string, bool) {
			plain, _ := base64.StdEncoding.DecodeString(v)
			return stream(pickle, []byte("N0"), plain)
		}, true},
		"pickle, packed by zlib": {base64.URLEncoding.EncodeToString(packings[0].packed(append(pickle, []byte("talice")...))),
			packedStream(base64.URLEncoding, packings[0], pickle), true},
		"pickle, packed by gzip": {encode(packings[1].packed(append(pickle, []byte("talice")...))),
			packedStream(base64.StdEncoding, packings[1], pickle), true},
		"packed, and not read": {encode(packings[0].packed(append(pickle, []byte("talice")...))),
			func(string) (string, bool) { return "alice", true }, false},
		"a packed text": {encode(packings[0].packed([]byte(`{"name":"alice"}`))), func(v string) (string, bool) {
			return v, v == encode(packings[0].packed([]byte(`{"name":"alice"}`)))
		}, false},
		"a signed value": {`a:1:{i:0;s:5:"alice";}`, func(v string) (string, bool) {
			return "alice", v == `a:1:{i:0;s:5:"alice";}`
		}, false},
		"not read":       {encode(append(java, []byte("talice")...)), func(string) (string, bool) { return "alice", true }, false},
		"shown as it is": {`a:1:{i:0;s:5:"alice";}`, func(v string) (string, bool) { return v, true }, false},
		"a text":         {"alice", func(v string) (string, bool) { return v, true }, false},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			text, ok := c.read(r.FormValue("state"))
			if !ok {
				fmt.Fprint(w, "<p>begin again</p>")
				return
			}
			fmt.Fprintf(w, "<p>hello, visitor</p><p>%d letters</p>", len(strings.TrimSpace(text)))
		}))
		target := lab.Target(t, http.MethodGet, "/?"+url.Values{"state": {c.value}}.Encode(), "")
		before := lab.Sent.Load()
		found := lab.Run(t, serialised(), target)
		if len(found) > 0 != c.found || c.found && found[0].Confidence != kit.Proved {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
				t.Errorf("%s: its proof does not hold: %s, %v", name, out.Failed, err)
			}
		}
		if name == "a text" && lab.Sent.Load() != before {
			t.Error("a text is no serialised object, and was tested")
		}
	}
}

// A page that shows the value it was given usually, whatever was sent, is compared without it, also by the proof.
func TestSerialisedBesideItsUsualValue(t *testing.T) {
	usual := base64.StdEncoding.EncodeToString([]byte(`a:1:{i:0;s:5:"alice";}`))
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		said := "<p>this is none</p>"
		if plain, err := base64.StdEncoding.DecodeString(r.FormValue("state")); err == nil {
			if name, ok := phpName(string(plain)); ok {
				said = "<p>hello</p><p>" + name + "</p>"
			}
		}
		fmt.Fprint(w, said, "<textarea name=state>", usual, "</textarea>")
	}))
	target := lab.Target(t, http.MethodGet, "/?"+url.Values{"state": {usual}}.Encode(), "")
	found := lab.Run(t, serialised(), target)
	if len(found) != 1 {
		t.Fatal(kittest.Titles(found))
	}
	lab.Holds(t, found[0])
}

// express merges bodies as careless programs do: spaces of all answers are a member of the prototype.
func express(polluted func(body map[string]any) (int, bool)) http.Handler {
	indent := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		if n, ok := polluted(body); ok {
			indent = n
		}
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.MarshalIndent(map[string]any{"ok": true}, "", strings.Repeat(" ", indent))
		if indent == 0 {
			text, _ = json.Marshal(map[string]any{"ok": true})
		}
		_, _ = w.Write(text)
	})
}

func TestPrototype(t *testing.T) {
	member := func(name string) func(map[string]any) (int, bool) {
		return func(body map[string]any) (int, bool) {
			inner, _ := body[name].(map[string]any)
			n, ok := inner["json spaces"].(float64)
			return int(n), ok
		}
	}
	for name, c := range map[string]struct {
		read  func(map[string]any) (int, bool)
		found bool
	}{
		"weak": {member("__proto__"), true},
		"safe": {func(map[string]any) (int, bool) { return 0, false }, false},
		"takes every member": {func(body map[string]any) (int, bool) {
			for _, v := range body {
				if inner, ok := v.(map[string]any); ok {
					n, ok := inner["json spaces"].(float64)
					return int(n), ok
				}
			}
			return 0, false
		}, false},
	} {
		lab := kittest.New(t, express(c.read))
		target := lab.Target(t, http.MethodPost, "/api", `{"name":"a"}`)
		found := lab.Run(t, prototype(), target)
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
				t.Errorf("its proof does not hold: %s, %v", out.Failed, err)
			}
			if answer := lab.Target(t, http.MethodPost, "/api", `{"name":"a"}`).Response; spaces(answer) != 0 {
				t.Error("it was not set back")
			}
		}
	}
}
