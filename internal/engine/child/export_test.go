package child

import (
	"io"
	"strconv"
	"syscall"
	"time"
)

// MainWith is Main with a hook that is called before each template is compiled; an error is that of the template.
func MainWith(args []string, in io.Reader, out io.Writer, compiling func(path string) error) int {
	return run(args, in, out, compiling)
}

// PIDs are the numbers of the children of a pool.
func (p *Pool) PIDs() (all []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.all {
		all = append(all, c.PID())
	}
	return all
}

// CommandOfTests makes a test binary whose TestMain knows it a child of so many bytes.
func CommandOfTests(memory int64) []string {
	return []string{"engine-of-tests", strconv.FormatInt(memory, 10)}
}

// Split is split.
var Split = split

// CPU is the time of the processor that this process and the children of a pool have used.
func (p *Pool) CPU() (used time.Duration) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		panic(err)
	}
	used = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.all {
		if u, err := c.Usage(); err == nil {
			used += u.CPU
		}
	}
	return used
}
