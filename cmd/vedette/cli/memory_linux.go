package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ReleaseImage gives the pages of the program's own code and constants back that only the
// start of the process needed: the start of each package brings in 64 KiB around it, more
// than half of the file. What is needed again comes from the page cache. Where it does not
// work, nothing is lost.
func ReleaseImage() {
	image, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var from, to uintptr
		var mode string
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err == nil && strings.HasSuffix(line, image) && mode[1] != 'w' {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_NOHUGEPAGE) // it would bring in 2 MiB
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
