package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ReleaseImage returns the pages of the program's code and constants that only its start needed, more than half of
// the file: each package brings in 64 KiB around it. What is needed again comes from the page cache. Errors do no
// harm.
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
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err == nil && strings.HasSuffix(line, image) &&
			mode[1] != 'w' {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_NOHUGEPAGE) // it would bring in 2 MiB
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
