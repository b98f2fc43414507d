package proof

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/evidence"
)

func signer() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32)) }

const template = "id: leak\ninfo: {name: Leak, author: me, severity: high}\nhttp:\n  - path: ['{{BaseURL}}/leak']\n" +
	"    matchers: [{type: word, words: [secret]}]\n    extractors: [{type: regex, regex: ['version [0-9]+']}]\n"

// file writes a file about a sighting at a target, and names it.
func file(t *testing.T, target, ip string, more ...evidence.Field) string {
	t.Helper()
	facts, err := json.Marshal(evidence.Facts{Form: evidence.Form, Kind: evidence.Sighting, FindingID: "finding1", Hash: "h",
		Template: "leak", Digest: evidence.Hash([]byte(template)), IP: ip, Shown: 1, Runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	fields := append([]evidence.Field{{Name: "response", Text: "HTTP/1.1 200 OK\r\n\r\nsecret, version 1"},
		{Name: "target", Text: target}, {Name: "path", Text: "/leak"}, {Name: "extracted-results", Text: "version 1"}}, more...)
	key := evidence.KeyOf([]byte("s"), evidence.Sighting, "finding1")
	leaves := []evidence.Leaf{{No: 1, Hash: evidence.LeafOf(facts, key, fields)}}
	text, hash, err := evidence.Entry{Form: evidence.Form, TeamID: "t", Seq: 1, Kind: evidence.Sighting, Count: 1,
		Root: evidence.Root(leaves)}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	head := evidence.Head{TeamID: "t", Seq: 1, Hash: hash, At: "2026-01-02T03:04:05Z"}
	head.Sign(signer())
	var out bytes.Buffer
	w := evidence.NewWriter(&out, signer(), evidence.Header{TeamID: "t", Scope: evidence.Scope{Kind: "finding", ID: "finding1"}})
	w.Entry(text, leaves)
	w.Record(evidence.Open(1, facts, key, fields, nil))
	w.Head(head)
	w.Template(evidence.Template{ID: "leak", Digest: evidence.Hash([]byte(template)),
		Text: base64.StdEncoding.EncodeToString([]byte(template))})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "evidence.jsonl")
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs the command.
func run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := New()
	var stdout bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	if silent, is := errors.AsType[cli.Silent](err); is {
		return int(silent), stdout.String()
	}
	if exit, is := errors.AsType[cli.Exit](err); is {
		return exit.Code, stdout.String() + exit.Error()
	}
	if err != nil {
		return cli.ExitError, stdout.String() + err.Error()
	}
	return 0, stdout.String()
}

// TestVerify: a file verifies, with the right key only; a changed byte is named.
func TestVerify(t *testing.T) {
	name := file(t, "http://127.0.0.1:1", "")
	if code, out := run(t, "verify", name, "--key", evidence.PublicKey(signer())); code != 0 ||
		!strings.Contains(out, "is as it was written") || !strings.Contains(out, "the expected one") {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := run(t, "verify", name, "--key", strings.Repeat("ab", 32)); code != cli.ExitError ||
		!strings.Contains(out, "another key") {
		t.Errorf("%d: %s", code, out)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte("version 1"), []byte("version 2"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := run(t, "verify", name, "-o", "json")
	var report struct {
		Intact   bool
		Problems []evidence.Problem
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitError || report.Intact || len(report.Problems) == 0 ||
		report.Problems[0].Line != 3 || report.Problems[0].Finding != "finding1" {
		t.Errorf("%d: %s, %v", code, out, err)
	}
	if code, out := run(t, "replay", name); code != cli.ExitError || !strings.Contains(out, "not replayed") {
		t.Errorf("%d: %s", code, out)
	}
	if code, _ := run(t, "verify", filepath.Join(t.TempDir(), "none")); code != cli.ExitUsage {
		t.Errorf("no file: %d", code)
	}
}

// TestReplayOfAFile: without a server, a proof is the same, changed or gone, and contacts its target alone.
func TestReplayOfAFile(t *testing.T) {
	var body atomic.Value
	var asked, elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		fmt.Fprint(w, "secret, version 1")
	}))
	t.Cleanup(other.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if text, _ := body.Load().(string); text != "" {
			fmt.Fprint(w, text)
			return
		}
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/leak", http.StatusFound)
	}))
	t.Cleanup(site.Close)
	name := file(t, site.URL, "127.0.0.1")
	for text, want := range map[string]string{"secret, version 1": "same", "secret, version 2": "changed", "nothing": "gone",
		"": "gone"} {
		body.Store(text)
		code, out := run(t, "replay", name, "-o", "json")
		var got outcome
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || string(got.Result) != want || got.Finding != "finding1" {
			t.Errorf("%q: %d, %s %v", text, code, out, err)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect led out of scope")
	}
	before := asked.Load()
	moved := file(t, strings.Replace(site.URL, "127.0.0.1", "localhost", 1), "93.184.216.34")
	if code, out := run(t, "replay", moved); code != cli.ExitOutOfScope || asked.Load() != before {
		t.Errorf("another address: %d, %s, %d requests", code, out, asked.Load()-before)
	}
	site.Close()
	if code, out := run(t, "replay", name); code != cli.ExitPartial || !strings.Contains(out, "failed") {
		t.Errorf("nobody answers: %d, %s", code, out)
	}
}

// TestExport: what a server answers is kept when it verifies, and removed when it does not.
func TestExport(t *testing.T) {
	text, err := os.ReadFile(file(t, "http://127.0.0.1:1", ""))
	if err != nil {
		t.Fatal(err)
	}
	var path string
	content := text
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	t.Setenv("VEDETTE_API_KEY", "svc_sk_test")
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, path, file string }{
		{"finding1", "/v1/scans/vuln/finding1/evidence/export?mask=secrets", "evidence-finding1.jsonl"},
		{"--scan s --mask none", "/v1/scans/s/evidence/export?mask=none", "evidence-s.jsonl"},
		{"--all --out mine", "/v1/evidence/export?mask=secrets", "mine"},
	} {
		code, out := run(t, append([]string{"export", "--server", server.URL}, strings.Fields(c.args)...)...)
		if kept, err := os.ReadFile(c.file); code != 0 || path != c.path || err != nil || !bytes.Equal(kept, text) {
			t.Errorf("%s: %d, %s, %s %v", c.args, code, path, out, err)
		}
	}
	content = text[:len(text)-5]
	if code, out := run(t, "export", "--server", server.URL, "finding2"); code != cli.ExitError || !strings.Contains(out, "removed") {
		t.Errorf("%d, %s", code, out)
	}
	if left, _ := filepath.Glob("*finding2*"); len(left) != 0 {
		t.Error(left)
	}
	for _, args := range []string{"export", "export a --all", "export --all --scan s"} {
		if code, _ := run(t, strings.Fields(args)...); code != cli.ExitUsage {
			t.Errorf("%s: %d", args, code)
		}
	}
}
