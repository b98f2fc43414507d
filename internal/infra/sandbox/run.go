package sandbox

import (
	"errors"
	"time"
)

// Command is a program of somebody else's to run for a short time, bounded (Run).
type Command struct {
	Path  string            // of the program
	Args  []string          // without the program
	Env   map[string]string // in addition to PATH, HOME and TMPDIR
	Stdin string
	// Files are written into the folder in which the program runs, by name; it is removed afterwards. {folder} in
	// Args stands for it.
	Files map[string][]byte
	// Network lets it use the network of the machine; else it has none.
	Network bool
	Time    time.Duration
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
)
