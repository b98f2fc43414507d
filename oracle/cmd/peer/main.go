// Command peer replaces the nuclei binary in nuclei's own tests: it runs `vedette scan` with the same
// flags, except those of the out-of-band server, which is one of ours on this machine. Self-contained
// templates get the tests' hosts as their scope.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

func main() {
	path := os.Getenv("VEDETTE")
	args := []string{path, "scan"}
	for i := 1; i < len(os.Args); i++ {
		if strings.HasPrefix(os.Args[i], "-interactions-") {
			i++ // and its value
			continue
		}
		args = append(args, os.Args[i])
	}
	args = append(args, "-interactsh-server", "http://127.0.0.1")
	if slices.Contains(args, "-esc") {
		args = append(args, "-scope", "127.0.0.1", "-scope", "localhost")
	}
	fmt.Fprintln(os.Stderr, "vedette:",
		syscall.Exec(path, args, os.Environ())) //nolint:gosec // the tests choose the arguments
	os.Exit(1)
}
