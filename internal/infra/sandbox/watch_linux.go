package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const watchEvery = 100 * time.Millisecond

// watch calls over when a process and its descendants have more than so many bytes in memory, until ctx ends.
func watch(ctx context.Context, pid int, memory int64, over func()) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if treeMemory(pid) > memory {
			over()
			return
		}
	}
}

// treeMemory is what a process and its descendants have in memory, in bytes. Whose parent has ended belongs to the
// first
// process of its namespace, which is one of them.
func treeMemory(root int) (bytes int64) {
	parents, sizes := map[int]int{}, map[int]int64{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if parent, size, ok := readStat(path); ok {
			parents[pid], sizes[pid] = parent, size
		}
	}
	for pid := range parents {
		for at, steps := pid, 0; at > 1 && steps < len(parents); at, steps = parents[at], steps+1 {
			if at == root {
				bytes += sizes[pid]
				break
			}
		}
	}
	return bytes
}

// readStat reads the parent and the resident size of a process.
func readStat(path string) (parent int, size int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false
	}
	// The fields after the name, which is in brackets and may hold anything: the parent is the second, the pages in
	// memory the 22nd.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	pages, perr := strconv.ParseInt(string(fields[21]), 10, 64)
	return parent, pages * int64(os.Getpagesize()), err == nil && perr == nil
}
