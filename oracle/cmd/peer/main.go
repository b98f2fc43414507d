// Command peer stands where nuclei's own tests look for nuclei: it runs `vedette scan` with
// the same flags. Left out are those about the server for call-backs, of which there is
// none; templates that name their own hosts are allowed those of the tests.
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
	if slices.Contains(args, "-esc") {
		args = append(args, "-scope", "127.0.0.1", "-scope", "localhost")
	}
	fmt.Fprintln(os.Stderr, "vedette:", syscall.Exec(path, args, os.Environ())) //nolint:gosec // the tests choose the arguments
	os.Exit(1)
}
