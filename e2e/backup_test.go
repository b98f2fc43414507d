package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

const backupPassphrase = "VEDETTE_BACKUP_PASSPHRASE=correct horse battery"

// dataDir is the deployment's data folder.
func (dep deployment) dataDir() string { return strings.TrimPrefix(dep.env[1], "VEDETTE_DATA_DIR=") }

// engine is the kind of the deployment's database.
func (dep deployment) engine() string {
	if strings.Contains(dep.env[0], "=sqlite:") {
		return "sqlite"
	}
	return "postgres"
}

// text sends a request with a body of bytes, and returns the answer's.
func (c caller) text(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// secretNames are the names of the caller's secrets.
func (c caller) secretNames() (names []string) {
	c.t.Helper()
	var list struct{ Secrets []struct{ Name string } }
	c.call("GET", "/api/v1/secrets", nil, &list)
	for _, s := range list.Secrets {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

func (c caller) createSecret(ctx context.Context, i int) error {
	resp, err := c.do(ctx, "POST", "/api/v1/secrets", "application/json",
		map[string]string{"name": fmt.Sprintf("SECRET_%04d", i), "value": fmt.Sprintf("the value of %04d", i)})
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("secret %d: %s", i, resp.Status)
	}
	return nil
}

// A backup that is made while the server writes is of one moment, and restored elsewhere it answers as the server did.
func TestBackupWhileServing(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		dep.env = append(dep.env, backupPassphrase)
		s := dep.serve()
		dep.command("user", "create", "--email", "ada@example.com", "--admin")
		c := s.as(dep.command("token", "create", "--email", "ada@example.com"))
		key := c.newKey()
		if code, body := c.text("POST", "/api/v1/files?key=notes.txt", "my notes"); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		task := c.createTask("What can you do?")
		want := c.waitForTask(task, longWait)

		// A writer that stores one secret after another: a backup of one moment has the first ones, without a gap.
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		started, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for i := 1; ; i++ {
				if err := c.createSecret(ctx, i); err != nil {
					if ctx.Err() != nil {
						err = nil
					}
					ended <- err
					return
				}
				if i == 5 {
					close(started)
				}
			}
		}()
		<-started
		file := filepath.Join(t.TempDir(), "vedette.age")
		out := dep.command("backup", file, "-o", "json")
		if !strings.Contains(out, `"key":true`) || !strings.Contains(out, `"blobs":1`) {
			t.Error(out)
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		s.stop()

		to := emptyDeployment(t, dep.engine())
		to.env = append(to.env, backupPassphrase)
		to.command("restore", file)
		back := to.serve().as(c.token) // the token is still good
		names := back.secretNames()
		for i, name := range names {
			if name != fmt.Sprintf("SECRET_%04d", i+1) {
				t.Fatalf("secret %d is %s", i, name)
			}
		}
		if len(names) < 5 {
			t.Errorf("%d secrets, and 5 were stored before the backup", len(names))
		}
		if got := back.task(task); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("task %+v, was %+v", got, want)
		}
		if _, body := back.text("GET", "/api/v1/files/download?key=notes.txt", ""); body != "my notes" {
			t.Errorf("the file: %q", body)
		}
		checkKey(t, back.base, key)
		checkUnsealed(t, to)
	})
}

// checkKey fails unless an API key is accepted.
func checkKey(t *testing.T, base, key string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/api/v1/issues", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the API key: %s", resp.Status)
	}
}

