package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Command is a program of somebody else's to run for a short time, bounded (Run).
type Command struct {
	Path  string            // of the program
	Args  []string          // without the program
	Env   map[string]string // in addition to PATH, HOME and TMPDIR
	Stdin string
	// Input, instead of Stdin, is read by the program itself, and Output takes what it prints, without a bound: for
	// programs that one talks with.
	Input  *os.File
	Output io.Writer
	// Files are written into the folder in which the program runs, by name; it is removed afterwards. {folder} in
	// Args stands for it.
	Files map[string][]byte
	// Network lets it use the network of the machine; else it has none.
	Network bool
	Time    time.Duration
	// Memory bounds what all of its processes together have in memory, in bytes; 0: each is bounded alone.
	Memory    int64
	Processes int // with their threads; 0: runProcesses
}

// Result is what a program wrote.
type Result struct {
	Stdout, Stderr []byte
	Code           int // the exit code; -1: a signal ended it
}

// Bounds of a program, besides Command.Time. Those of memory, processor time and files are of each of its processes.
const (
	runMemory    = 1 << 30 // bytes of data
	runCPU       = 60      // seconds
	runFile      = 64 << 20
	runOpen      = 256 // files
	runProcesses = 64
	runOutput    = 4 << 20 // bytes of each of stdout and stderr
)

// Errors of Run.
var (
	ErrNoSandbox = errors.New("the system lets no process have namespaces of its own, within which programs of templates run")
	ErrRunTime   = errors.New("the program ran for too long")
	ErrRunOutput = errors.New("the program wrote too much")
	ErrRunMemory = errors.New("the program used too much memory")
)

// IsLimit reports whether a program was ended because it exceeded one of its limits.
func IsLimit(err error) bool {
	return errors.Is(err, ErrRunTime) || errors.Is(err, ErrRunOutput) || errors.Is(err, ErrRunMemory)
}

// ErrUnreachable is what LookPath says of a program that is there, but not for the user as whom Run runs it.
var ErrUnreachable = errors.New("it lies where the user nobody, as whom programs run, cannot start it")

// LookPath finds a program in PATH that Run can start: when we are root, the first that everybody may start. The error
// is exec.ErrNotFound, or ErrUnreachable.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil || os.Geteuid() != 0 || IsOpen(path) {
		return path, err
	}
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(folder, name)
		if !filepath.IsAbs(path) { // exec.LookPath takes no program from the folder that we are in
			continue
		}
		if _, err := exec.LookPath(path); err == nil && IsOpen(path) {
			return path, nil
		}
	}
	return "", ErrUnreachable
}

// IsOpen reports whether everybody may start a program, or enter a folder: it, what it links to, and all folders above.
func IsOpen(path string) bool {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, at := range []string{path, target} {
		for ; at != filepath.Dir(at); at = filepath.Dir(at) {
			if info, err := os.Stat(at); err != nil || info.Mode()&1 == 0 { //nolint:gosec // nothing is opened
				return false
			}
		}
	}
	return true
}

// Reachable is the folder for temporary files, or where nobody has no way into that, another that is on all systems.
// It is "" where there is none.
func Reachable() string {
	for _, folder := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if IsOpen(folder) {
			return folder
		}
	}
	return ""
}
