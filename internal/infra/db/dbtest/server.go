package dbtest

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a PostgreSQL server of a test's own, which it may stop and start.
type Server struct {
	t       testing.TB
	bin     string
	dir     string // has the cluster and the socket
	url     string
	as      *syscall.SysProcAttr
	process *exec.Cmd // nil: it does not run
	exited  chan error
}

// NewServer runs a server until the end of the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.remove)
	s.Start()
	return s
}

// URL is the URL of the database postgres there, which is empty at first.
func (s *Server) URL() string { return s.url }

// Start starts the server again, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends the server and all connections to it: with a message to each, or as in a crash.
func (s *Server) Stop(crash bool) {
	if s.process == nil {
		return
	}
	how := syscall.SIGINT
	if crash {
		how = syscall.SIGQUIT
	}
	s.process.Process.Signal(how)
	<-s.exited
	s.process = nil
}

func (s *Server) remove() {
	s.Stop(true) // at once: nothing in it is worth a checkpoint
	os.RemoveAll(s.dir)
}

// newServer makes a cluster in a temporary folder, which run runs on a unix socket there. PostgreSQL refuses to run as
// root, so root runs it as the user postgres or nobody.
func newServer() (*Server, error) {
	return newCluster(func(s *Server) *exec.Cmd {
		return exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "vedette", "-A", "trust", "-E", "UTF8",
			"--locale=C", "--no-sync")
	})
}

// newCluster is newServer with the command that makes the cluster.
func newCluster(command func(s *Server) *exec.Cmd) (s *Server, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vedette-pg-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	s = &Server{bin: bin, dir: dir, as: as, url: "postgres://vedette@/postgres?host=" + url.QueryEscape(dir)}
	create := command(s)
	create.SysProcAttr = as
	create.Dir = dir
	if out, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", create.Path, err, out)
	}
	return s, nil
}

// data is the folder of the cluster.
func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run() error {
	var log bytes.Buffer
	s.process = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300")
	if s.t == nil { // nobody stops it, so nothing can be lost
		s.process.Args = append(s.process.Args, "-c", "synchronous_commit=off")
	}
	s.process.SysProcAttr = s.as
	s.process.Dir = s.dir
	s.process.Stderr = &log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	process, exited := s.process, make(chan error, 1)
	s.exited = exited
	go func() { exited <- process.Wait() }()
	if err := waitReady(s.url, exited); err != nil {
		s.Stop(true)
		return fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return nil
}

func waitReady(adminURL string, exited chan error) error {
	pool, err := sql.Open("pgx", adminURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	deadline := time.After(30 * time.Second)
	for {
		if err = pool.Ping(); err == nil {
			return nil
		}
		select {
		case werr := <-exited:
			exited <- werr
			return fmt.Errorf("postgres ended: %w", errors.Join(werr, err))
		case <-deadline:
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// binaries finds the folder of PostgreSQL's programs: Debian keeps them off the PATH.
func binaries() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("initdb is not installed: install PostgreSQL (Debian: postgresql), or set VEDETTE_TEST_POSTGRES")
	}
	return filepath.Dir(path), nil
}

func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	// A test process that is killed takes its server with it.
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}
