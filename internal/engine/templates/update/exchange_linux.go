package update

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges two folders in one step.
func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// settle waits until what was written to a folder's file system is on the disk.
func settle(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("writing the set to the disk: %w", err)
	}
	return nil
}
