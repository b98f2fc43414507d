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
	"time"
)

// Start creates a PostgreSQL cluster in a temporary folder and runs it, without durability, on a unix socket
// there. PostgreSQL refuses to run as root, so root starts it as the user postgres or nobody.
func Start() (adminURL string, stop func(), err error) {
	bin, err := binaries()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "vedette-pg-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "vedette", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr = as
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	var log bytes.Buffer
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=300")
	server.SysProcAttr = as
	server.Dir = dir
	server.Stderr = &log
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- server.Wait() }()
	stop = func() {
		server.Process.Signal(syscall.SIGQUIT) // at once: nothing in it is worth a checkpoint
		<-exited
		os.RemoveAll(dir)
	}
	adminURL = "postgres://vedette@/postgres?host=" + url.QueryEscape(dir)
	if err := waitReady(adminURL, exited); err != nil {
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return adminURL, stop, nil
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
