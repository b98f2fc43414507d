package outage

import (
	"fmt"
	"syscall"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Auto is the floor of a Room for which nobody has chosen one: 512 MB, or a hundredth of the volume if that is less.
const Auto = -1

const mostAuto = 512 << 20

var low = outage(errs.NoSpace, "disk_full",
	"The server's disk is almost full: nothing new is begun, and running work waits, until its operator has made room.")

// Room is the free space of the volumes of some folders, of which Floor bytes are kept: Auto, or 0 for none.
type Room struct {
	Folders []string
	Floor   int64
}

// Check fails with NoSpace when a volume has less than the floor free. It asks the system each time, which takes
// microseconds. A nil Room has no floor.
func (r *Room) Check() error {
	if r == nil || r.Floor == 0 {
		return nil
	}
	for _, folder := range r.Folders {
		var volume syscall.Statfs_t
		if err := syscall.Statfs(folder, &volume); err != nil {
			return fmt.Errorf("free space of %s: %w", folder, err)
		}
		floor, block := r.Floor, int64(volume.Bsize) //nolint:unconvert // not an int64 on every system
		if floor == Auto {
			floor = min(mostAuto, int64(volume.Blocks)*block/100)
		}
		if int64(volume.Bavail)*block < floor {
			return low
		}
	}
	return nil
}
