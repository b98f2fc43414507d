package browser

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// attributes make the browser a process group of its own, which no key of the terminal reaches, and end it with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// alone makes a process a group of its own.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// groupMemory is the memory of all processes of a group, without what they share.
func groupMemory(group int) (sum int64) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, folder := range folders {
		if _, err := strconv.Atoi(folder.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + folder.Name() + "/stat")
		if err != nil {
			continue
		}
		// After the name, which is in brackets and may hold anything: state, parent, group.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[2]) != strconv.Itoa(group) {
			continue
		}
		statm, err := os.ReadFile("/proc/" + folder.Name() + "/statm")
		if err != nil {
			continue
		}
		if pages := bytes.Fields(statm); len(pages) > 2 {
			resident, _ := strconv.ParseInt(string(pages[1]), 10, 64)
			shared, _ := strconv.ParseInt(string(pages[2]), 10, 64)
			sum += max(0, resident-shared) * int64(os.Getpagesize())
		}
	}
	return sum
}
