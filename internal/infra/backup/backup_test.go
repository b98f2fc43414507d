package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/backup"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const passphrase = "correct horse battery"

// newPlace is an empty place with a database of this kind.
func newPlace(t *testing.T, engine string) backup.Place {
	t.Helper()
	dir := t.TempDir()
	return backup.Place{Database: db.Config{URL: dbtest.URL(t, engine)}, Dir: dir, KeyFile: filepath.Join(dir, "secret.key")}
}

func openAt(t *testing.T, p backup.Place) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), p.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// oddText has what a text form of rows must escape.
const oddText = "tab\t back\\slash \\N \\. \"quotes\" newline\nreturn\r ü \u6f22"

// fill stores users, bytes, a sealed secret and a blob in a place.
func fill(t *testing.T, p backup.Place, users int) {
	t.Helper()
	d := openAt(t, p)
	defer d.Close()
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Stop(t.Context())
	box, err := seal.Open(p.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := box.Seal([]byte("the secret"), "here")
	if err != nil {
		t.Fatal(err)
	}
	err = d.Tx(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Exec(t.Context(), `INSERT INTO server_secret (name, value) VALUES (?, ?), (?, ?)`, "sealed", sealed,
			"all bytes", allBytes()); err != nil {
			return err
		}
		for i := range users {
			if _, err := tx.Exec(t.Context(), `INSERT INTO user_account (id, email, password_hash, created_at)
				VALUES (?, ?, ?, ?)`, fmt.Sprint("u", i), fmt.Sprint(i, "@example.com"), oddText, i); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at)
				VALUES (?, ?, '', ?, 0, 0)`, fmt.Sprint("t", i), strings.Repeat("x", 1000), fmt.Sprint("u", i)); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), `INSERT INTO list_team (team_id) VALUES (?)`, fmt.Sprint("t", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open(filepath.Join(p.Dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Put(t.Context(), strings.NewReader("a picture")); err != nil {
		t.Fatal(err)
	}
}

func allBytes() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// rows are the rows that fill makes, and what can be done with them.
func rows(t *testing.T, p backup.Place) []string {
	t.Helper()
	d := openAt(t, p)
	defer d.Close()
	out, err := db.Select(t.Context(), d, func(r db.Row) (s string, err error) { return s, r.Scan(&s) },
		`SELECT email || password_hash || team.name || list_team.no FROM user_account
		JOIN team ON owner_id = user_account.id JOIN list_team ON team_id = team.id ORDER BY email`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkWhole fails unless the place has exactly what fill stored.
func checkWhole(t *testing.T, p backup.Place, want []string) {
	t.Helper()
	if got := rows(t, p); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	d := openAt(t, p)
	defer d.Close()
	var sealed, all []byte
	err := errors.Join(
		d.QueryRow(t.Context(), `SELECT value FROM server_secret WHERE name = 'sealed'`).Scan(&sealed),
		d.QueryRow(t.Context(), `SELECT value FROM server_secret WHERE name = 'all bytes'`).Scan(&all))
	if err != nil || !bytes.Equal(all, allBytes()) {
		t.Errorf("bytes: %x, %v", all, err)
	}
	box, err := seal.Open(p.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := box.Open(sealed, "here"); err != nil || string(plain) != "the secret" {
		t.Errorf("the secret: %q, %v", plain, err)
	}
	blobs, err := filepath.Glob(filepath.Join(p.Dir, "blobs", "??", "*"))
	if err != nil || len(blobs) != 1 {
		t.Errorf("blobs: %q, %v", blobs, err)
	}
	// Numbers go on where they were, and references are kept.
	if _, err := d.Exec(t.Context(), `INSERT INTO list_team (team_id) VALUES ('new')`); err != nil {
		t.Error(err)
	}
	if _, err := d.Exec(t.Context(), `DELETE FROM list_team WHERE team_id = 'new'`); err != nil {
		t.Error(err)
	}
	if _, err := d.Exec(t.Context(), `INSERT INTO member (team_id, user_id, role, created_at) VALUES ('none', 'none', '', 0)`); err == nil {
		t.Error("a member of no team is stored: references are not checked")
	}
	if _, err := queue.Open(t.Context(), d, queue.Config{}); err != nil {
		t.Error("the queue: ", err)
	}
}

// tree is all that a folder has.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !strings.HasSuffix(path, ".lock") {
			all = append(all, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func eachEngine(t *testing.T, fn func(t *testing.T, engine string)) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fn(t, engine)
		})
	}
}

func options() backup.Options { return backup.Options{Passphrase: passphrase, Version: "v1", Work: 10} }

// write makes a backup of a filled place.
func write(t *testing.T, p backup.Place) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "b.age")
	r, err := backup.Write(t.Context(), p, file, options())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != r.Bytes || !r.Key || r.Blobs != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v, %v", r, info, err)
	}
	return file
}

func TestRoundTrip(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		from, to := newPlace(t, engine), newPlace(t, engine)
		fill(t, from, 6000) // more rows than one file of a dump has
		want, before := rows(t, from), tree(t, from.Dir)
		file := write(t, from)
		if after := tree(t, from.Dir); !slices.Equal(before, after) {
			t.Errorf("the data folder has %q, and had %q", after, before)
		}
		var stages []string
		o := options()
		o.Progress = func(stage string, done, total int64) {
			if !slices.Contains(stages, stage) {
				stages = append(stages, stage)
			}
		}
		if _, err := backup.Restore(t.Context(), to, file, o); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(stages, []string{"reading", "database"}) {
			t.Errorf("stages %q", stages)
		}
		checkWhole(t, to, want)

		// What is there is replaced only if that is wanted, and a file too.
		if _, err := backup.Write(t.Context(), from, file, options()); err == nil {
			t.Error("an older backup was overwritten")
		}
		other := newPlace(t, engine)
		fill(t, other, 3)
		had := rows(t, other)
		if _, err := backup.Restore(t.Context(), other, file, options()); err == nil || !strings.Contains(err.Error(), "--force") {
			t.Errorf("into a place in use: %v", err)
		}
		if !slices.Equal(rows(t, other), had) {
			t.Error("a refused restoration changed the rows")
		}
		o.Replace = true
		d := openAt(t, other)
		if err := d.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(t.Context(), other, file, o); !errors.Is(err, db.ErrInUse) {
			t.Errorf("under a process that uses it: %v", err)
		}
		d.Close()
		if _, err := backup.Restore(t.Context(), other, file, o); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, other, want)
	})
}

// A file that is not whole, not a backup, or of another passphrase changes nothing.
func TestRefusedFiles(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		from, to := newPlace(t, engine), newPlace(t, engine)
		fill(t, from, 50)
		file := write(t, from)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before := tree(t, to.Dir)
		damaged := slices.Clone(whole)
		damaged[len(damaged)/2] ^= 1
		for name, text := range map[string][]byte{
			"empty": nil, "half": whole[:len(whole)/2], "all but one byte": whole[:len(whole)-1], "header": whole[:100],
			"no backup": []byte("hello"), "one bit": damaged, "more": append(slices.Clone(whole), 0),
		} {
			bad := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(bad, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := backup.Restore(t.Context(), to, bad, options()); err == nil {
				t.Errorf("%s: %+v", name, r)
			}
			if after := tree(t, to.Dir); !slices.Equal(before, after) {
				t.Errorf("%s: the place has %q", name, after)
			}
		}
		o := options()
		o.Passphrase = "another passphrase"
		if _, err := backup.Restore(t.Context(), to, file, o); !errors.Is(err, backup.ErrPassphrase) {
			t.Errorf("the wrong passphrase: %v", err)
		}
		other := newPlace(t, dbtest.Engines[1-slices.Index(dbtest.Engines, engine)])
		if _, err := backup.Restore(t.Context(), other, file, options()); err == nil ||
			!strings.Contains(err.Error(), "cannot be restored into") {
			t.Errorf("the other kind of database: %v", err)
		}
	})
}

// A backup of an older version is migrated; one of a newer version is refused.
func TestVersions(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		from, to := newPlace(t, engine), newPlace(t, engine)
		fill(t, from, 5)
		want := rows(t, from)
		d := openAt(t, from)
		now, err := d.Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []int64{286, 210} { // no later one builds on these
			if err := d.Migrate(t.Context(), version, false); err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
		file := write(t, from)
		if _, err := backup.Restore(t.Context(), to, file, options()); err != nil {
			t.Fatal(err)
		}
		d = openAt(t, to)
		after, err := d.Schema(t.Context())
		d.Close()
		slices.Sort(after.Versions)
		slices.Sort(now.Versions)
		if err != nil || !slices.Equal(after.Versions, now.Versions) {
			t.Errorf("%v, %v", after, err)
		}
		checkWhole(t, to, want)

		d, err = db.OpenExisting(t.Context(), from.Database)
		if err == nil {
			_, err = d.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, ?)`, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		last := newPlace(t, engine)
		if _, err := backup.Restore(t.Context(), last, write(t, from), options()); err == nil ||
			!strings.Contains(err.Error(), "newer") {
			t.Errorf("a newer version: %v", err)
		}
	})
}