// checkUnsealed fails unless the key file opens a stored secret.
func checkUnsealed(t *testing.T, dep deployment) {
	t.Helper()
	var id string
	var sealed []byte
	row := dep.openDB().QueryRow(t.Context(), `SELECT id, sealed FROM secret WHERE name = 'SECRET_0001'`)
	if err := row.Scan(&id, &sealed); err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(dep.dataDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := box.Open(sealed, "secret/"+id); err != nil || string(plain) != "the value of 0001" {
		t.Errorf("%q, %v", plain, err)
	}
}

// A backup or restoration that is killed leaves nothing that is taken for a whole one, and can be repeated.
func TestBackupKilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		dep.env = append(dep.env, backupPassphrase)
		s := dep.serve() // which creates the key
		dep.command("user", "create", "--email", "ada@example.com")
		s.stop()
		file := filepath.Join(t.TempDir(), "vedette.age")
		for _, stage := range []string{"database…", "files…", "checking…"} {
			p := launch(t, dep.env, "backup", file)
			p.waitForOutput(stage)
			p.kill()
			if _, err := os.Stat(file); err == nil && p.err != nil {
				t.Errorf("killed at %s: there is a file", stage)
			}
			_ = os.Remove(file) // if it was faster
		}
		dep.command("backup", file)
		if left, err := filepath.Glob(filepath.Join(dep.dataDir(), ".backup-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
		for _, stage := range []string{"reading…", "database…"} {
			to := emptyDeployment(t, dep.engine())
			to.env = append(to.env, backupPassphrase)
			p := launch(t, to.env, "restore", file)
			p.waitForOutput(stage)
			p.kill()
			if _, err := os.Stat(filepath.Join(to.dataDir(), "restore.unfinished")); err == nil {
				refused := launch(t, to.env, "serve")
				if code := refused.wait(longWait); code != 1 || !strings.Contains(refused.stderr.String(), "was interrupted") {
					t.Errorf("a server on half of a restoration: %d %s", code, refused.stderr)
				}
			}
			if p.err != nil { // else it was faster
				again := launch(t, to.env, "restore", file)
				if code := again.wait(longWait); code != 0 && !strings.Contains(again.stderr.String(), "there is a database already") {
					t.Errorf("a restoration after one that was killed at %s: %d %s", stage, code, again.stderr)
				} // which was whole then: the kill came after its end
			}
			if users := to.command("user", "list"); !strings.Contains(users, "ada@example.com") {
				t.Errorf("after a restoration killed at %s: %q", stage, users)
			}
		}
	})
}

// What stops a backup or restoration says so, with its exit code.
func TestBackupRefusals(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		dep.env = append(dep.env, backupPassphrase)
		dep.command("user", "create", "--email", "ada@example.com")
		file := filepath.Join(t.TempDir(), "vedette.age")
		dep.command("backup", file)
		s := dep.serve()
		for _, c := range []struct {
			env  string
			args []string
			code int
			says string
		}{
			{backupPassphrase, []string{"backup", file}, 1, "exists already"},
			{backupPassphrase, []string{"restore", file}, 1, "uses the data folder"},
			{backupPassphrase, []string{"restore", file, "--force"}, 1, "uses the data folder"},
			{backupPassphrase, []string{"restore", file + "x"}, 1, "no such file"},
			{"VEDETTE_BACKUP_PASSPHRASE=wrong", []string{"restore", file}, 1, "passphrase is wrong"},
			{"VEDETTE_BACKUP_PASSPHRASE=short", []string{"backup", file + "2"}, 2, "at least 12"},
			{"VEDETTE_BACKUP_PASSPHRASE=", []string{"backup", file + "2"}, 2, "--passphrase-file"},
			{"A=", []string{"backup", file + "2", "--passphrase-file", "/nowhere"}, 2, "--passphrase-file"},
		} {
			p := launch(t, append(slices.Clone(dep.env[:3]), c.env), c.args...)
			if code := p.wait(longWait); code != c.code || !strings.Contains(p.stderr.String(), c.says) {
				t.Errorf("%q: %d %s", c.args, code, p.stderr)
			}
		}
		s.stop()
		p := launch(t, dep.env, "restore", file)
		if code := p.wait(longWait); code != 1 || !strings.Contains(p.stderr.String(), "--force") {
			t.Errorf("into a used place: %d %s", code, p.stderr)
		}
		dep.command("restore", file, "--force")
		other := emptyDeployment(t, dbtest.Engines[1-slices.Index(dbtest.Engines, dep.engine())])
		p = launch(t, append(other.env, backupPassphrase), "restore", file)
		if code := p.wait(longWait); code != 1 || !strings.Contains(p.stderr.String(), "cannot be restored into") {
			t.Errorf("into the other kind of database: %d %s", code, p.stderr)
		}
	})
}
