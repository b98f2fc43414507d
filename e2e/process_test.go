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

// patience is how long a test waits for what ought to happen soon, on a loaded machine.
const patience = 90 * time.Second

// soon is how long a test waits for what must not wait for a request under way: less than
// the ten seconds after which that is given up by itself.
const soon = 9 * time.Second

// process is a running vedette.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	talk  *transcript // its standard error
	ended chan struct{}
	err   error // of its end
}

// answered are the lines about requests in which nothing went wrong.
var answered = regexp.MustCompile(`(?m)^.* msg=request .* status=[23].*\n`)

// launch starts vedette with an environment that holds nothing but env. It is killed at
// the end of the test, if it still lives then.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary(t), args...), talk: newTranscript(), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	p.cmd.Stderr = p.talk
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
			t.Logf("vedette %s said:\n%s", strings.Join(args, " "), answered.ReplaceAllString(p.talk.String(), ""))
		}
	})
	return p
}

// kill ends the process with SIGKILL, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.ended
}

// freeze stops the process in its tracks; it can still be killed, or go on by thaw.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }

// thaw lets a frozen process go on.
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
	return p.wait(patience)
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

// hears waits until the process has written what pattern matches to standard error, and
// returns the submatches.
func (p *process) hears(pattern string) []string {
	p.t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.After(patience)
	for {
		news := p.talk.news()
		if m := re.FindStringSubmatch(p.talk.String()); m != nil {
			return m
		}
		select {
		case <-news:
		case <-p.ended:
			if m := re.FindStringSubmatch(p.talk.String()); m != nil {
				return m
			}
			p.t.Fatalf("it ended (%v) before it said %s", p.err, pattern)
		case <-deadline:
			p.t.Fatalf("it does not say %s", pattern)
		}
	}
}

// transcript keeps what is written to it, and tells who waits for more.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

func (tr *transcript) Write(b []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.more)
	tr.more = make(chan struct{})
	return tr.text.Write(b)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// news is closed at the next write.
func (tr *transcript) news() <-chan struct{} {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.more
}

// until asks again and again until done says yes.
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
			t.Fatalf("within %s not: %s", within, what)
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