// An interrupted restoration is noticed, and may be repeated without force.
func TestInterrupted(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		from, to := newPlace(t, engine), newPlace(t, engine)
		fill(t, from, 500)
		want := rows(t, from)
		file := write(t, from)
		fill(t, to, 2) // and the restoration was forced
		ctx, cancel := context.WithCancel(t.Context())
		o := options()
		o.Replace = true
		if engine == "postgres" {
			o.Progress = func(stage string, done, _ int64) {
				if stage == "database" && done > 0 {
					cancel()
				}
			}
			if _, err := backup.Restore(ctx, to, file, o); err == nil {
				t.Fatal("it was not interrupted")
			}
		} else if err := os.WriteFile(filepath.Join(to.Dir, "restore.unfinished"), nil, 0o600); err != nil {
			t.Fatal(err) // renaming cannot be interrupted from here
		}
		cancel()
		if backup.Unfinished(to.Dir) == nil {
			t.Error("nothing says that the restoration did not finish")
		}
		if _, err := backup.Write(t.Context(), to, file+"2", options()); err == nil {
			t.Error("what is not whole was backed up")
		}
		if _, err := backup.Restore(t.Context(), to, file, options()); err != nil {
			t.Fatal(err)
		}
		if err := backup.Unfinished(to.Dir); err != nil {
			t.Error(err)
		}
		checkWhole(t, to, want)
	})
}

