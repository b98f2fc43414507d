package browser

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// When this process ends, the guard kills the browser's group, also what does not end by itself, before it removes the
// folder: a part that lives would make the folder again.
func TestTheGuardKillsTheGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is a shell script")
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	group := exec.CommandContext(t.Context(), "/bin/sh", "-c", "trap '' HUP INT TERM PIPE; sleep 600 & wait")
	group.SysProcAttr = alone()
	if err := group.Start(); err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(home)
	if err != nil {
		t.Fatal(err)
	}
	g.protect(group.Process.Pid)
	if err := errors.Join(g.in.Close(), g.cmd.Wait()); err != nil { // as if this process had ended
		t.Error(err)
	}
	if err := group.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the group: %v", err)
	}
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}
