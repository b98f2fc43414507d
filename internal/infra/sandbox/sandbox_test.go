package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

func TestMain(m *testing.M) {
	switch append(os.Args, "")[1] {
	case "echo":
		board, err := sandbox.Enter(64<<20, 8)
		if err != nil {
			panic(err)
		}
		board[0]++
		io.Copy(os.Stdout, os.Stdin)
		board[0]++
		os.Exit(0)
	case "greedy at once", "greedy bit by bit":
		if _, err := sandbox.Enter(64<<20, 0); err != nil {
			panic(err)
		}
		pieces := 1
		if os.Args[1] != "greedy at once" {
			pieces = 64
		}
		var all [][]byte
		for range pieces {
			all = append(all, make([]byte, 1<<30/pieces)) // none is written: the parent would see no use of memory
		}
		panic(fmt.Sprint("nothing stopped it from having ", len(all)))
	}
	os.Exit(m.Run())
}

func start(t *testing.T, command string, board int) *sandbox.Process {
	t.Helper()
	p, err := sandbox.Start(sandbox.Config{Args: []string{command}, Board: board})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill(sandbox.Stopped)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestAProcessTalksAndEnds(t *testing.T) {
	p := start(t, "echo", 8)
	for _, text := range []string{"one", "", strings.Repeat("x", 1<<20)} {
		go sandbox.WriteFrame(p, 'k', []byte(text))
		kind, got, err := sandbox.ReadFrame(p)
		if err != nil || kind != 'k' || string(got) != text {
			t.Fatalf("%c %d bytes %v", kind, len(got), err)
		}
	}
	if p.Board[0] != 1 {
		t.Errorf("the board has %d, want 1", p.Board[0])
	}
	if u, err := p.Usage(); err != nil || u.Resident < 1<<20 || u.Resident > 1<<30 || u.CPU > time.Minute {
		t.Errorf("uses %+v, %v", u, err)
	}
	if !p.Alive() {
		t.Error("it is not alive")
	}
	p.Kill(sandbox.OverTime)
	p.Kill(sandbox.Stopped)
	if why, _ := p.Wait(); why != sandbox.OverTime || p.Alive() || p.Board[0] != 1 {
		t.Errorf("ended %q, alive %v, board %d", why, p.Alive(), p.Board[0])
	}
	if _, _, err := sandbox.ReadFrame(p); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// The parent answers requests while its children compute.
func TestAProcessLetsItsParentGoFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the priority is set on Linux only")
	}
	p := start(t, "echo", 8)
	if err := sandbox.WriteFrame(p, 'k', []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sandbox.ReadFrame(p); err != nil { // it has entered by now
		t.Fatal(err)
	}
	for _, thread := range threads(t, p.PID()) {
		if own, its := niceness(t, os.Getpid()), niceness(t, thread); its != min(own+5, 19) {
			t.Errorf("thread %d of the child has the niceness %d, its parent %d", thread, its, own)
		}
	}
}

func threads(t *testing.T, pid int) (out []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d threads: %v", len(entries), err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func niceness(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	n, err := strconv.Atoi(fields[16]) // the 19th field, the name being the 2nd
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAProcessStartsWithoutATemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	p := start(t, "echo", 8)
	if err := sandbox.WriteFrame(p, 'k', []byte("x")); err != nil {
		t.Fatal(err)
	}
	if kind, got, err := sandbox.ReadFrame(p); kind != 'k' || string(got) != "x" || err != nil {
		t.Errorf("%c %q %v", kind, got, err)
	}
}

// The kernel refuses a child what no watch of its use would see, in one piece or in many that this machine has.
func TestAllocationBeyondTheLimitEndsTheProcess(t *testing.T) {
	for _, command := range []string{"greedy at once", "greedy bit by bit"} {
		if why, stderr := start(t, command, 0).Wait(); why != sandbox.OverMemory {
			t.Errorf("%s: %q, %q", command, why, stderr)
		}
	}
}

func TestFramesAreBounded(t *testing.T) {
	if err := sandbox.WriteFrame(io.Discard, 'k', make([]byte, sandbox.MaxFrame+1)); !errors.Is(err, sandbox.ErrFrame) {
		t.Errorf("written: %v", err)
	}
	for text, want := range map[string]error{
		"":                       io.EOF,
		"\x00\x00":               io.ErrUnexpectedEOF,
		"\x00\x00\x00\x02kx":     io.ErrUnexpectedEOF,
		"\xff\xff\xff\xffk":      sandbox.ErrFrame,
		"\x00\x00\x00\x01kx":     nil,
		"\x00\x00\x00\x00kextra": nil,
	} {
		if _, _, err := sandbox.ReadFrame(bytes.NewReader([]byte(text))); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