// A data folder that servers or workers use is not replaced, also while none of them has the database open; and none
// starts during a restoration.
func TestFolderInUse(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		from, to := newPlace(t, engine), newPlace(t, engine)
		fill(t, from, 3)
		want := rows(t, from)
		file := write(t, from)
		var unlocks []func() error
		for range 2 { // a server and a worker
			unlock, err := backup.Use(to.Dir)
			if err != nil {
				t.Fatal(err)
			}
			unlocks = append(unlocks, unlock)
		}
		o := options()
		o.Replace = true
		for _, unlock := range unlocks {
			before := tree(t, to.Dir)
			if _, err := backup.Restore(t.Context(), to, file, o); err == nil || !strings.Contains(err.Error(), to.Dir) ||
				!strings.Contains(err.Error(), "uses the data folder") {
				t.Fatalf("a folder in use: %v", err)
			}
			if after := tree(t, to.Dir); !slices.Equal(before, after) {
				t.Errorf("the refused restoration changed %q to %q", before, after)
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
		}
		tried := false
		o.Progress = func(string, int64, int64) {
			tried = true
			if unlock, err := backup.Use(to.Dir); err == nil {
				t.Error("a server started during the restoration")
				_ = unlock()
			} else if !strings.Contains(err.Error(), "restoration") {
				t.Errorf("a server during the restoration: %v", err)
			}
		}
		if _, err := backup.Restore(t.Context(), to, file, o); err != nil || !tried {
			t.Fatal(err, tried)
		}
		checkWhole(t, to, want)
		unlock, err := backup.Use(to.Dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = unlock()
	})
}
