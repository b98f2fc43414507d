// Package isolate runs programs that people wrote for their tasks where they can harm nobody: their tools, and commands
// of a shell.
//
// Bubblewrap, which Debian packages, makes the surroundings: namespaces of users, processes, mounts, IPC, names and the
// network; a read-only file system that has the system's programs and libraries and nothing else of the machine; a
// folder of bounded size to work in, which goes with the program; no capabilities and no new privileges. A seccomp
// filter (filter.go) refuses what programs do not need and attacks begin with. Package sandbox starts it as nobody and
// bounds memory, processor time, processes, output and time. The only network is a proxy on loopback, for
// whose connections the caller dials (proxy.go): within the scope of a task, or not at all. Where something of this is
// missing, nothing is run.
package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Command is a program to run.
type Command struct {
	Args  []string          // the program, found in the sandbox's PATH, and its arguments
	Env   map[string]string // in addition to PATH, HOME, TMPDIR, LANG and, with Dial, the variables of the proxy
	Stdin string
	// Input and Output, instead of Stdin and Result.Stdout, are for programs that one talks with.
	Input  *os.File
	Output io.Writer
	// Files are in the folder Files of the sandbox, by names without a folder; they cannot be changed.
	Files map[string][]byte
	// Folders of the machine that are seen in the sandbox, by where; they cannot be changed. Writable can.
	Folders, Writable map[string]string
	// Work is a folder of the machine that the program works in and that stays; "": an empty one that goes.
	Work string
	// Dial makes the connections of the program, each to a host and port as it named them; nil: it has no network.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Time time.Duration
}

// Where things are in the sandbox.
const (
	Files = "/tool" // Command.Files
	Work  = "/work" // where the program runs
)

// Result is what a program wrote.
type Result = sandbox.Result

// NoProgram is the code of a Result when there is no such program in the sandbox, as of a shell.
const NoProgram = 127

// Bounds of a program, besides those of package sandbox.
const (
	maxMemory    = 1 << 30   // bytes that all of its processes use
	maxProcesses = 128       // with their threads
	workSize     = 256 << 20 // bytes of the folder that it works in, and of that for temporary files
	sharedSize   = 64 << 20
)

// Errors of Run, besides those of package sandbox that end a program (ErrRunTime, ErrRunOutput, ErrRunMemory).
var (
	ErrNoBubblewrap = errors.New("bubblewrap is not installed (on Debian: apt install bubblewrap)")
	ErrNoSocat      = errors.New("socat is not installed (on Debian: apt install socat)")
	ErrNoNamespaces = sandbox.ErrNoSandbox
)

// Check reports why no program can be run here; nil: it can.
func Check(ctx context.Context) error {
	_, err := Run(ctx, Command{Args: []string{"true"}, Time: 20 * time.Second})
	return err
}

