package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inSandbox runs a shell's text.
func inSandbox(t *testing.T, c Command, text string) (*Result, error) {
	t.Helper()
	c.Path, c.Args, c.Files = "/bin/sh", []string{"{folder}/program"}, map[string][]byte{"program": []byte(text)}
	if c.Time == 0 {
		c.Time = time.Minute
	}
	got, err := Run(t.Context(), c)
	if errors.Is(err, ErrNoSandbox) {
		t.Skip(err)
	}
	return got, err
}

func TestRun(t *testing.T) {
	c := Command{Stdin: "in", Env: map[string]string{"A": "1 2"}}
	got, err := inSandbox(t, c, `cat; echo " $A $$"; pwd >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Stdout) != "in 1 2 1\n" || got.Code != 3 { // it is the first process of its namespace
		t.Errorf("%q %d", got.Stdout, got.Code)
	}
	folder := strings.TrimSpace(string(got.Stderr))
	if _, err := os.Stat(folder); !strings.Contains(folder, "vedette-code-") || !os.IsNotExist(err) {
		t.Errorf("%q: %v", folder, err)
	}
}

// Without the network there is no interface but a loopback that is down, and the user is nobody when we are root.
func TestRunIsAlone(t *testing.T) {
	got, err := inSandbox(t, Command{}, "id -u; tail -n +3 /proc/net/dev | grep -v lo: ; ls /root 2>&1 >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !strings.HasPrefix(string(got.Stdout), "65534\n") {
		t.Errorf("the user is %q", got.Stdout)
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		addresses, _ := one.Addrs()
		if one.Flags&net.FlagLoopback == 0 && len(addresses) > 0 && strings.Contains(string(got.Stdout), one.Name+":") {
			t.Errorf("there is a network: %q", got.Stdout)
		}
	}
}

// A program that never ends, writes for ever, leaves children behind, or forks for ever ends, with all that it started.
func TestRunEnds(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	for name, c := range map[string]struct {
		text string
		time time.Duration
		want error
	}{
		"time":     {"while :; do :; done", 200 * time.Millisecond, ErrRunTime},
		"output":   {"while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", time.Minute, ErrRunOutput},
		"children": {"(sleep 1000 >/dev/null 2>&1 &) ; echo done", time.Minute, nil},
		"forks":    {"f() { f | f & }; f; while :; do :; done", 500 * time.Millisecond, ErrRunTime},
	} {
		if _, err := inSandbox(t, Command{Time: c.time}, c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "vedette-code-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Command{Path: "/bin/sh", Time: time.Minute}); err == nil {
		t.Error("it runs after its end")
	}
}

// Where nobody has no way into the folder for temporary files, another is taken.
func TestRunInAPrivateFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	if got, err := inSandbox(t, Command{}, "echo it runs"); err != nil || string(got.Stdout) != "it runs\n" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestRunIsBounded(t *testing.T) {
	got, err := inSandbox(t, Command{}, "ulimit -d; ulimit -t; ulimit -n; ulimit -c")
	if err != nil || string(got.Stdout) != "1048576\n60\n256\n0\n" {
		t.Errorf("%+v %v", got, err)
	}
}

// Where a program is found first that nobody can start, the next one counts; where there is none, the error says so.
func TestLookPathFindsWhatNobodyCanStart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("programs run as this user")
	}
	dir, err := os.MkdirTemp("/tmp", "vedette-path-") //nolint:usetesting // others may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(folder string, mode, file os.FileMode, name string) {
		t.Helper()
		path := filepath.Join(dir, folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(path, file), os.Chmod(filepath.Dir(path), mode)); err != nil {
			t.Fatal(err)
		}
	}
	put("closed", 0o700, 0o755, "both")
	put("closed", 0o700, 0o755, "hidden")
	put("open", 0o755, 0o755, "both")
	put("open", 0o755, 0o700, "mine")
	if err := os.Symlink(filepath.Join(dir, "closed", "hidden"), filepath.Join(dir, "open", "link")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "closed")+":"+filepath.Join(dir, "open"))
	if path, err := LookPath("both"); err != nil || path != filepath.Join(dir, "open", "both") {
		t.Error(path, err)
	}
	for name, want := range map[string]error{
		"hidden": ErrUnreachable, "mine": ErrUnreachable, "link": ErrUnreachable, "none": exec.ErrNotFound,
	} {
		if path, err := LookPath(name); !errors.Is(err, want) {
			t.Errorf("%s: %s, %v", name, path, err)
		}
	}
}
