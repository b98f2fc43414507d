package webtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/webtest"
)

// A recording is what webtest tests: a weak call that no page names is found by it.
func TestRecord(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(app))
	defer site.Close()
	file := filepath.Join(t.TempDir(), "site.har")
	cmd := webtest.New()
	var out bytes.Buffer
	stderr, write := io.Pipe()
	cmd.SetOut(&out)
	cmd.SetErr(write)
	cmd.SetArgs([]string{"record", site.URL, "--listen", "127.0.0.1:0", "--file", file, "-o", "json"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	head := make([]byte, 1000)
	n, err := io.ReadAtLeast(stderr, head, 40)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(head[:n]))
	through, err := url.Parse(at)
	if err != nil || at == "" {
		t.Fatalf("%q", head[:n])
	}
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return through, nil }, DisableKeepAlives: true}}
	answer, err := client.Get(site.URL + "/item?id=7")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	interrupt()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var said struct {
		File     string
		Requests int
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said.File != file || said.Requests != 1 {
		t.Errorf("%s: %v", out.Bytes(), err)
	}
	found, messages, _ := run(t, site.URL+"/none", "--only", "--probable", "--spec", file)
	if !strings.Contains(found, "/item?id=") {
		t.Errorf("the recorded call is not tested: %s%s", found, messages)
	}
}

// What cannot be recorded is refused before anything is written.
func TestRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there.har")
	if err := os.WriteFile(there, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"listen":  {"http://a.example", "--file", filepath.Join(dir, "x.har"), "--listen", "0.0.0.0:0"},
		"no port": {"http://a.example", "--file", filepath.Join(dir, "x.har"), "--listen", "127.0.0.1"},
		"file":    {"http://a.example", "--file", there},
		"url":     {"ftp://a.example", "--file", filepath.Join(dir, "x.har")},
		"scope":   {"http://a.example", "--file", filepath.Join(dir, "x.har"), "--scope", "a b"},
	} {
		cmd := webtest.New()
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append([]string{"record"}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files were written: %v", files)
	}
	if text, _ := os.ReadFile(there); string(text) != "kept" {
		t.Errorf("the file was overwritten: %q", text)
	}
}