// Run runs a program and waits for its end. The error is one of this package or of package sandbox, that of the
// context,
// or the system's.
func Run(ctx context.Context, c Command) (*Result, error) {
	bubblewrap, err := sandbox.LookPath("bwrap")
	if err != nil {
		return nil, ErrNoBubblewrap
	}
	filter, err := filter()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{filterFile: filter}
	line := []string{bubblewrap}
	line = append(line, surroundings(c)...)
	env := map[string]string{}
	maps.Copy(env, c.Env)
	line = append(line, "--args", "8")
	program := c.Args
	if c.Dial != nil {
		p, err := listen(ctx, c.Dial)
		if err != nil {
			return nil, err
		}
		defer p.close()
		if _, err := sandbox.LookPath("socat"); err != nil {
			return nil, ErrNoSocat
		}
		line = append(line, "--ro-bind", p.path, "/run/proxy")
		for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
			env[name] = "http://127.0.0.1:" + proxyPort
		}
		program = append([]string{"/bin/sh", "-c", forward, "sh"}, program...)
	}
	for name, text := range c.Files {
		name = filepath.Base(name)
		files["f-"+name] = text
		line = append(line, "--ro-bind", "{folder}/f-"+name, Files+"/"+name)
	}
	line = append(append(line, "--remount-ro", "/", "--"), program...)
	if files[envFile], err = setting(env); err != nil {
		return nil, err
	}
	// The shell opens the filter and the environment for bubblewrap.
	args := append([]string{"-c", `exec 9<"$1" 8<"$2" && shift 2 && exec "$@"`, "sh", "{folder}/" + filterFile,
		"{folder}/" + envFile}, line...)
	got, err := sandbox.Run(ctx, sandbox.Command{
		Path: "/bin/sh", Args: args, Stdin: c.Stdin, Input: c.Input, Output: c.Output, Files: files, Time: c.Time,
		Memory: maxMemory, Processes: maxProcesses,
	})
	if err != nil {
		return nil, err
	}
	switch said := string(got.Stderr); {
	case got.Code == 1 && strings.HasPrefix(said, "bwrap: execvp "):
		got.Code = NoProgram
	case got.Code == 1 && strings.HasPrefix(said, "bwrap: "):
		return nil, errors.Join(ErrNoNamespaces, errors.New(strings.TrimSpace(string(got.Stderr))))
	}
	return got, nil
}

const (
	filterFile = "filter"
	envFile    = "env"
)

// setting are the arguments of bubblewrap that set the program's environment. They are in a file: it would be that of
// the shell and of bubblewrap as well, outside of the sandbox, where LD_PRELOAD names a library of the machine; and
// everybody sees a process's arguments.
func setting(env map[string]string) ([]byte, error) {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00") {
			return nil, fmt.Errorf("the value of the variable %.60q cannot be in an environment", name)
		}
		b.WriteString("--setenv\x00" + name + "\x00" + env[name] + "\x00")
	}
	return b.Bytes(), nil
}

// forward has socat link a port of the sandbox's loopback with the proxy's socket, and runs the program when that
// listens.
const (
	proxyPort = "3128" // 0C38 in hexadecimal
	forward   = `socat TCP4-LISTEN:` + proxyPort + `,bind=127.0.0.1,fork UNIX-CONNECT:/run/proxy &
until grep -q ':0C38 ' /proc/net/tcp; do sleep 0.01; done
exec "$@"`
)

// surroundings are the arguments of bubblewrap that make all but the files of a command.
func surroundings(c Command) []string {
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
		"--seccomp", "9", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
		"--size", strconv.Itoa(sharedSize), "--tmpfs", "/dev/shm", "--size", strconv.Itoa(workSize), "--tmpfs", "/tmp",
		"--setenv", "HOME", Work, "--setenv", "TMPDIR", "/tmp", "--setenv", "LANG", "C.UTF-8",
	}
	for _, folder := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"} {
		to, err := os.Readlink(folder)
		switch _, missing := os.Stat(folder); {
		case err == nil:
			args = append(args, "--symlink", to, folder)
		case missing == nil:
			args = append(args, "--ro-bind", folder, folder)
		}
	}
	for _, path := range readable {
		args = append(args, "--ro-bind-try", path, path)
	}
	if c.Work == "" {
		args = append(args, "--size", strconv.Itoa(workSize), "--tmpfs", Work)
	} else {
		args = append(args, "--bind", c.Work, Work)
	}
	for _, at := range slices.Sorted(maps.Keys(c.Folders)) {
		args = append(args, "--ro-bind", c.Folders[at], at)
	}
	for _, at := range slices.Sorted(maps.Keys(c.Writable)) {
		args = append(args, "--bind", c.Writable[at], at)
	}
	return append(args, "--chdir", Work)
}

// readable are the files of the machine besides its programs and libraries: those that programs need and that say
// nothing about its users. Names are not resolved in the sandbox, so there is no resolv.conf.
var readable = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/etc/ca-certificates.conf", "/etc/localtime", "/etc/mime.types", "/etc/services", "/etc/protocols",
}
