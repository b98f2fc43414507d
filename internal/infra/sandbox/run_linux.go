package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the user as whom programs run when we are root.
const nobody = 65534

// waiting is a shell that becomes the program when it has been told to: in between, its limits are set. Everything that
// it starts inherits them. It is the first process of its namespace, with which all others end.
const waiting = `read -r go <&3 && exec 3<&- && exec "$@"`

// Run runs a program and waits for its end: as nobody when we are root, in namespaces of its own of users, processes,
// mounts, IPC and, unless it may use it, of the network, in which there is none. All of its processes end with it.
// Without these namespaces it is not run. The error is one of the package's, or that of the context or the system.
func Run(ctx context.Context, c Command) (*Result, error) {
	root := os.Geteuid() == 0
	folder, err := os.MkdirTemp(folderFor(root), "vedette-code-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := fill(folder, c.Files); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Time, ErrRunTime)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	args := []string{"-c", waiting, "sh", c.Path}
	for _, a := range c.Args {
		args = append(args, strings.ReplaceAll(a, "{folder}", folder))
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + folder, "TMPDIR=" + folder}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	r := running{root: root, network: c.Network, stdout: &bounded{}, stderr: &bounded{},
		processes: uint64(cmp.Or(c.Processes, runProcesses))}
	r.stdout.full, r.stderr.full = cancel, cancel
	cmd := exec.CommandContext(ctx, "/bin/sh", args...) //nolint:gosec // that is what it is for
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, folder, strings.NewReader(c.Stdin), r.stdout, r.stderr
	if c.Input != nil {
		cmd.Stdin = c.Input
	}
	if c.Output != nil {
		cmd.Stdout = c.Output
	}
	if c.Memory > 0 {
		r.started = func(pid int) { go watch(ctx, pid, c.Memory, func() { end(ErrRunMemory) }) }
	}
	if err := r.run(cmd); err != nil {
		return nil, err
	}
	switch {
	case r.stdout.over() || r.stderr.over():
		return nil, fmt.Errorf("%w: more than %d bytes", ErrRunOutput, runOutput)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return &Result{r.stdout.text, r.stderr.text, cmd.ProcessState.ExitCode()}, nil
}

// folderFor is the folder for temporary files of a program; "": the system's.
func folderFor(root bool) string {
	if !root {
		return ""
	}
	return Reachable()
}

// fill writes the files of a folder, and gives all to nobody when we are root.
func fill(folder string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(path, text, 0o500); err != nil { //nolint:gosec // it is run
			return err
		}
		if err := Give(path); err != nil {
			return err
		}
	}
	return Give(folder)
}

// Give lets programs that Run runs own a file or a folder.
func Give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// running is one run.
type running struct {
	root, network  bool
	processes      uint64 // at most
	stdout, stderr *bounded
	started        func(pid int) // may be nil
}

// run starts the shell, sets its limits, and has it become the program. The child dies with the thread that started
// it, so that one thread waits.
func (r *running) run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = r.attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Start()
	_ = theirs.Close()
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOSYS):
		return ErrNoSandbox
	case err != nil:
		return err
	}
	limits := limit(cmd.Process.Pid, r.root, r.processes)
	if limits == nil {
		if r.started != nil {
			r.started(cmd.Process.Pid)
		}
		_, limits = ours.WriteString("go\n")
	}
	if limits != nil {
		_ = cmd.Cancel()
	}
	err = cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); exited || cmd.ProcessState != nil {
		err = nil // what it was is in the result
	}
	return errors.Join(limits, err)
}

// attributes make the namespaces. In that of users there is one user alone, so that no program gains another's rights.
func (r *running) attributes() *syscall.SysProcAttr {
	uid, gid := os.Getuid(), os.Getgid()
	a := &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if !r.network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if r.root {
		uid, gid = nobody, nobody
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		a.GidMappingsEnableSetgroups = true
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	return a
}

// limit bounds a process that has not begun its work.
func limit(pid int, root bool, processes uint64) error {
	if !root { // the kernel counts all processes and threads of the user
		processes += threads(os.Getuid())
	}
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA: runMemory, unix.RLIMIT_CPU: runCPU, unix.RLIMIT_FSIZE: runFile, unix.RLIMIT_CORE: 0,
		unix.RLIMIT_NOFILE: runOpen, unix.RLIMIT_NPROC: processes,
	} {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("limit %d: %w", resource, err)
		}
	}
	return nil
}

// threads counts those of a user.
func threads(uid int) (n uint64) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		var at unix.Stat_t
		if unix.Stat(process, &at) != nil || int(at.Uid) != uid {
			continue
		}
		tasks, _ := os.ReadDir(process + "/task") // a process that has ended has none
		n += uint64(len(tasks))
	}
	return n
}

// bounded keeps what is written, and ends the run when it is too much.
type bounded struct {
	mu   sync.Mutex
	text []byte
	much bool
	full func()
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.text)+len(p) > runOutput {
		b.much = true
		b.full()
		return len(p), nil
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *bounded) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.much
}
