package outage

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func code(err error) string {
	e, _ := errors.AsType[*errs.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// TestRoomThatCannotBeWritten: a folder in which nothing can be written has no room, whatever the space; one that can be
// written again has. Tries are rare.
func TestRoomThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	blocker := filepath.Join(folder, tryFile)
	synctest.Test(t, func(t *testing.T) {
		r := &Room{Folders: []string{folder}}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(blocker), os.Mkdir(blocker, 0o700)); err != nil { // root may write anything else
			t.Fatal(err)
		}
		if err := r.Check(); err != nil {
			t.Error("it tries each time:", err)
		}
		time.Sleep(tryAfterSuccess)
		if err := r.Check(); code(err) != "storage_unavailable" || !errors.Is(err, syscall.EISDIR) {
			t.Error(err)
		}
		if err := os.Remove(blocker); err != nil {
			t.Fatal(err)
		}
		if err := r.Check(); err == nil {
			t.Error("it tries each time after a failure")
		}
		time.Sleep(tryAfterFailure)
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	})
	if err := (&Room{Folders: []string{filepath.Join(folder, "gone")}}).Check(); code(err) != "storage_unavailable" {
		t.Error(err)
	}
	if err := (&Room{Folders: []string{folder}, Floor: 1 << 60}).Check(); code(err) != "disk_full" {
		t.Error(err)
	}
	if err := (*Room)(nil).Check(); err != nil {
		t.Error(err)
	}
}
