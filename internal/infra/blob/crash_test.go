package blob_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The tests below run this test binary again as a writer that comes to grief.
func TestMain(m *testing.M) {
	dir := os.Getenv("BLOB_TEST_DIR")
	switch os.Getenv("BLOB_TEST_WRITER") {
	case "":
		os.Exit(m.Run())
	case "killed":
		writeUntilKilled(dir)
	case "full":
		writeToFullDisk(dir)
	}
}

func writer(t *testing.T, dir, fate string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "BLOB_TEST_WRITER="+fate, "BLOB_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// writeUntilKilled says "half" once the first half of a blob has been written, and waits.
func writeUntilKilled(dir string) {
	s, err := blob.Open(dir)
	if err != nil {
		panic(err)
	}
	half := bytes.Repeat([]byte("half"), 1000)
	source := readerFunc(func(p []byte) (int, error) {
		if len(half) == 0 {
			os.Stdout.WriteString("half\n")
			io.Copy(io.Discard, os.Stdin) // until the end
		}
		n := copy(p, half)
		half = half[n:]
		return n, nil
	})
	s.Put(context.Background(), source)
}

func TestKilledMidWriteLeavesNothingVisible(t *testing.T) {
	s, dir := open(t)
	cmd := writer(t, dir, "killed")
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // never closed before the kill
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "half\n" {
		t.Errorf("the writer said %q, %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()

	left := files(t, dir)
	if len(left) != 1 || !strings.Contains(left[0], "/incoming/") {
		t.Errorf("a killed writer left %q", left)
	}
	if d, _, err := s.Put(t.Context(), strings.NewReader("next")); err != nil {
		t.Errorf("Put after the crash: %v", err)
	} else if has, err := s.Has(d); !has {
		t.Errorf("the blob after the crash is not there: %v", err)
	}
}

// writeToFullDisk gives itself the kernel's limit on file sizes, which fails a write in
// the middle like a full disk does, and says what came of a large and of a small blob.
func writeToFullDisk(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		panic(err)
	}
	s, err := blob.Open(dir)
	if err != nil {
		panic(err)
	}
	_, _, err = s.Put(context.Background(), io.LimitReader(zeroes{}, 1<<20))
	if e := errs.From(err); e == nil || e.Kind != errs.NoSpace || e.Code != "disk_full" {
		panic(err)
	}
	if _, _, err = s.Put(context.Background(), io.LimitReader(zeroes{}, 1<<10)); err != nil {
		panic(err)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFullDiskIsSaidAndLeavesNothing(t *testing.T) {
	_, dir := open(t)
	if err := writer(t, dir, "full").Run(); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) != 1 || strings.Contains(left[0], "/incoming/") {
		t.Errorf("left: %q", left)
	}
}
