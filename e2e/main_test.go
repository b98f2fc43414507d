// Package e2e runs the finished binary as its users do: as a process, against real web
// servers and both databases, through its commands and its API, and lets it die.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/db/dbtest"
)

// binary is the product, built once by TestMain.
var binary string

// atOnce is how many tests run at once: they wait for leases and deadlines far more than
// they compute.
const atOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "vedette-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "vedette")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version=v0.0.0-e2e", "-o", binary, "../cmd/vedette")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building vedette: %w\n%s", err, out)
	}
	return dbtest.Run(m), nil
}
