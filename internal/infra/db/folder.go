package db

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked is what LockFolder gets while another process has the lock.
var ErrLocked = errors.New("another process has the folder")

// LockFolder takes one of a folder's locks, by name, until unlock is called or the process ends, however it ends. It
// makes the folder if it is missing. Many may have a shared lock at once, and nobody else then has it alone.
func LockFolder(dir, name string, shared bool) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	unlock, err = lockFile(filepath.Join(dir, "."+name+".lock"), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return unlock, err
}
