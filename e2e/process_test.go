package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// longWait is the time limit for what should happen promptly, on a loaded machine.
const longWait = 90 * time.Second

// soon is the time limit for what must not wait for a running request: less than the ten
// seconds after which such a request times out by itself.
const shortWait = 9 * time.Second

// process is a running vedette.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *outputBuffer
	ended  chan struct{}
	err    error // of its end
}

// answered are the log lines of successful requests.
var answered = regexp.MustCompile(`(?m)^.* msg=request .* status=[23].*\n`)

// launch starts vedette with nothing but env in its environment. It is killed at the end of
// the test if it is still running.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary(t), args...), stderr: newOutputBuffer(), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with the test process
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("vedette %s wrote:\n%s", strings.Join(args, " "), answered.ReplaceAllString(p.stderr.String(), ""))
		}
	})
	return p
}

// kill ends the process with SIGKILL, and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// freeze suspends the process (SIGSTOP); it can still be killed.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }

// thaw resumes a frozen process.
func (p *process) thaw() { p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop sends SIGTERM, and returns the exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.wait(longWait)
}

// wait waits until the process has ended by itself, and returns the exit code.
func (p *process) wait(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		p.t.Fatalf("it does not end within %s", within)
	}
	if failed, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return failed.ExitCode()
	}
	return 0
}

// waitForOutput waits until pattern matches what the process wrote to standard error, and
// returns the submatches.
func (p *process) waitForOutput(pattern string) []string {
	p.t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.After(longWait)
	for {
		changed := p.stderr.changed()
		if m := re.FindStringSubmatch(p.stderr.String()); m != nil {
			return m
		}
		select {
		case <-changed:
		case <-p.ended:
			if m := re.FindStringSubmatch(p.stderr.String()); m != nil {
				return m
			}
			p.t.Fatalf("it ended (%v) before it wrote %s", p.err, pattern)
		case <-deadline:
			p.t.Fatalf("it did not write %s", pattern)
		}
	}
}

// outputBuffer keeps what is written to it, and signals each write.
type outputBuffer struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newOutputBuffer() *outputBuffer { return &outputBuffer{more: make(chan struct{})} }

func (tr *outputBuffer) Write(b []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.more)
	tr.more = make(chan struct{})
	return tr.text.Write(b)
}

func (tr *outputBuffer) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// changed is closed at the next write.
func (tr *outputBuffer) changed() <-chan struct{} {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.more
}

// until polls done until it is true.
func until(t *testing.T, within time.Duration, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
