// Package jstest runs a script with one module of javascript blocks, and the servers that it talks to: small ones
// of the test's own, and real ones where they are installed.
package jstest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/script"
)

// Module makes a module.
type Module func(*host.Host) *goja.Object

// Eval runs a script with a module as m, and H and P as the address of a service; all other addresses are out of scope.
func Eval(t testing.TB, module Module, address, source string, timeout time.Duration) (string, error) {
	t.Helper()
	vm := script.New()
	script.Bound(vm, true)
	clock := script.StartClock(time.Minute, vm.Interrupt)
	defer clock.Pause()
	h := host.New(t.Context(), vm, clock, timeout,
		func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != address {
				return nil, errors.New("out of scope")
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		})
	defer h.Close()
	name, port, _ := net.SplitHostPort(address)
	for global, v := range map[string]any{"m": module(h), "H": name, "P": port} {
		if err := vm.Set(global, v); err != nil {
			t.Fatal(err)
		}
	}
	v, err := vm.RunString(source)
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// Check is a script and the beginning of what it gives, with "error " before the text of an error.
type Check struct {
	Module                Module
	Address, Source, Want string
}

// Run runs it.
func (c Check) Run(t testing.TB) {
	t.Helper()
	if got := c.Result(t, 10*time.Second); !strings.HasPrefix(got, c.Want) {
		t.Errorf("%s: %.400s, want %s", c.Source, got, c.Want)
	}
}

// Result is what the script gives.
func (c Check) Result(t testing.TB, timeout time.Duration) string {
	t.Helper()
	got, err := Eval(t, c.Module, c.Address, c.Source, timeout)
	if err != nil {
		got = "error " + strings.TrimPrefix(err.Error(), "GoError: ")
	}
	return got
}

// Serve is the address of a service that talks to each connection.
func Serve(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// Answer is a service that sends what is given, one part after each message that it gets, and then waits.
func Answer(t testing.TB, parts ...string) string {
	t.Helper()
	return Serve(t, func(conn net.Conn) {
		b := make([]byte, 1<<16)
		for _, part := range parts {
			if _, err := conn.Write([]byte(part)); err != nil {
				return
			}
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	})
}

// Tool is the path of a program; the test is skipped where it is missing.
func Tool(t testing.TB, name string) string {
	t.Helper()
	for _, folder := range []string{"", "/usr/sbin/", "/usr/local/sbin/", "/sbin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Port is an address of this machine where nothing listens.
func Port(t testing.TB) (address, port string) {
	t.Helper()
	l := listen(t)
	defer l.Close()
	address = l.Addr().String()
	return address, address[strings.LastIndexByte(address, ':')+1:]
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Folder is a folder that a server which is not root can reach, unlike those of testing.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "vedette-js-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// Unprivileged is how a server that refuses to be root is started, with the folder as its own.
func Unprivileged(t testing.TB, folder string) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return attr
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, uid, gid))
	}); err != nil {
		t.Fatal(err)
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr
}

// Start runs a server until the end of the test, and waits until it listens.
func Start(t testing.TB, address string, command *exec.Cmd) {
	t.Helper()
	log := &logged{}
	command.Stdout, command.Stderr = log, log
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		for range ended {
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", command.Path, err, log)
		case <-deadline:
			t.Fatalf("%s does not listen\n%s", command.Path, log)
		case <-tick.C:
			if conn, err := net.Dial("tcp", address); err == nil { //nolint:noctx // on this machine
				_ = conn.Close()
				return
			}
		}
	}
}

// logged is what a server writes.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String is all of it.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
