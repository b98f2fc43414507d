package outage

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Auto is the floor of a Room for which nobody has chosen one: 512 MB, or a hundredth of the volume if that is less.
const Auto = -1

const mostAuto = 512 << 20

const (
	// How long a try to write is believed. A disk that fails later is noticed by the write itself.
	tryAfterSuccess = 5 * time.Second
	tryAfterFailure = time.Second / 2

	tryFile = ".writable" // is written in each folder
)

var low = outage(errs.NoSpace, "disk_full",
	"The server's disk is almost full: nothing new is begun, and running work waits, until its operator has made room.")

// Room is the free space of the volumes of some folders, of which Floor bytes are kept: Auto, or 0 for none.
type Room struct {
	Folders []string
	Floor   int64

	trying sync.Mutex // held by who tries to write; a disk that hangs must not hold up all others
	mu     sync.Mutex // guards those below
	tried  time.Time
	failed *errs.Error // of the last try
}

// Check fails when new work should not begin: with NoSpace when a volume has less than the floor free, and with
// Unavailable when nothing can be written to a folder, as on a disk that has become read-only, or opened, as in a
// process without descriptors. It asks the system for the space each time, which takes microseconds, and tries to write
// every few seconds. A nil Room always has room.
func (r *Room) Check() error {
	if r == nil {
		return nil
	}
	for _, folder := range r.Folders {
		var volume syscall.Statfs_t
		if err := syscall.Statfs(folder, &volume); err != nil {
			return refused(err)
		}
		floor, block := r.Floor, int64(volume.Bsize) //nolint:unconvert // not an int64 on every system
		if floor == Auto {
			floor = min(mostAuto, int64(volume.Blocks)*block/100)
		}
		if int64(volume.Bavail)*block < floor {
			return low
		}
	}
	if failed := r.try(); failed != nil {
		return failed
	}
	return nil
}

// try is what came of the last try to write, which it makes again after a while.
func (r *Room) try() *errs.Error {
	r.mu.Lock()
	age, failed := time.Since(r.tried), r.failed
	r.mu.Unlock()
	fresh := failed == nil && age < tryAfterSuccess || failed != nil && age < tryAfterFailure
	if fresh || !r.trying.TryLock() {
		return failed
	}
	defer r.trying.Unlock()
	failed = nil
	for _, folder := range r.Folders {
		if err := write(filepath.Join(folder, tryFile)); err != nil {
			failed = refused(err)
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried, r.failed = time.Now(), failed
	return failed
}

// write writes a byte to a file. What no write has asked a disk, it may not have noticed either: the flags of its
// volume say nothing after an error.
func write(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return errors.Join(err, f.Close())
}

// refused is the outage of an error about one of our own folders, which is always one.
func refused(err error) *errs.Error {
	if found := Of(err); found != nil {
		return found
	}
	return storage.Because(err)
}
