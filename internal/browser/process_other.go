//go:build !linux

package browser

import (
	"io"
	"os"
	"syscall"
)

func attributes(string, bool) (*syscall.SysProcAttr, error) { return nil, nil }

func yield(int) {}

func alone() *syscall.SysProcAttr { return nil }

func killGroup(group int) {
	if p, err := os.FindProcess(group); err == nil {
		_ = p.Kill()
	}
}

// groupMemory is known on Linux only.
func groupMemory(int) int64 { return 0 }

func lockFolder(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// sweep is for Linux only.
func sweep(string) {}
