//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// used is how long this process has used the processor, all threads together; 0 when the system does not tell.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
