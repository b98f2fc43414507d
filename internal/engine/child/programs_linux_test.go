package child_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

// starting is a signed template with a program of the shell.
func starting(path, source string) child.Template {
	return child.Template{Path: path, Digest: path, Signed: true, Data: fmt.Appendf(nil, `id: %s
info: {name: n, author: a, severity: low}
code:
  - engine: [sh]
    source: |
      %s
    matchers: [{type: word, words: [found]}]
`, strings.TrimSuffix(path, ".yaml"), source)}
}

// proxied says how the program is let reach its target.
const proxied = `read -r at || true; printf 'CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n' "${at#http://}" | socat -t9 - TCP4:127.0.0.1:3128 | grep -q ' 200 ' && `

// A child has its parent run the programs of signed templates, and of no others. One that forks for ever or never ends
// costs its own cell, and when the job is cancelled nothing is left: no process, no folder, no goroutine.
func TestProgramsOfSignedTemplates(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	temp, err := os.MkdirTemp("", "programs") //nolint:usetesting // whoever runs a program must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	reached := make(chan net.Conn, 16)
	go func() {
		for {
			c, err := target.Accept()
			if err != nil {
				return
			}
			reached <- c
		}
	}()
	p := newPool(t, child.Config{})
	unsigned := starting("unsigned.yaml", "echo found")
	unsigned.Signed = false
	job := child.Job{
		Targets: []string{"http://" + target.Addr().String()}, Config: engine.Config{Timeout: time.Second},
		Templates: []child.Template{
			starting("good.yaml", "echo found"), starting("forks.yaml", "f() { f | f & }; f; sleep 1000"), unsigned,
		},
	}
	var found []int
	job.OnEvent = func(n int, _ engine.Event) { found = append(found, n) }
	r, err := p.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for i := range job.Templates {
		state, why := r.Cell(0, i)
		cells = append(cells, fmt.Sprint(state, " ", why))
	}
	if fmt.Sprint(found) != "[0]" || cells[0] != "tested " || !strings.Contains(cells[1], "failed the program ran for too long") ||
		!strings.HasPrefix(cells[2], "skipped ") {
		t.Errorf("%v %q", found, cells)
	}

	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	job.Templates = []child.Template{starting("waits.yaml", proxied+"sleep 1000")}
	job.Config.Timeout = time.Minute
	go func() {
		c := <-reached
		cancel()
		_ = c.Close()
	}()
	if _, err := p.Run(ctx, job); err == nil {
		t.Error("a job that was cancelled ends without an error")
	}
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		left := leftOf(temp)
		if len(left) == 0 && runtime.NumGoroutine() <= before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %v, %d goroutines, %d before", left, runtime.NumGoroutine(), before)
		}
	}
}

// leftOf are the files in a folder, and the processes that name it.
func leftOf(folder string) (left []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range processes {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), folder) {
			left = append(left, file)
		}
	}
	return left
}
