package dbtest

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// madeVar names a folder in which the processes of one run of the tests share what takes each of them longer than most
// of its tests: a SQLite file and a PostgreSQL cluster that are migrated. The first that needs one makes it, the others
// copy it. scripts/test sets it; without it, each makes its own.
const madeVar = "VEDETTE_TEST_MADE"

// copyMigrated makes a migrated SQLite database.
func copyMigrated(file string) error {
	folder := os.Getenv(madeVar)
	if folder == "" {
		return migrate("sqlite:" + file)
	}
	made := filepath.Join(folder, "vedette.db")
	data, err := os.ReadFile(made)
	if err == nil {
		return os.WriteFile(file, data, 0o600)
	}
	if err := migrate("sqlite:" + file); err != nil {
		return err
	}
	if data, err = os.ReadFile(file); err != nil {
		return err
	}
	whole := file + ".whole"
	if err := os.WriteFile(whole, data, 0o600); err != nil {
		return err
	}
	return os.Rename(whole, made)
}

// made is the name of the migrated database in a cluster that is copied.
const made = "template_made"

// startMigrated runs a cluster without durability. template is the migrated database in it; empty: there is none.
func startMigrated() (adminURL, template string, stop func(), err error) {
	create := newServer
	if folder := os.Getenv(madeVar); folder != "" {
		cluster := filepath.Join(folder, "cluster")
		if err := makeCluster(cluster); err != nil {
			return "", "", nil, err
		}
		template = made
		create = func() (*Server, error) {
			return newCluster(func(s *Server) *exec.Cmd { return exec.Command("cp", "-rp", cluster, s.data()) })
		}
	}
	s, err := create()
	if err != nil {
		return "", "", nil, err
	}
	if err := s.run(); err != nil {
		s.remove()
		return "", "", nil, err
	}
	return s.url, template, s.remove, nil
}

// makeCluster makes a cluster with a migrated database and stops it, unless there is one.
func makeCluster(cluster string) error {
	if _, err := os.Stat(cluster); err == nil {
		return nil
	}
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.remove()
	if err := s.run(); err != nil {
		return err
	}
	if err := createIn(s.url, made); err != nil {
		return err
	}
	if err := migrate(withDatabase(s.url, made)); err != nil {
		return err
	}
	s.Stop(false)
	err = os.Rename(s.data(), cluster)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	return err
}

// createIn creates a database on a server.
func createIn(admin, name string) error {
	pool, err := sql.Open("pgx", admin)
	if err != nil {
		return err
	}
	_, err = pool.Exec(fmt.Sprintf(`CREATE DATABASE %q`, name))
	return errors.Join(err, pool.Close())
}
