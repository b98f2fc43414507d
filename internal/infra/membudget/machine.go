package membudget

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// unknown is the memory of a machine that does not say it.
const unknown = 4 << 30

// Machine is how many bytes of memory this process can have: what the machine has, or less where a control group
// (cgroup) of Linux bounds it, as for a container. Where neither can be read it is 4 GiB.
func Machine() int64 { return machine(os.DirFS("/")) }

func machine(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	if n, ok := physical(root); ok {
		least = n
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err == nil {
		for line := range strings.Lines(string(groups)) {
			least = min(least, bounded(root, strings.TrimSpace(line)))
		}
	}
	if least == math.MaxInt64 {
		return unknown
	}
	return least
}

// physical is the memory of the machine.
func physical(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil && kib > 0 && kib < math.MaxInt64>>10
		}
	}
	return 0, false
}

// bounded is the least bound of a group of this process, given as in /proc/self/cgroup, and of the groups around it.
// Inside a container the group may be named as outside, where there is no such folder: then that of the container is
// the root.
func bounded(root fs.FS, line string) int64 {
	_, rest, _ := strings.Cut(line, ":")
	controllers, group, ok := strings.Cut(rest, ":")
	mounts, file := []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, "memory.max" // version 2
	switch {
	case !ok:
		return math.MaxInt64
	case controllers != "":
		if !strings.Contains(","+controllers+",", ",memory,") {
			return math.MaxInt64
		}
		mounts, file = []string{"sys/fs/cgroup/memory"}, "memory.limit_in_bytes" // version 1
	}
	least := int64(math.MaxInt64)
	for _, mount := range mounts {
		for at := path.Clean("/" + group); ; at = path.Dir(at) {
			text, err := fs.ReadFile(root, path.Join(mount, at, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				least = min(least, n) // "max", or an enormous number, is no bound
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
