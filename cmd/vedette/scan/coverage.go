package scan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
)

// printCoverage prints what was tested and what was not, one line a target.
func printCoverage(w io.Writer, r *engine.Report) {
	_ = r.WriteTable(w) // stderr only
	fmt.Fprintf(w, "%s, %s in %s\n", cli.Counted(r.Events, "finding"), cli.Counted(r.Requests, "request"),
		r.Ended.Sub(r.Started).Round(time.Millisecond))
}

// writeCoverage writes the result of every target × template as JSON, or as a table if the file name ends with .txt.
func writeCoverage(name string, r *engine.Report) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".txt") {
		err = r.WriteTable(file)
	} else {
		err = r.WriteJSON(file)
	}
	return errors.Join(err, file.Close())
}

// openCheckpoint opens the file of --resume and reads what an earlier run recorded.
func openCheckpoint(name string) (*os.File, *coverage.Checkpoint, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, cli.Usagef("--resume: %w", err)
	}
	checkpoint, err := coverage.ReadCheckpoint(file)
	if err != nil {
		return nil, nil, errors.Join(cli.Usagef("--resume %s: %w", name, err), file.Close())
	}
	return file, checkpoint, nil
}
