//go:build !linux

package browser

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func alone() *syscall.SysProcAttr { return nil }

func killGroup(group int) {
	if p, err := os.FindProcess(group); err == nil {
		_ = p.Kill()
	}
}

// groupMemory is known on Linux only.
func groupMemory(int) int64 { return 0 }
