// Package e2e runs the finished binary as its users do: as a process, against real web
// servers and both databases, through its commands and its API, and kills it midway.
package e2e

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// parallelTests is how many tests run at once. Each starts several processes; with more tests, two processors are so
// busy that servers miss their deadlines.
const parallelTests = "4"

// folder is where the binary is built.
var folder string

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
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		return 0, err
	}
	if folder, err = os.MkdirTemp("", "vedette-e2e-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	return dbtest.Run(m), nil
}

// binary is the path of the product's binary; the first call builds it.
func binary(t testing.TB) string {
	t.Helper()
	name, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// build walks the product's sources and then builds them. go test reuses a cached result while
// the files that the test itself opened are unchanged; it does not see what the go build child
// process reads, hence the walk.
var build = sync.OnceValues(func() (name string, err error) {
	for _, root := range []string{"../cmd", "../internal", "../lab", "../go.mod", "../go.sum"} {
		err := filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return "", err
		}
	}
	name = filepath.Join(folder, "vedette")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v0.0.0-e2e", "-o", name,
		"../cmd/vedette").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building vedette: %w\n%s", err, out)
	}
	return name, nil
})
