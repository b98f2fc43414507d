package audit

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/infra/auditfile"
)

func log(t *testing.T) string {
	t.Helper()
	one := auditfile.Entry{TeamID: "blue", Seq: 1, ID: "a", Email: "ada@example.com", Action: "create-task"}
	one.Hash = one.Sum("")
	two := auditfile.Entry{TeamID: "blue", Seq: 2, ID: "b", Email: "eve@example.com\x1b[31m", Action: "delete-task"}
	two.Hash = two.Sum(one.Hash)
	var out bytes.Buffer
	w, err := auditfile.NewWriter(&out, auditfile.JSONL, auditfile.Header{TeamID: "blue", LastSeq: 2, LastHash: two.Hash})
	for _, e := range []auditfile.Entry{one, two} {
		if err == nil {
			err = w.Add(e)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := New()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestFilesAreVerifiedWithoutAServer(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(log(t))
	out, err := run(t, "verify", name)
	if err != nil || !strings.Contains(out, "is as it was written") || !strings.Contains(out, "2, from 1 to 2") {
		t.Errorf("%s, %v", out, err)
	}
	if out, err := run(t, "verify", name, "--seq", "3", "--hash", "x"); err == nil || !strings.Contains(out, "was noted") {
		t.Errorf("%s, %v", out, err)
	}
	write(strings.Replace(log(t), "ada@", "bob@", 1))
	out, err = run(t, "verify", name, "-o", "json")
	if !errors.Is(err, cli.Silent(cli.ExitError)) || !strings.Contains(out, `"intact":false`) || !strings.Contains(out, `"line":2`) {
		t.Errorf("%s, %v", out, err)
	}
	write("no log")
	if _, err := run(t, "verify", name); !errors.Is(err, auditfile.ErrFile) {
		t.Error(err)
	}
}

func TestLogOfAServer(t *testing.T) {
	text := log(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/export"):
			fmt.Fprint(w, text)
		case r.URL.Query().Get("starting_after") == "100000":
			fmt.Fprint(w, `{"entries": 1, "first_sequence": 100001, "last_sequence": 100001, "last_hash": "cc", "problem_count": 1,
				"problems": [{"seq": 100001, "problem": "bad"}]}`)
		case strings.HasSuffix(r.URL.Path, "/verify"):
			fmt.Fprint(w, `{"entries": 100000, "first_sequence": 1, "last_sequence": 100000, "next_starting_after": 100000}`)
		default:
			fmt.Fprint(w, `{"events": [{"sequence": 2, "email": "eve\u001b[31m", "action": "x"}], "has_more": true}`)
		}
	}))
	defer server.Close()
	t.Setenv("VEDETTE_API_KEY", "k")
	t.Chdir(t.TempDir())
	at := "--server=" + server.URL
	out, err := run(t, "list", at)
	if err != nil || strings.Contains(out, "\x1b") || !strings.Contains(out, "--after 2") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run(t, "export", at); err != nil || !strings.Contains(out, "audit-log.jsonl is as it was written") {
		t.Errorf("%s, %v", out, err)
	}
	if got, err := os.ReadFile("audit-log.jsonl"); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
	out, err = run(t, "verify", at)
	if !errors.Is(err, cli.Silent(cli.ExitError)) || !strings.Contains(out, "100001, from 1 to 100001") {
		t.Errorf("%s, %v", out, err)
	}
	text = text[:len(text)/2]
	if _, err := run(t, "export", at, "--out", "half.jsonl"); err == nil {
		t.Error("half a file is taken")
	}
	t.Setenv("VEDETTE_API_KEY", "")
	t.Setenv("VEDETTE_TOKEN", "")
	for _, command := range []string{"list", "export", "verify"} {
		if _, err := run(t, command, at); err == nil || !strings.Contains(err.Error(), "VEDETTE_API_KEY") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
