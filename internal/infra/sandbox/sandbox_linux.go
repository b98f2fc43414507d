package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// self is the running program itself, also after its file was replaced.
func self() (string, error) { return "/proc/self/exe", nil }

// attributes make the child a process group of its own, which no key of the terminal reaches, and end it with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill ends the child's process group.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

const boardFile = 3 // the first of cmd.ExtraFiles

// share makes the memory of Board and gives the child the file of it, which the caller closes after the start.
func (p *Process) share(size int) (*os.File, error) {
	if size == 0 {
		return nil, nil
	}
	fd, err := unix.MemfdCreate("board", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "board")
	if err = file.Truncate(int64(size)); err == nil {
		p.Board, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, file)
	return file, nil
}

func unmap(board []byte) error {
	if board == nil {
		return nil
	}
	return unix.Munmap(board)
}

// Usage is what the child uses now; the error is that of a child that has ended.
func (p *Process) Usage() (u Usage, err error) {
	dir := "/proc/" + strconv.Itoa(p.PID()) + "/"
	text, err := os.ReadFile(dir + "statm")
	if err != nil {
		return u, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return u, os.ErrProcessDone
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return u, err
	}
	u.Resident = pages * int64(os.Getpagesize())
	if text, err = os.ReadFile(dir + "stat"); err != nil {
		return u, err
	}
	// The fields after the name, which is in brackets and may hold anything: utime and stime are the 12th and 13th.
	fields = bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return u, os.ErrProcessDone
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(ticks) * (time.Second / 100) // the kernel shows hundredths on every machine
	}
	return u, nil
}

// beyond is how much more than its limit of memory a child may map: what Go has mapped and not used. Only a child that
// takes more at once meets this bound; the parent watches the other.
const beyond = 512 << 20

// Enter bounds the calling process, a child, to memory bytes, and opens the board of size bytes. What the kernel does
// not offer is left out, except the bound of memory.
func Enter(memory int64, size int) (board []byte, err error) {
	membudget.Limit(memory)
	debug.SetMaxStack(int(min(memory/4, 256<<20)))
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA: uint64(memory + beyond), unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return nil, fmt.Errorf("limit %d: %w", resource, err)
		}
	}
	if size > 0 {
		board, err = unix.Mmap(boardFile, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil, fmt.Errorf("the board: %w", err)
		}
		_ = unix.Close(boardFile)
		unix.CloseOnExec(filesFile) // if there is one
	}
	yield()
	lock()
	return board, nil
}

// niceness is what a child adds to its parent's: the parent answers requests and keeps the watch, and must
// not wait for children that compute.
const niceness = 5

// yield lets other processes go first. A child is a group of its own, with all of its threads.
func yield() {
	now, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil { // the kernel says 20 less the niceness
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, min(20-now+niceness, 19))
	}
}

// readable are the files that a child may read: those that say how names are resolved, certificates are verified and
// times are shown.
var readable = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/localtime", "/etc/mime.types",
	"/etc/ssl", "/etc/pki", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/usr/share/zoneinfo",
	"/usr/share/mime",
}

// lock takes away from all threads what the engine does not need: new privileges, and files but those of readable.
func lock() {
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); e != 0 {
		return
	}
	// The rights of Landlock's first version: to run a file, to read and write files, to read, change and fill folders.
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	//nolint:gosec // x/sys has no function for it
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), 8, 0)
	if e != 0 {
		return
	}
	defer unix.Close(int(fd))
	for _, path := range readable {
		allow(int(fd), path)
	}
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
}

// allow lets a path be read, if it is there.
func allow(rules int, path string) {
	file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(file)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_FILE, Parent_fd: int32(file)}
	var at unix.Stat_t
	if unix.Fstat(file, &at) == nil && at.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access |= unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	//nolint:gosec // x/sys has no function for it
	_, _, _ = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
}
