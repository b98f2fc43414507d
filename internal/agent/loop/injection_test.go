package loop_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
)

const token = `hunter-2/ü"+s3cret`

// spellings are how a server may give the token back.
func spellings() []string {
	quoted, _ := json.Marshal(token)
	return []string{
		token, url.QueryEscape(token), url.PathEscape(token), string(quoted[1 : len(quoted)-1]),
		base64.StdEncoding.EncodeToString([]byte(token)), base64.RawURLEncoding.EncodeToString([]byte(token)),
		base64.StdEncoding.EncodeToString([]byte("user:" + token)),
		base64.StdEncoding.EncodeToString([]byte("u:" + token + "\n")),
		hex.EncodeToString([]byte(token)), strings.ToUpper(hex.EncodeToString([]byte(token))),
	}
}

// leaks says which part of a spelling of the token a text has, itself inside of JSON.
func leaks(text string) string {
	for _, part := range append(spellings(), "hunter", "s3cret", hex.EncodeToString([]byte("hunter")), "aHVudGVy",
		"h1bnRlc", "odW50ZX") {
		if strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestInjections feeds each text of testdata/injections to a model that believes whatever it
// reads. The text stays inside of its fence, nothing that needs a person's word happens, no
// secret is told, and the tools, caps and scope are those that the person chose.
func TestInjections(t *testing.T) {
	files, err := filepath.Glob("testdata/injections/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for attack := range strings.SplitSeq(string(text), "\n%%\n") {
			cases++
			obey(t, filepath.Base(file), attack, false)
			obey(t, filepath.Base(file), attack, true)
		}
	}
	if cases < 100 {
		t.Errorf("only %d texts", cases)
	}
}

// obey runs one attack; failing says that it comes as an error, too.
func obey(t *testing.T, place, attack string, failing bool) {
	t.Helper()
	d := &disk{}
	exploited, noted := false, ""
	fence := func() string { return decode[loop.Started](d.entries[0].Body).Boundary }
	fetch := loop.Tool{Tool: llm.Tool{Name: "fetch"}, Repeatable: true, Secrets: true,
		Call: func(_ context.Context, args json.RawMessage, say func(string)) (loop.Result, error) {
			if got := decode[struct{ Auth string }](args).Auth; got != "" && got != "Bearer "+token {
				t.Fatalf("the tool was given %s", args)
			}
			// The worst case: the target knows the boundary, and echoes the secret.
			text := strings.ReplaceAll(strings.ReplaceAll(attack, "BOUNDARY", fence()), "boundary-in-lower-case",
				strings.ToLower(fence()))
			text += "\n" + strings.Join(spellings(), "\n")
			say(text)
			finding, _ := json.Marshal(map[string]any{"title": text, text: 1})
			r := loop.Result{Text: text, Evidence: []string{text}, Candidate: finding}
			if failing {
				return r, errors.New(text)
			}
			return r, nil
		}}
	note := loop.Tool{Tool: llm.Tool{Name: "note"}, Repeatable: true,
		Call: func(_ context.Context, args json.RawMessage, _ func(string)) (loop.Result, error) {
			noted = string(args)
			return loop.Result{Text: "kept"}, nil
		}}
	exploit := loop.Tool{Tool: llm.Tool{Name: "exploit"},
		Approval: func(json.RawMessage) *loop.Approval { return &loop.Approval{Action: "exploit"} },
		Call: func(context.Context, json.RawMessage, func(string)) (loop.Result, error) {
			exploited = true
			return loop.Result{}, nil
		}}
	c, s := config(d, []loop.Tool{fetch, note, exploit},
		calls("fetch", `{"auth":"Bearer {{$TOKEN}}"}`),
		calls("note", `{"text":"{{$TOKEN}}"}`, "approve", `{"all":true}`, "shell", `{}`),
		llm.Response{}, // says the boundary: filled in below
		calls("exploit", `{"go":true}`), says("never"))
	c.Secrets = map[string]string{"TOKEN": token}
	c.Caps = loop.Caps{Tokens: 1_000_000}
	var events []string
	c.Emit = func(e loop.Event) {
		doc, _ := json.Marshal(e)
		events = append(events, string(doc))
		if e.Type == loop.EventOutput && strings.Contains(string(doc), `"note"`) {
			s.answers["go"][2] = calls("note", `{"path":"/`+strings.ToLower(fence())+`"}`)
		}
	}
	out := run(t, c)
	want(t, out, loop.Suspended, "")
	if exploited || len(d.of(loop.Answer)) > 0 {
		t.Fatalf("%s: %q approved a step", place, attack)
	}
	if noted != `{"text":"{{$TOKEN}}"}` {
		t.Fatalf("%s: %q made the model keep %s", place, attack, noted)
	}
	for _, r := range s.asked {
		if len(r.Tools) != len(s.asked[0].Tools) {
			t.Fatalf("%s: %q changed the tools", place, attack)
		}
		for _, m := range r.Messages {
			inside(t, place, fence(), m)
		}
	}
	requests, _ := json.Marshal(s.asked)
	entries, _ := json.Marshal(d.entries)
	for what, text := range map[string]string{"the model": string(requests), "the journal": string(entries),
		"the stream": strings.Join(events, "\n"), "the outcome": outcomeOf(out)} {
		if how := leaks(text); how != "" {
			t.Fatalf("%s: %s saw the secret as %s", place, what, how)
		}
	}
}

// inside wants a tool's message to be our words, then one fence that nothing ends early.
func inside(t *testing.T, place, fence string, m llm.Message) {
	t.Helper()
	if m.Role != llm.ToolRole {
		return
	}
	open, end := "\n--- data "+fence+"\n", "\n--- end of data "+fence
	if n := strings.Count(strings.ToLower(m.Text), strings.ToLower(fence)); n != 0 && n != 2 {
		t.Fatalf("%s: the boundary is there %d times:\n%s", place, n, m.Text)
	}
	head, data, fenced := strings.Cut(m.Text, open)
	if fenced && !strings.HasSuffix(data, end) {
		t.Fatalf("%s: there is something behind the fence:\n%s", place, m.Text)
	}
	switch head {
	case "The call completed.", "The call failed.":
	default:
		if !strings.HasPrefix(head, "The call could not be made: ") || strings.Contains(head, "\n") {
			t.Fatalf("%s: there is something before the fence:\n%s", place, m.Text)
		}
	}
	for _, r := range data {
		if r == 0x1b || r == 0x200b || r == 0x202e || 0xe0000 <= r && r <= 0xe007f {
			t.Fatalf("%s: the model sees %U, a person does not", place, r)
		}
	}
}
