package db_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestFrozenInAnInsert: a process that freezes while it sends rows keeps neither its locks, nor others from making a
// database.
func TestFrozenInAnInsert(t *testing.T) {
	address := dbtest.URL(t, "postgres")
	alive, err := db.Open(t.Context(), db.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	for _, statement := range []string{`CREATE TABLE number (n BIGINT PRIMARY KEY)`, `INSERT INTO number (n) VALUES (1)`,
		`CREATE TABLE large (body TEXT NOT NULL)`} {
		if _, err := alive.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	through, stuck := freezesAfter(t, address, 1<<20)
	frozen, err := db.Open(t.Context(), db.Config{URL: through, KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- frozen.Tx(ctx, func(tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE number SET n = 2`); err != nil {
				return err
			}
			return tx.Insert(ctx, `large (body)`, [][]any{{strings.Repeat("x", 3<<20)}})
		})
	}()
	<-stuck
	if _, err := alive.Exec(t.Context(), `UPDATE number SET n = 3`); err != nil {
		t.Error(err)
	}
	dbtest.URL(t, "postgres") // makes a database
	end()
	if err := <-ended; err == nil {
		t.Error("the rows were inserted")
	}
	frozen.Close()
}

// freezesAfter is an address of the same database whose connections stop for good once a client has sent so many bytes,
// which stuck says.
func freezesAfter(t *testing.T, address string, most int64) (through string, stuck chan struct{}) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	const name = ".s.PGSQL.5432"
	q := u.Query()
	server, dir := filepath.Join(q.Get("host"), name), t.TempDir()
	q.Set("host", dir)
	q.Set("idle_in_transaction_session_timeout", "1s")
	u.RawQuery = q.Encode()
	listener, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	stuck = make(chan struct{})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("unix", server)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { client.Close(); behind.Close() })
			go io.Copy(client, behind)
			go func() {
				if n, _ := io.CopyN(behind, client, most); n == most {
					close(stuck)
				}
			}()
		}
	}()
	return u.String(), stuck
}
