// Package e2e runs the finished binary as its users do: as a process, against real web
// servers and both databases, through its commands and its API, and lets it die.
package e2e

import (
	"flag"
	"fmt"
	"io/fs"
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
	if err := lookAtSources(); err != nil {
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

// lookAtSources reads the folders that the product is built from. go test notes what a
// test reads, and takes its result from the cache while that is unchanged; what a child
// process reads, such as the go build here, it does not see.
func lookAtSources() error {
	for _, root := range []string{"../cmd", "../internal", "../go.mod", "../go.sum"} {
		err := filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
}
