// Package sandbox starts child processes of this binary and bounds what they may use. A child has no environment, an
// empty working folder that is deleted at once, and only pipes to its parent; where the kernel allows, it cannot gain
// privileges and opens no file but those that it needs to resolve names and verify certificates (Enter). It ends with
// its parent, on every way that the parent can end.
//
// The bounds are complete on Linux. Elsewhere a child has the soft limit of Go's heap only.
package sandbox

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Why a child has ended, as Process.Reason says it.
const (
	Crashed    = "crashed"
	OverMemory = "over memory"
	OverTime   = "over time"
	Stopped    = "stopped"
)

// Config is how a child is started.
type Config struct {
	Path  string   // of the program; empty: of this one
	Args  []string // the command line after the program
	Env   []string // the whole environment
	Board int      // bytes of memory that parent and child both see; 0: none
	Files bool     // the parent may send open files (SendFiles); with a Board
}

// Process is a running child. Read and Write exchange bytes with it; one goroutine may read while others write.
type Process struct {
	Board []byte // zeros at first; nil where the system cannot share memory

	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *os.File
	buffered *bufio.Reader
	stderr   *head
	ended    chan struct{}
	files    *os.File // the way on which files are sent; nil for none

	mu     sync.Mutex
	reason string
}

// Start starts a child.
func Start(c Config) (*Process, error) {
	path := c.Path
	if path == "" {
		var err error
		if path, err = self(); err != nil {
			return nil, err
		}
	}
	//nolint:noctx,gosec // the child lives until Kill; path is this program, or a test's
	p := &Process{cmd: exec.Command(path, c.Args...), ended: make(chan struct{}), stderr: &head{}}
	p.cmd.Env, p.cmd.Stderr, p.cmd.SysProcAttr = c.Env, p.stderr, attributes()
	if p.cmd.Env == nil {
		p.cmd.Env = []string{}
	}
	// Not cmd.StdoutPipe: Wait would close it before all is read.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p.out, p.buffered, p.cmd.Stdout = out, bufio.NewReaderSize(out, 1<<16), theirs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	board, err := p.share(c.Board)
	if err != nil {
		return nil, errors.Join(err, out.Close(), p.in.Close())
	}
	if board != nil {
		defer board.Close()
	}
	if c.Files && board != nil {
		theirs, err := p.way()
		if err != nil {
			return nil, errors.Join(err, out.Close(), p.in.Close(), unmap(p.Board))
		}
		defer theirs.Close()
	}
	if p.cmd.Dir, err = os.MkdirTemp("", "vedette-engine-*"); err != nil {
		p.cmd.Dir = "/" // an image without a folder for temporary files
	} else {
		defer os.Remove(p.cmd.Dir) // the child stays in it: a folder without a name, in which nothing can be made
	}
	started := make(chan error, 1)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, errors.Join(err, out.Close(), unmap(p.Board), p.closeFiles())
	}
	return p, nil
}

// live starts the child and waits for its end on one thread of the system: the child is told to die with the thread
// that started it.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = p.cmd.Wait() // the reason is in what it has written, or in who killed it
	p.mu.Lock()
	text := p.stderr.String()
	if p.reason == "" && refusedMemory(text) {
		p.reason = OverMemory
	}
	p.reason = cmp.Or(p.reason, Crashed)
	p.mu.Unlock()
	close(p.ended)
}

// collectorFault begins what a Go program writes whose collector met memory that the kernel had refused: a fault of the
// runtime on its own stack, which Go code that is free of unsafe cannot cause in another way.
var collectorFault = regexp.MustCompile(`^SIGSEGV: segmentation violation\n[^\n]*\n\ngoroutine 0 [^\n]*\nruntime\.`)

// refusedMemory reports whether a child ended because the kernel gave it no more memory, by what it has written.
func refusedMemory(text string) bool {
	return strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory") ||
		collectorFault.MatchString(text)
}

// PID is the child's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Read reads what the child writes to its standard output.
func (p *Process) Read(b []byte) (int, error) { return p.buffered.Read(b) }

// Write writes to the child's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Kill ends the child, for one of the reasons above; the first counts, and for none of them what the child itself has
// ended of. What it has written can still be read.
func (p *Process) Kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason = cmp.Or(p.reason, reason)
	select {
	case <-p.ended: // its number may be that of another process by now
	default:
		kill(p.cmd.Process)
	}
}

// Alive reports whether the child has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Wait waits for the end of the child and returns its reason, and the beginning of what it wrote to standard error.
func (p *Process) Wait() (reason, stderr string) {
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason, p.stderr.String()
}

// Close frees what the parent holds of a child that has ended; Board must not be used any more.
func (p *Process) Close() error {
	<-p.ended
	return errors.Join(p.out.Close(), unmap(p.Board), p.closeFiles())
}

func (p *Process) closeFiles() error {
	if p.files == nil {
		return nil
	}
	return p.files.Close()
}

// Usage is what a child uses.
type Usage struct {
	Resident int64         // bytes of memory
	CPU      time.Duration // since its start
}

// head keeps the beginning of a text.
type head struct {
	mu   sync.Mutex
	text []byte
}

const headLimit = 2 << 10

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b[:min(len(b), headLimit-len(h.text))]...)
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}
