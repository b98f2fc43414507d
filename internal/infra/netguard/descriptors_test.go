//go:build linux

package netguard_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// TestDialsWaitForDescriptors: while the process may open no more files, a dial waits until it may or its time is over.
// The limit holds for a whole process, so the test runs itself again in one of its own.
func TestDialsWaitForDescriptors(t *testing.T) {
	const inside = "VEDETTE_TEST_DESCRIPTORS"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target, err := netguard.ParseTarget(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*os.File
	limit := syscall.Rlimit{Cur: 40, Max: 40}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for {
		file, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = scope.Dial(ctx, "tcp", l.Addr().String())
	if until, _ := ctx.Deadline(); !errors.Is(err, syscall.EMFILE) || time.Until(until) > 100*time.Millisecond {
		t.Errorf("without descriptors: %v, with %v left", err, time.Until(until))
	}
	go func() {
		for _, file := range all {
			_ = file.Close()
		}
	}()
	conn, err := scope.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
