// Package services starts servers of Debian on the loopback, and small ones of its own, for templates of
// protocols other than HTTP.
package services

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Service is one server. Its script runs in a folder of its own, $D, and ends with the server in the foreground.
type Service struct {
	Name    string
	Port    int      // TCP, on every address of the loopback
	Program string   // of Debian; without it the service is left out
	Script  string   // below scripts, without .sh; by default the name
	Values  []string // for the script, as NAME=value
}

//go:embed scripts
var scripts embed.FS

// Running is the set of servers that were started.
type Running struct {
	Started []Service
	Missing []string // services that did not start, each with the reason
	folder  string
	groups  []*exec.Cmd
	inside  io.Closer // the server of this program
}

// starting is how long a server may take until its port is open.
const starting = 90 * time.Second

// Start starts all services of the table at once and waits until their ports are open.
func Start(ctx context.Context) (*Running, error) {
	folder, err := os.MkdirTemp("", "oracle-services-")
	if err != nil {
		return nil, err
	}
	r := &Running{folder: folder}
	if err := os.Chmod(folder, 0o755); err != nil { // servers change to users of their own
		return nil, err
	}
	if r.inside, err = inside(); err != nil {
		return r, err
	}
	ended := make([]chan error, len(table))
	for i, s := range table {
		if _, err := exec.LookPath(s.Program); err != nil {
			r.Missing = append(r.Missing, s.Name+": "+err.Error())
			continue
		}
		if ended[i], err = r.start(ctx, s); err != nil {
			return r, err
		}
	}
	for i, s := range table {
		if ended[i] == nil {
			continue
		}
		if err := wait(ctx, s, ended[i]); err != nil {
			r.Missing = append(r.Missing, fmt.Sprintf("%s: %v: %s", s.Name, err, r.said(s)))
			continue
		}
		r.Started = append(r.Started, s)
	}
	return r, ctx.Err()
}

func (r *Running) start(ctx context.Context, s Service) (chan error, error) {
	own := filepath.Join(r.folder, s.Name)
	if err := os.Mkdir(own, 0o755); err != nil {
		return nil, err
	}
	script, err := scripts.ReadFile("scripts/" + cmp.Or(s.Script, s.Name) + ".sh")
	if err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(r.folder, s.Name+".log"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.CommandContext(ctx, "sh", "-ec", string(script))
	command.Dir, command.Stdout, command.Stderr = own, output, output
	command.Env = append(append(os.Environ(), s.Values...), "D="+own, fmt.Sprintf("PORT=%d", s.Port))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	r.groups = append(r.groups, command)
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return ended, nil
}

func wait(ctx context.Context, s Service, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			return fmt.Errorf("ended: %w", err)
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// said is the end of what the service printed.
func (r *Running) said(s Service) string {
	text, _ := os.ReadFile(filepath.Join(r.folder, s.Name+".log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], " | ")
}

// Stop ends all servers and removes their folders.
func (r *Running) Stop() {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, command := range r.groups {
			_ = syscall.Kill(-command.Process.Pid, signal)
		}
		time.Sleep(200 * time.Millisecond) // so that they remove what they keep outside of their folders
	}
	if r.inside != nil {
		_ = r.inside.Close()
	}
	_ = os.RemoveAll(r.folder)
}
