package browser

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// nobody is the user as whom a browser runs where we are root.
const nobody = 65534

// attributes make the browser a process group of its own, which no key of the terminal reaches, and end it with us. Its
// folder becomes nobody's if it runs as nobody.
func attributes(home string, asNobody bool) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if !asNobody {
		return a, nil
	}
	a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	return a, os.Chown(home, nobody, nobody)
}

// niceness is what a browser adds to ours: who answers requests must not wait for pages that compute.
const niceness = 5

// yield lets other processes go before those of a group.
func yield(group int) {
	if now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil { // the kernel says 20 less the niceness
		_ = syscall.Setpriority(syscall.PRIO_PGRP, group, min(20-now+niceness, 19))
	}
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

// lockFolder locks a folder for as long as this process lives.
func lockFolder(home string) (io.Closer, error) {
	file, err := os.OpenFile(filepath.Join(home, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes what browsers have left in a folder whose starter was killed together with the process that cleans up:
// their processes and their own folders.
func sweep(temp string) {
	homes, _ := filepath.Glob(filepath.Join(temp, homePrefix+"*"))
	for _, home := range homes {
		if abandoned(home) {
			killUsers(home)
			_ = removeAll(home)
		}
	}
}

// abandoned reports whether a folder is ours, and nobody has locked it.
func abandoned(home string) bool {
	at, err := os.Lstat(home)
	if err != nil || !at.IsDir() {
		return false
	}
	owner, ok := at.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Getuid() && (os.Getuid() != 0 || owner.Uid != nobody) {
		return false
	}
	file, err := os.OpenFile(filepath.Join(home, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return time.Since(at.ModTime()) > time.Minute // it is not about to be locked
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// killUsers kills the processes of a browser by the folder in which it was started, which is its home. Its parts cannot
// be known by their command lines, which they write anew, nor all by their group: the ones that record crashes have
// their own. Parts that live longer than the browser would write their caches into a new folder of that name.
func killUsers(home string) {
	folder, err := os.Stat(home)
	if err != nil {
		return
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		at, err := os.Stat(filepath.Join(process, "cwd"))
		if err != nil || !os.SameFile(at, folder) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(process)); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
