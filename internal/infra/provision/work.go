package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

const (
	maxOutput  = 8 << 10 // bytes of the end that are shown
	sizeChecks = 200 * time.Millisecond
	fileSize   = 4 << 10 // what a file counts at least
)

var (
	errTooLarge = fmt.Errorf("the installation is larger than %d MB or has more than %d files", maxSize>>20, maxFiles)
	errClosed   = errors.New("the installation has a folder that cannot be read")
)

// IsLimit reports whether an error is a bound of an installation or of its programs.
func IsLimit(err error) bool {
	return sandbox.IsLimit(err) || errors.Is(err, errTooLarge) || errors.Is(err, errClosed)
}

// Work is one installation.
type Work struct {
	folders *Folders
	folder  string
	output  []byte
}

// Install runs a program that writes the folder, which it sees at a path, and reaches the hosts of installations.
func (w *Work) Install(ctx context.Context, c isolate.Command, at string) (*isolate.Result, error) {
	c.Writable, c.Dial = map[string]string{at: w.folder}, w.folders.dial
	return w.Run(ctx, c)
}

// Look runs a program that reads the folder, without a network.
func (w *Work) Look(ctx context.Context, c isolate.Command, at string) (*isolate.Result, error) {
	c.Folders = map[string]string{at: w.folder}
	return w.Run(ctx, c)
}

// Run runs a program, which is ended when the folder grows too large meanwhile, and keeps the end of its output. The
// error is one of package isolate, or IsLimit.
func (w *Work) Run(ctx context.Context, c isolate.Command) (*isolate.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.watch(ctx, cancel)
	c.Time = MostTime
	got, err := w.folders.Turn(ctx, c)
	if err != nil {
		return got, err
	}
	_, _ = w.Write(got.Stdout)
	_, _ = w.Write(got.Stderr)
	return got, measure(w.folder)
}

// watch ends an installation that grows too large.
func (w *Work) watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(sizeChecks)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := measure(w.folder); err != nil {
				end(err)
				return
			}
		}
	}
}

// measure fails when a folder is too large, or hides what it has.
func measure(folder string) error {
	size, files := int64(0), 0
	return filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it has gone meanwhile
		case err != nil:
			return errClosed
		}
		if info, err := e.Info(); err == nil {
			size += max(info.Size(), fileSize)
		}
		if files++; size > maxSize || files > maxFiles {
			return errTooLarge
		}
		return nil
	})
}

// Write keeps the end of what programs write.
func (w *Work) Write(p []byte) (int, error) {
	w.output = append(w.output, p...)
	if over := len(w.output) - 4*maxOutput; over > 0 { // more than is shown, for a secret that lies across the cut
		w.output = bytes.Clone(w.output[over:])
	}
	return len(p), nil
}

// Tail is the end of the output, without what redact removes.
func (w *Work) Tail(redact func(string) string) string {
	text := redact(strings.ToValidUTF8(strings.ReplaceAll(string(w.output), "\x00", "\uFFFD"), "\uFFFD"))
	if cut := len(text) - maxOutput; cut > 0 {
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		text = "…" + text[cut:]
	}
	return strings.TrimSpace(text)
}
