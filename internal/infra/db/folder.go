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
// makes the folder if it is missing.
func LockFolder(dir, name string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err = lockFile(filepath.Join(dir, "."+name+".lock"), syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return unlock, err
}
